import * as v from 'valibot'
import { sliceOf } from './slice.ts'
import { id, text, timestamp } from './text.ts'

/** Item of the page list, specification 2.4. */
export const Page = v.object({
  pageId: id('page'),
  pageGroupId: id('pagegroup'),
  tenantId: id('tenant'),
  createdAt: timestamp(),
  updatedAt: timestamp(),
  effectiveName: v.pipe(
    v.string(),
    v.description('The custom name if there is one, else the computed name.'),
  ),
  customName: v.nullable(v.string()),
  computedName: v.string(),
})
export type Page = v.InferOutput<typeof Page>

/** Answer of `GET /v0/page_groups/{page_group_id}/pages`, specification 4.3. */
export const PageSlice = v.object(sliceOf(Page))
export type PageSlice = v.InferOutput<typeof PageSlice>

const VERSION_STATUSES = ['processing', 'published', 'failed'] as const
export type VersionStatus = (typeof VERSION_STATUSES)[number]

const versionNumber = () => v.pipe(v.number(), v.integer(), v.minValue(1))

/** Answer of `GET /v0/page_groups/{page_group_id}/pages/{page_id}`, specification 2.5 and 2.6. */
export const PageWithVersion = v.object({
  pageId: id('page'),
  pageGroupId: id('pagegroup'),
  tenantId: id('tenant'),
  createdAt: timestamp(),
  effectiveName: v.string(),
  customName: v.nullable(v.string()),
  computedName: v.string(),
  supplementaryContext: v.nullable(v.string()),
  publishedVersion: v.pipe(
    v.nullable(
      v.object({ versionId: id('pageversion'), versionNumber: versionNumber(), publishedAt: timestamp() }),
    ),
    v.description('Null while nothing is published.'),
  ),
  latestVersion: v.object({
    versionId: id('pageversion'),
    versionNumber: versionNumber(),
    status: v.picklist(VERSION_STATUSES),
    failureReason: v.nullable(v.string()),
  }),
})
export type PageWithVersion = v.InferOutput<typeof PageWithVersion>

/** Body of `POST /v0/page_groups/{page_group_id}/pages`, specification 4.5. */
export const NewPage = v.object({
  supplementaryContext: v.optional(
    v.pipe(text(), v.description('What the page is about, beyond its group.')),
  ),
  customName: v.optional(v.pipe(text(), v.description('Shown instead of the computed name unless blank.'))),
})
export type NewPage = v.InferOutput<typeof NewPage>

/** Answer of `POST /v0/page_groups/{page_group_id}/pages`, specification 2.7. */
export const CreatedPage = v.object({
  pageId: id('page'),
  pageGroupId: id('pagegroup'),
  tenantId: id('tenant'),
  createdAt: timestamp(),
  status: v.literal('processing'),
})
export type CreatedPage = v.InferOutput<typeof CreatedPage>
