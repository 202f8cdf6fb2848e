import * as v from 'valibot'
import { bodyOf } from './body.ts'
import { anyArray, rawArray } from './json.ts'
import { SliceQuery, sliceOf } from './slice.ts'
import { boundedText, described, id, optional, text, whole } from './text.ts'
import { timestamp } from './time.ts'

const status = () => v.picklist(['active', 'archived', 'deleted'])
export type PageGroupStatus = v.InferOutput<ReturnType<typeof status>>

/** A page group as callers see it. Every field is always present; `headerActionId` comes last. */
export const PageGroup = v.object({
  pageGroupId: described(id('pagegroup'), 'The id of the page group.'),
  tenantId: described(id('tenant'), 'The tenant that the API key belongs to.'),
  brandId: described(id('brand'), 'The brand that presents the group.'),
  name: described(v.string(), 'The internal name of the group.'),
  title: described(v.string(), 'The title that readers see.'),
  pageContext: described(
    v.nullable(v.string()),
    'The context that the pages of the group share. Always null for a key with `pages:published`.',
  ),
  status: described(
    status(),
    'An archived group accepts no new pages. A deleted group appears only in this list, when filtered by `deleted`.',
  ),
  pagesCount: described(
    v.nullable(whole(0)),
    'The number of pages in the group, published or not. Null only for a key with `pages:published`.',
  ),
  actions: described(rawArray(), 'Any JSON values, returned as stored.'),
  footerLinks: described(rawArray(), 'Any JSON values, returned as stored.'),
  scripts: described(rawArray(), 'Any JSON values, returned as stored. The service never runs them.'),
  createdAt: described(timestamp(), 'When the group was created, in UTC.'),
  updatedAt: described(timestamp(), 'When the group was last changed, in UTC.'),
  deletedAt: described(
    v.nullable(timestamp()),
    'When the group was deleted, in UTC. Null unless `status` is `deleted`.',
  ),
  headerActionId: described(v.nullable(v.string()), 'The id of the action shown in the header.'),
})
export type PageGroup = v.InferOutput<typeof PageGroup>

const NAME = described(boundedText(1, 255), 'The internal name of the group.')
const TITLE = described(boundedText(1, 255), 'The title that readers see.')
/** A member that is left out or has a value. */
const omissible = <const Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.exactOptional(described(schema, description))
/** The fields of a page group that a person sets, except its tenant. */
export const PageGroupInput = v.object({
  brandId: omissible(id('brand'), "The brand that presents the group. By default the tenant's first."),
  name: v.exactOptional(NAME),
  title: v.exactOptional(TITLE),
  pageContext: omissible(v.nullable(text()), 'The context that the pages of the group share, or null.'),
  status: v.exactOptional(status()),
  actions: v.exactOptional(anyArray('Any JSON values, kept as sent.')),
  footerLinks: v.exactOptional(anyArray('Any JSON values, kept as sent.')),
  scripts: v.exactOptional(anyArray('Any JSON values, kept as sent. The service never runs them.')),
  headerActionId: omissible(
    v.nullable(boundedText(1, 255)),
    'The id of the action shown in the header, or null.',
  ),
})

/** Body of `POST /v0/page_groups`. */
export const NewPageGroup = bodyOf({
  ...v.omit(PageGroupInput, ['status']).entries,
  name: NAME,
  title: TITLE,
})

/** Body of `PATCH /v0/page_groups/{page_group_id}`. */
export const PageGroupChanges = bodyOf({
  ...PageGroupInput.entries,
  status: omissible(
    v.picklist(['active', 'archived']),
    'An archived group accepts no new pages or versions, and no version can be published by hand.',
  ),
})

/** Query of `GET /v0/page_groups`. */
export const PageGroupQuery = v.object({
  ...SliceQuery.entries,
  status: optional(
    status(),
    'Return only groups with this status. By default, all groups except deleted ones.',
  ),
})
export type PageGroupQuery = v.InferOutput<typeof PageGroupQuery>

/** Response of `GET /v0/page_groups`. */
export const PageGroupSlice = v.object({
  ...sliceOf(PageGroup),
  limit: described(v.pipe(whole(1), v.maxValue(100)), 'The requested limit, or 20 by default.'),
})
export type PageGroupSlice = v.InferOutput<typeof PageGroupSlice>
