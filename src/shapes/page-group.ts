import * as v from 'valibot'
import { rawArray } from './json.ts'
import { sliceOf, sliceQuery } from './slice.ts'
import { boundedText, id, text, timestamp } from './text.ts'

export const PAGE_GROUP_STATUSES = ['active', 'archived', 'deleted'] as const
const status = () => v.picklist(PAGE_GROUP_STATUSES, `must be one of ${PAGE_GROUP_STATUSES.join(', ')}`)
export type PageGroupStatus = (typeof PAGE_GROUP_STATUSES)[number]

/** Item of the page group list, specification 2.3. Every field is always there; `headerActionId` comes last. */
export const PageGroup = v.object({
  pageGroupId: id('pagegroup'),
  tenantId: id('tenant'),
  brandId: id('brand'),
  name: v.string(),
  title: v.string(),
  pageContext: v.nullable(v.string()),
  status: status(),
  pagesCount: v.pipe(v.number(), v.integer(), v.minValue(0)),
  actions: rawArray(),
  footerLinks: rawArray(),
  scripts: rawArray(),
  createdAt: timestamp(),
  updatedAt: timestamp(),
  deletedAt: v.nullable(timestamp()),
  headerActionId: v.nullable(v.string()),
})
export type PageGroup = v.InferOutput<typeof PageGroup>

/** A page group as a person gives it to the command line, besides its tenant. */
const PageGroupInput = v.object({
  brandId: v.exactOptional(id('brand')),
  name: v.exactOptional(boundedText(1, 255)),
  title: v.exactOptional(boundedText(1, 255)),
  pageContext: v.exactOptional(v.nullable(text())),
  status: v.exactOptional(status()),
  actions: v.exactOptional(v.array(v.unknown())),
  footerLinks: v.exactOptional(v.array(v.unknown())),
  scripts: v.exactOptional(v.array(v.unknown())),
  headerActionId: v.exactOptional(v.nullable(boundedText(1, 255))),
})

/** The fields of a page group but its arrays, which are looked at and kept as text; or all that is wrong. */
export const checkPageGroup = (given: unknown) => {
  const result = v.safeParse(PageGroupInput, given)
  const { actions, footerLinks, scripts, ...fields } = result.success ? result.output : {}
  const faults = (result.issues ?? []).map((issue) => ({
    detail: issue.message,
    pointer: (issue.path ?? []).map(({ key }) => `/${String(key)}`).join(''),
  }))
  return { fields, faults }
}

/** Query of `GET /v0/page_groups`, specification 4.2. */
export const PageGroupQuery = v.object({
  ...sliceQuery,
  status: v.optional(v.pipe(status(), v.description('Without it: all but the deleted ones.'))),
})
export type PageGroupQuery = v.InferOutput<typeof PageGroupQuery>

/** Answer of `GET /v0/page_groups`, specification 4.2. */
export const PageGroupSlice = v.object({
  ...sliceOf(PageGroup),
  limit: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)),
})
export type PageGroupSlice = v.InferOutput<typeof PageGroupSlice>
