import * as v from 'valibot'
import { bodyOf } from './body.ts'
import { anyObject, rawObject } from './json.ts'
import { SliceQuery, sliceOf, wholeText } from './slice.ts'
import { described, id, optional, text, whole } from './text.ts'
import { dateTime, timestamp } from './time.ts'

const ABOUT = 'The subject of this page, in addition to the context of its group.'
const CONTENT =
  'Any JSON object, nested at most 512 levels deep. Stored byte for byte as sent, and never interpreted.'

const DEFAULT = 'Defaults to that of the newest version; null removes it.'

/** The first fields of every answer about a page. */
const ids = {
  pageId: described(id('page'), 'The id of the page.'),
  pageGroupId: described(id('pagegroup'), 'The group that the page belongs to.'),
  tenantId: described(id('tenant'), 'The tenant that the API key belongs to.'),
  createdAt: described(timestamp(), 'When the page was created, in UTC.'),
}
const SLUG = '1 to 100 characters a-z, 0-9 and -. Unique among the pages of its group.'
const slug = v.pipe(text(), v.regex(/^[a-z0-9-]{1,100}$/, 'must be 1 to 100 characters a-z, 0-9 and -'))
const names = {
  effectiveName: described(
    v.string(),
    'The custom name, or the computed name if the custom name is missing or blank.',
  ),
  customName: described(v.nullable(v.string()), 'The name given by a person, or null.'),
  computedName: described(
    v.string(),
    'The generated name. Never blank. For a key with `pages:published` it is the effective name.',
  ),
  slug: described(v.nullable(v.string()), 'Finds the page instead of its id; null if it has none.'),
}

/** A page as lists show it. */
export const Page = v.object({
  ...ids,
  updatedAt: described(
    timestamp(),
    'When the page was last changed, in UTC. For a key with `pages:published`: when its version was published.',
  ),
  ...names,
})
export type Page = v.InferOutput<typeof Page>

/** Response of `GET /v0/page_groups/{page_group_id}/pages`. */
export const PageSlice = v.object(sliceOf(Page))
export type PageSlice = v.InferOutput<typeof PageSlice>

const VERSION_STATUSES = ['processing', 'ready', 'scheduled', 'published', 'failed'] as const
export type VersionStatus = (typeof VERSION_STATUSES)[number]

const version = {
  versionId: described(id('pageversion'), 'The id of the version.'),
  versionNumber: described(whole(1), 'The number of the version within its page, starting at 1.'),
}
const progress = {
  status: described(
    v.picklist(VERSION_STATUSES),
    'Starts as `processing` and becomes `ready`, `scheduled`, `published` or `failed`. `scheduled` means that it will be published at `publishAt`, `published` that it was published at least once.',
  ),
  failureReason: described(
    v.nullable(v.string()),
    'Why the version failed, or why it was not published at its time; else null.',
  ),
  publishAt: described(v.nullable(timestamp()), 'When it will be published, in UTC, or null.'),
}

const YEARS = 'An RFC 3339 date-time with an offset, at most two years ahead.'
const later = (description: string) => v.optional(dateTime(`${description} ${YEARS}`))
/** How a new version is published, be it the first of a new page or a later one. */
const publishing = {
  publish: v.optional(
    described(v.boolean(), 'Whether to publish it once it is ready, unless a newer one has been published.'),
    true,
  ),
  publishAt: later('When to publish it. By default, or if that time is past, once it is ready.'),
}

export const PublishedVersion = v.object({
  ...version,
  publishedAt: described(timestamp(), 'When it was last published, in UTC.'),
  content: v.optional(described(rawObject(), 'The content of the version. Absent if it has none.')),
})

export const LatestVersion = described(
  v.object({ ...version, ...progress }),
  'The newest version. Its status explains why nothing is published yet. For a key with `pages:published` it is always the published one.',
)

/** A version as lists show it. */
export const Version = v.object({
  ...version,
  ...progress,
  supplementaryContext: described(v.nullable(v.string()), ABOUT),
  computedName: described(v.string(), 'The generated name of the page in this version. Never blank.'),
  createdAt: described(timestamp(), 'When the version was created, in UTC.'),
  publishedAt: described(v.nullable(timestamp()), 'When it was last published, in UTC, or null.'),
  unpublishAt: described(
    v.nullable(timestamp()),
    'When the page will be unpublished after this version was published at `publishAt`, in UTC, or null.',
  ),
})
export type Version = v.InferOutput<typeof Version>

/** Response of `GET /v0/page_groups/{page_group_id}/pages/{page_id}/versions`. */
export const VersionSlice = v.object(sliceOf(Version))
export type VersionSlice = v.InferOutput<typeof VersionSlice>

/** Response of `GET /v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}`. */
export const VersionWithContent = v.object({
  ...Version.entries,
  content: described(v.nullable(rawObject()), 'The content, byte for byte as it was sent, or null.'),
})
export type VersionWithContent = v.InferOutput<typeof VersionWithContent>

/** Response of `GET /v0/page_groups/{page_group_id}/pages/{page_id}`. */
export const PageWithVersion = v.object({
  ...ids,
  ...names,
  supplementaryContext: described(
    v.nullable(v.string()),
    `${ABOUT} Always null for a key with \`pages:published\`.`,
  ),
  publishedVersion: described(
    v.nullable(PublishedVersion),
    'The version that readers see. Null until a version is published.',
  ),
  latestVersion: LatestVersion,
  unpublishAt: described(
    v.nullable(timestamp()),
    'When it will be unpublished, in UTC, or null. Always null for a key with `pages:published`.',
  ),
})
export type PageWithVersion = v.InferOutput<typeof PageWithVersion>

export const ScheduledVersion = v.object({
  versionId: version.versionId,
  publishAt: described(timestamp(), 'When it will be published, in UTC.'),
})
/** Response of `POST /v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}/publish`. */
export const PublicationResult = v.object({
  ...PageWithVersion.entries,
  scheduled: v.optional(
    described(
      v.array(ScheduledVersion),
      'After a publication at a later time: all versions of the page that are scheduled, the earliest first.',
    ),
  ),
})
export type PublicationResult = v.InferOutput<typeof PublicationResult>

/** A page as its readers see it: what is published, and nothing else. */
export const PublishedPage = v.object({
  ...ids,
  effectiveName: names.effectiveName,
  slug: names.slug,
  publishedVersion: PublishedVersion,
})
export type PublishedPage = v.InferOutput<typeof PublishedPage>

/** Query of `GET /v0/published_pages`. */
export const PublishedPagesQuery = v.object({
  ...SliceQuery.entries,
  publishedAfter: v.optional(
    dateTime(
      'Return only pages whose version was published after this time: an RFC 3339 date-time with an offset.',
    ),
  ),
})
export type PublishedPagesQuery = v.InferOutput<typeof PublishedPagesQuery>

/** Response of `GET /v0/published_pages`. */
export const PublishedPageSlice = v.object(sliceOf(PublishedPage))
export type PublishedPageSlice = v.InferOutput<typeof PublishedPageSlice>

/** Query of `GET /v0/page_groups/{page_group_id}/pages/{page_id}`. */
export const PageQuery = v.object({
  wait: v.optional(
    wholeText(
      0,
      25,
      'How many seconds to wait for `latestVersion` to be processed. The answer comes once its status is no longer `processing`, or else at the end of that time.',
    ),
    '0',
  ),
})
export type PageQuery = v.InferOutput<typeof PageQuery>

/** Body of `POST /v0/page_groups/{page_group_id}/pages`. */
export const NewPage = bodyOf({
  supplementaryContext: optional(text(), ABOUT),
  customName: optional(text(), 'Used instead of the computed name unless blank.'),
  slug: optional(slug, `Finds the page instead of its id, as \`slug:\` and this text. ${SLUG}`),
  content: v.optional(anyObject(CONTENT)),
  ...publishing,
})
export type NewPage = v.InferOutput<typeof NewPage>

/** Response of `POST /v0/page_groups/{page_group_id}/pages`. */
export const CreatedPage = v.object({
  ...ids,
  status: described(
    v.literal('processing'),
    'The status of the first version, which is processed, and published if asked, in the background.',
  ),
})
export type CreatedPage = v.InferOutput<typeof CreatedPage>

/** Body of `PATCH /v0/page_groups/{page_group_id}/pages/{page_id}`. */
export const PageChanges = bodyOf({
  customName: optional(v.nullable(text()), 'Replaces the custom name, or removes it if null.'),
  slug: optional(v.nullable(slug), `Replaces the slug, or removes it if null. ${SLUG}`),
  unpublishAt: optional(
    v.nullable(dateTime(YEARS)),
    `When to unpublish the page, in the future; null: not. A version published by hand or at its time before that removes it. ${YEARS}`,
  ),
})
export type PageChanges = v.InferOutput<typeof PageChanges>

/** Body of `POST /v0/page_groups/{page_group_id}/pages/{page_id}/versions`. */
export const NewVersion = bodyOf({
  supplementaryContext: optional(v.nullable(text()), `${ABOUT} ${DEFAULT}`),
  content: optional(v.nullable(anyObject(CONTENT)), DEFAULT),
  ...publishing,
})
export type NewVersion = v.InferOutput<typeof NewVersion>

/** Response of `POST /v0/page_groups/{page_group_id}/pages/{page_id}/versions`. */
export const CreatedVersion = v.object({
  ...version,
  ...ids,
  createdAt: described(timestamp(), 'When the version was created, in UTC.'),
  status: described(v.literal('processing'), 'It is processed, and published if asked, in the background.'),
})
export type CreatedVersion = v.InferOutput<typeof CreatedVersion>

/** Body of `POST /v0/page_groups/{page_group_id}/pages/{page_id}/versions/{version_id}/publish`. */
export const Publication = bodyOf({
  publishAt: later('When to publish it. By default, or if that time is past, at once.'),
  unpublishAt: later('When to unpublish the page again, in the future and after `publishAt`.'),
})
export type Publication = v.InferOutput<typeof Publication>
