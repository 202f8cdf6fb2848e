import type {
  ClaimedEndpoint,
  ClaimedErasure,
  ClaimedMerge,
  Store,
  StoredConflict,
} from 'prospect-pages/store'
import { blockChangesOf, correctionOf, mergeChangesOf } from './people.ts'
import {
  addTenant,
  at,
  emailIdentifier,
  foundProspect,
  keyFields,
  newId,
  recordAll,
  type SomeProspect,
  type SomeTenant,
  someClaim,
  someEndpoint,
  someErasure,
  someEvent,
  someGroup,
  someHook,
  someKey,
  someLog,
  somePage,
  someProspect,
  someVersion,
} from './rows.ts'

/** Everything that a store keeps rows behind; the rest of it opens, closes and watches. */
export type Ports = Omit<Store, 'migrate' | 'ready' | 'watch' | 'close'>
/** One thing of each kind, all of one tenant. */
export type Things = Awaited<ReturnType<typeof fillTenant>>

/** The logs of the tenant are counted up to this id. */
export const COUNTED = 'prospectlog_0'
export const COUNTED_DAY = 20_454
/** A range that keeps every hour of usage. */
export const ALL_HOURS = { before: at(0), after: at(1e9), max: 1 }
/** The claim of a worker that never comes back. The merges are requested a millisecond after the start. */
const CLAIM = someClaim({ now: at(1), until: at(1_000) })

/** A new tenant with one of each: its version, merge and erasure are claimed by a worker that never comes back. */
export const fillTenant = async (store: Ports) => {
  const tenant = await addTenant(store)
  const { tenantId } = tenant

  await addFormerOwner(store, tenantId, 'ada@example.com')
  const prospect = someProspect(tenantId, { email: 'ada@example.com', externalId: 'crm 1' })
  const log = someLog(prospect, keyFields('one'))
  await recordAll(store.activities, [prospect], [log])

  const { group, page, attempt, doomed } = await fillPages(store, tenant)

  const placeholder = {
    ...emailIdentifier(tenantId, 'noreply@shop.example'),
    kind: 'email' as const,
    value: 'noreply@shop.example',
  }
  await store.placeholders.add(placeholder, null, at(0))

  const key = someKey(tenantId, { name: newId('apikey') })
  await store.apiKeys.add(key)
  const hook = someHook(tenantId, keyFields('one'))
  await store.hooks.add(hook)
  await fillCounts(store, prospect, key.apiKeyId)

  const erasure = await claimedErasure(store, tenantId)
  const { merge, survivor } = await fillMerges(store, tenantId)
  const { event, endpoint, disabled } = await fillOutbox(store, tenant)
  const conflict = await notedConflict(store, tenantId, [prospect.prospectId, survivor.prospectId])
  return {
    tenant,
    prospect,
    log,
    placeholder,
    group,
    page,
    attempt,
    doomed,
    key,
    hook,
    erasure,
    merge,
    survivor,
    conflict,
    event,
    endpoint,
    disabled,
  }
}

/** A published page, and one whose first version is claimed, by this attempt, and whose second one is scheduled. */
const fillPages = async (store: Ports, tenant: SomeTenant) => {
  const group = someGroup(tenant, keyFields('one'))
  await store.pageGroups.add(group)
  const readers = somePage(group)
  await store.pages.record(readers)
  await store.pages.change({
    ...readers,
    revision: 1,
    publishedVersionId: readers.versionId,
    automaticAfter: null,
    unpublishAt: null,
    added: null,
    dropped: null,
    publishes: true,
    schedule: null,
  })
  const page = somePage(group, { ...keyFields('one'), slug: 'sale' })
  await store.pages.record(page)
  await store.pages.change({
    ...page,
    revision: 1,
    publishedVersionId: null,
    automaticAfter: null,
    unpublishAt: at(5),
    added: someVersion({ ...keyFields('one'), publish: false, publishAt: at(5) }),
    dropped: null,
    publishes: false,
    schedule: null,
  })
  const claimed = await store.versions.claim(CLAIM)
  const attempt = claimed.find(({ versionId }) => versionId === page.versionId)?.attempt ?? 0
  const doomed = someGroup(tenant, keyFields('doomed'))
  await store.pageGroups.add(doomed)
  const { tenantId, pageGroupId, updatedAt } = doomed
  await store.deletions.begin({ tenantId, pageGroupId, apiKeyId: null, deletedAt: at(1) }, updatedAt)
  return { group, page, attempt, doomed }
}

/** A search, counts of logs, which someone has read, and the usage of a key. */
const fillCounts = async (
  { searchIndex, counts }: Ports,
  { tenantId, prospectId }: SomeProspect,
  apiKeyId: string,
) => {
  const place = { kind: 'source', name: 'crm', day: COUNTED_DAY } as const
  await searchIndex.markSearched(tenantId, at(0))
  await searchIndex.extend({ tenantId, mark: 'position', from: '', beforeId: '~', max: 1 })
  await counts.markRead(tenantId, at(0))
  await counts.record({
    tenantId,
    from: '',
    to: COUNTED,
    removeFrom: null,
    addProspects: [{ ...place, daysSince: 32, count: 1, newProspects: 0 }],
    addDays: [{ ...place, prospectId }],
    add: [{ unit: 'hour', at: at(0), source: 'crm', type: 'webhook', count: 1, newProspects: 0 }],
  })
  await counts.addUsage(at(0), [{ tenantId, apiKeyId, requests: 1, activities: 1, bytes: 1 }], ALL_HOURS)
}

/** A claimed erasure, which blocks an email for some milliseconds. */
const claimedErasure = async ({ erasures }: Ports, tenantId: string): Promise<ClaimedErasure> => {
  const erasure = someErasure(tenantId)
  const block = blockChangesOf(emailIdentifier(tenantId, 'eve@example.com'), erasure)
  await erasures.record({ ...block, until: at(9) })
  const claimed = await erasures.claim(CLAIM)
  return claimed.find(({ erasureId }) => erasureId === erasure.erasureId) as ClaimedErasure
}

/** A prospect that had this email. */
const addFormerOwner = async (store: Ports, tenantId: string, email: string) => {
  const prospect = someProspect(tenantId, { email })
  await recordAll(store.activities, [prospect])
  await store.prospects.correct(correctionOf(foundProspect(prospect), { email: null }))
}

/** A claimed merge, with a log that has not moved, after one that is completed. */
const fillMerges = async (store: Ports, tenantId: string) => {
  const first = await claimedMerge(store, tenantId)
  await store.merges.settle({ ...first.merge, claimableAt: at(0), completedAt: at(0) })
  return claimedMerge(store, tenantId)
}

const claimedMerge = async (store: Ports, tenantId: string) => {
  const merged = someProspect(tenantId)
  const survivor = someProspect(tenantId)
  await recordAll(store.activities, [merged, survivor], [someLog(merged)])
  await store.merges.record(mergeChangesOf(foundProspect(merged), foundProspect(survivor)))
  const claimed = await store.merges.claim(CLAIM)
  const merge = claimed.find(({ prospectId }) => prospectId === merged.prospectId) as ClaimedMerge
  return { merge, survivor: { ...survivor, updatedAt: at(1) } }
}

/** Two prospects of whom an activity named both. */
const notedConflict = async (
  { prospectConflicts }: Ports,
  tenantId: string,
  prospectIds: readonly string[],
): Promise<StoredConflict> => {
  const [prospectId = '', otherId = ''] = prospectIds.toSorted()
  const conflict: StoredConflict = { tenantId, prospectId, otherId, field: 'email', at: at(0) }
  await prospectConflicts.note([conflict])
  return conflict
}

/** A claimed endpoint and a disabled one, with a delivery each, and one more event that waits. */
const fillOutbox = async (store: Ports, tenant: SomeTenant) => {
  const { tenantId } = tenant
  const enabled = someEndpoint(tenantId, { slot: 1 })
  const laterDisabled = someEndpoint(tenantId, { slot: 2 })
  await store.webhooks.add(enabled)
  await store.webhooks.add(laterDisabled)
  const event = someEvent(tenantId)
  const waiting = someEvent(tenantId)
  await store.pageGroups.add(someGroup(tenant), [event, waiting])
  await store.events.number({ tenantId, now: at(0), max: 1 })

  const claimed = await store.webhooks.claim(CLAIM)
  const claimOf = ({ webhookEndpointId }: { webhookEndpointId: string }) =>
    claimed.find((endpoint) => endpoint.webhookEndpointId === webhookEndpointId) as ClaimedEndpoint
  await store.webhooks.change({ ...laterDisabled, status: 'disabled' }, at(0))
  return {
    event,
    endpoint: claimOf(enabled),
    disabled: { ...claimOf(laterDisabled), status: 'disabled' as const },
  }
}
