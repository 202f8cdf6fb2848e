import * as v from 'valibot'
import { sliceOf } from './slice.ts'
import { described, id, optional, text, timestamp, whole } from './text.ts'

const ABOUT = 'What this page is about, in addition to the context of its group.'

/** The first fields of every answer about a page. */
const ids = {
  pageId: described(id('page'), 'The id of the page.'),
  pageGroupId: described(id('pagegroup'), 'The group that the page belongs to.'),
  tenantId: described(id('tenant'), 'The tenant that the API key belongs to.'),
  createdAt: described(timestamp(), 'When the page was created, in UTC.'),
}
const names = {
  effectiveName: described(
    v.string(),
    'The custom name, or the computed name if the custom name is missing or blank.',
  ),
  customName: described(v.nullable(v.string()), 'The name given by a person, or null.'),
  computedName: described(v.string(), 'The generated name. Never blank.'),
}

/** A page as lists show it. */
export const Page = v.object({
  ...ids,
  updatedAt: described(timestamp(), 'When the page was last changed, in UTC.'),
  ...names,
})
export type Page = v.InferOutput<typeof Page>

/** Answer of `GET /v0/page_groups/{page_group_id}/pages`. */
export const PageSlice = v.object(sliceOf(Page))
export type PageSlice = v.InferOutput<typeof PageSlice>

const VERSION_STATUSES = ['processing', 'published', 'failed'] as const
export type VersionStatus = (typeof VERSION_STATUSES)[number]

const version = {
  versionId: described(id('pageversion'), 'The id of the version.'),
  versionNumber: described(whole(1), 'The number of the version within its page, starting at 1.'),
}

export const PublishedVersion = v.object({
  ...version,
  publishedAt: described(timestamp(), 'When it was published, in UTC.'),
})

export const LatestVersion = described(
  v.object({
    ...version,
    status: described(
      v.picklist(VERSION_STATUSES),
      'Starts as `processing` and ends as `published` or `failed`.',
    ),
    failureReason: described(
      v.nullable(v.string()),
      'Why the version failed. Null unless `status` is `failed`.',
    ),
  }),
  'The newest version. Its status explains why nothing is published yet.',
)

/** Answer of `GET /v0/page_groups/{page_group_id}/pages/{page_id}`. */
export const PageWithVersion = v.object({
  ...ids,
  ...names,
  supplementaryContext: described(v.nullable(v.string()), ABOUT),
  publishedVersion: described(
    v.nullable(PublishedVersion),
    'The version that readers see. Null until a version is published.',
  ),
  latestVersion: LatestVersion,
})
export type PageWithVersion = v.InferOutput<typeof PageWithVersion>

/** Body of `POST /v0/page_groups/{page_group_id}/pages`. */
export const NewPage = v.object({
  supplementaryContext: optional(text(), ABOUT),
  customName: optional(text(), 'Used instead of the computed name unless blank.'),
})
export type NewPage = v.InferOutput<typeof NewPage>

/** Answer of `POST /v0/page_groups/{page_group_id}/pages`. */
export const CreatedPage = v.object({
  ...ids,
  status: described(
    v.literal('processing'),
    'The status of the first version, which is published in the background.',
  ),
})
export type CreatedPage = v.InferOutput<typeof CreatedPage>
