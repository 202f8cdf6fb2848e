import * as v from 'valibot'
import { rawArray } from './json.ts'
import { sliceOf, sliceQuery } from './slice.ts'
import { boundedText, described, id, text, timestamp } from './text.ts'

export const PAGE_GROUP_STATUSES = ['active', 'archived', 'deleted'] as const
const status = () => v.picklist(PAGE_GROUP_STATUSES, `must be one of ${PAGE_GROUP_STATUSES.join(', ')}`)
export type PageGroupStatus = (typeof PAGE_GROUP_STATUSES)[number]

/** Item of the page group list, specification 2.3. Every field is always there; `headerActionId` comes last. */
export const PageGroup = v.object({
  pageGroupId: described(id('pagegroup'), 'The id of the page group.'),
  tenantId: described(id('tenant'), 'The tenant that the API key belongs to.'),
  brandId: described(id('brand'), 'The brand under which the group is shown.'),
  name: described(v.string(), 'What the group is called by those who keep it.'),
  title: described(v.string(), 'What the group is called by those who see it.'),
  pageContext: described(v.nullable(v.string()), 'What all pages of the group are about.'),
  status: described(
    status(),
    'An archived group takes no new pages; a deleted one is found in this list alone.',
  ),
  pagesCount: described(v.pipe(v.number(), v.integer(), v.minValue(0)), 'How many pages the group has.'),
  actions: described(rawArray(), 'Anything, answered as it was given.'),
  footerLinks: described(rawArray(), 'Anything, answered as it was given.'),
  scripts: described(rawArray(), 'Anything, answered as it was given; never run here.'),
  createdAt: described(timestamp(), 'When the group was created, in UTC.'),
  updatedAt: described(timestamp(), 'When the group was last changed, in UTC.'),
  deletedAt: described(v.nullable(timestamp()), 'Set exactly where `status` is `deleted`.'),
  headerActionId: described(v.nullable(v.string()), 'Which action stands in the header.'),
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
  status: v.optional(
    described(status(), 'Only groups of this status. Without it: all but the deleted ones.'),
  ),
})
export type PageGroupQuery = v.InferOutput<typeof PageGroupQuery>

/** Answer of `GET /v0/page_groups`, specification 4.2. */
export const PageGroupSlice = v.object({
  ...sliceOf(PageGroup),
  limit: described(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)),
    'The limit that was asked for, or 20.',
  ),
})
export type PageGroupSlice = v.InferOutput<typeof PageGroupSlice>
