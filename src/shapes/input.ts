/** What programs pass to the operations that they call directly: what HTTP takes, with the ids of its path and key. */
import * as v from 'valibot'
import { NewPage, NewVersion, PageChanges } from './page.ts'
import { PageGroupChanges, PageGroupInput } from './page-group.ts'
import { idempotencyKey, NewProspectLog } from './prospect-log.ts'
import { boundedText, text, whole } from './text.ts'

/** An object with these members and its tenant. */
export const inTenant = <const Entries extends v.ObjectEntries>(entries: Entries) =>
  v.object({ tenantId: text(), ...entries })
/** As in a path: any text, because an id that does not exist is not found, whatever it looks like. */
export const anyId = text()

const name = boundedText(1, 255)
const LIFE_MS_MAX = 1_000 * 366 * 86_400_000

export const TenantInput = v.object({ name })
export const ApiKeyInput = inTenant({
  name: v.optional(v.nullable(name), null),
  lifeMs: v.optional(
    v.nullable(v.pipe(whole(1), v.maxValue(LIFE_MS_MAX, 'must be at most 1,000 years'))),
    null,
  ),
})
export const ActivityInput = inTenant(NewProspectLog.entries)

const createdOnce = { idempotencyKey: v.optional(idempotencyKey()) }
/** The revisions that a change is for; by default any. */
const conditional = { ifRevision: v.optional(v.array(whole(1))) }
const group = { pageGroupId: anyId }
const page = { ...group, pageId: anyId }
const version = { ...page, versionId: anyId }
export const PageGroupCreation = inTenant({ ...PageGroupInput.entries, name, title: name, ...createdOnce })
export const PageGroupRead = inTenant(group)
export const PageGroupUpdate = inTenant({ ...group, ...PageGroupChanges.entries, ...conditional })
export const PageGroupDeletion = inTenant({ ...group, ...conditional })
export const PageCreation = inTenant({ ...group, ...NewPage.entries, ...createdOnce })
export const PageRead = inTenant(page)
export const PageUpdate = inTenant({ ...page, ...PageChanges.entries, ...conditional })
/** To delete or unpublish it. */
export const PageEnd = inTenant({ ...page, ...conditional })
export const VersionCreation = inTenant({ ...page, ...NewVersion.entries, ...createdOnce })
export const VersionRead = inTenant(version)
export const VersionPublication = inTenant({ ...version, ...conditional })
