import type { NewEvent, NewLog, Settlement, Store } from 'prospect-pages'
import { like, same } from './assertions.ts'
import { type Subject, section } from './contract.ts'
import { outboxOf } from './outbox.ts'
import {
  at,
  emailFields,
  keyFields,
  newId,
  type SomeTenant,
  someClaim,
  someErasure,
  someEvent,
  someGroup,
  someLog,
  somePage,
  someProspect,
} from './rows.ts'

type Write = (events: readonly NewEvent[]) => Promise<unknown>

/** A write of each verb that saves all or nothing. Done once more it is overtaken. */
const WRITES: Readonly<Record<string, (store: Store, tenant: SomeTenant) => Promise<Write>>> = {
  'activities.record': async ({ activities }, { tenantId }) => {
    const prospect = someProspect(tenantId)
    const logs = [someLog(prospect, keyFields('one'))]
    return (events) => activities.record({ prospects: [prospect], logs }, events)
  },
  'prospects.update': async ({ activities, prospects }, { tenantId }) => {
    const [one, two] = [someProspect(tenantId), someProspect(tenantId)]
    await activities.record({ prospects: [one, two], logs: [] })
    const ids = [one, two].map(({ prospectId }) => prospectId)
    const same = { externalId: undefined, name: undefined }
    const update = { tenantId, email: emailFields('ada@x'), ...same, updatedAt: at(1) }
    // The second wants the email that the first has taken.
    return (events) => prospects.update({ ...update, prospectId: String(ids.shift()) }, events)
  },
  'erasures.record': async ({ activities, erasures }, { tenantId }) => {
    const prospect = someProspect(tenantId)
    await activities.record({ prospects: [prospect], logs: [] })
    const prospects = [{ ...prospect, erasedAt: null, mergedInto: null }]
    const added = [someErasure(tenantId, { prospectId: prospect.prospectId })]
    const changes = { tenantId, now: at(1), until: at(1), prospects, erasures: added }
    return (events) => erasures.record(changes, events)
  },
  'pageGroups.add': async ({ pageGroups }, tenant) => {
    const group = someGroup(tenant, keyFields('one'))
    return (events) => pageGroups.add(group, events)
  },
  'pageGroups.change': async ({ pageGroups }, tenant) => {
    const group = someGroup(tenant)
    await pageGroups.add(group)
    return (events) => pageGroups.change({ ...group, updatedAt: at(1) }, at(0), undefined, events)
  },
  'pages.record': async (store, tenant) => {
    const page = somePage(await addGroup(store, tenant), keyFields('one'))
    return (events) => store.pages.record([page], events)
  },
  'pages.change': async (store, tenant) => {
    const page = await addPage(store, tenant)
    const pointers = { publishedVersionId: null, automaticAfter: null, unpublishAt: null }
    const change = { ...pointers, revision: 1, added: null, publishes: false, schedule: null }
    return (events) => store.pages.change({ ...page, ...change }, events)
  },
  'pages.remove': async (store, tenant) => {
    const page = await addPage(store, tenant)
    return (events) => store.pages.remove({ ...page, revision: 1 }, events)
  },
}

const testOf = (name: string): [title: string, body: (given: Subject) => Promise<void>] => [
  `${name} saves events with its change, only of a tenant that uses them, and none when overtaken`,
  async ({ store }) => {
    const [user, other] = [await outboxOf(store), await outboxOf(store)]
    await user.addEndpoint()
    const write = (await WRITES[name]?.(store, user.tenant)) as Write
    const events = [someEvent(user.tenantId), someEvent(user.tenantId)]
    await write(events)
    same(await write([someEvent(user.tenantId)]), 'overtaken')
    const writeOther = (await WRITES[name]?.(store, other.tenant)) as Write
    await writeOther([someEvent(other.tenantId)])
    same(await writeOther([someEvent(other.tenantId)]), 'overtaken')

    same(await store.events.waiting('', 10), [user.tenantId])
    same([await user.number(), await other.number()], [2, 0])
    same(
      await user.read(),
      events.map((event, i) => ({ ...event, sequence: i + 1 })),
    )
  },
]

export const eventWrites = section('event writes', () => ({}), {
  ...Object.fromEntries(Object.keys(WRITES).map(testOf)),

  'activities.record saves the events of those tenants of a list that use them': async ({ store }) => {
    const [one, other, two] = [await outboxOf(store), await outboxOf(store), await outboxOf(store)]
    await one.addEndpoint()
    await two.addEndpoint()
    const prospects = [two, other, one].map(({ tenantId }) => someProspect(tenantId))
    const events = prospects.map(({ tenantId }) => someEvent(tenantId))
    await store.activities.record({ prospects, logs: [] }, events)
    same(await store.events.waiting('', 10), [one.tenantId, two.tenantId])
  },

  'activities.recordLogs saves the events of the logs that it adds': async ({ store }) => {
    const [user, other] = [await outboxOf(store), await outboxOf(store)]
    await user.addEndpoint()
    const [ours, theirs] = [user, other].map(({ tenantId }) => ({ tenantId, prospectId: newId('prospect') }))
    if (ours === undefined || theirs === undefined) return
    await store.activities.recordLogs([someLog(ours, keyFields('taken'))])
    const added = someLog(ours, keyFields('new'))
    const logs = [someLog(ours, keyFields('taken')), added, someLog(theirs)]
    const events = logs.map(({ tenantId, prospectLogId }) =>
      someEvent(tenantId, { type: 'prospect_log.created', ids: { prospectLogId } }),
    )
    const ids = await store.activities.recordLogs(logs, events)
    // It may skip all.
    if (ids.length === 0) await store.activities.recordLogs(logs.slice(1), events.slice(1))
    same([await user.number(), await other.number()], [1, 0])
    like(await user.read(), [{ type: 'prospect_log.created', ids: { prospectLogId: added.prospectLogId } }])
  },

  'events that follow from logs are saved as they are given, whatever saves them': async ({ store }) => {
    const user = await outboxOf(store)
    await user.addEndpoint()
    const { tenantId } = user
    const prospects = [someProspect(tenantId), someProspect(tenantId)]
    const logs = prospects.map((prospect, i) => ({
      ...someLog(prospect, { createdProspect: true }),
      apiKeyId: i === 0 ? newId('apikey') : null,
    }))
    const known = prospects.map((prospect) => someLog(prospect))
    const hopped = { ...someLog(prospects[0] as (typeof prospects)[0]), hops: 2 }
    const ofLog = ({ prospectId, prospectLogId, apiKeyId = null, createdAt }: NewLog, hops = {}) => {
      const eventId = `event${prospectLogId.slice('prospectlog'.length)}`
      const ids = { prospectId, prospectLogId, ...hops }
      return { tenantId, eventId, type: 'prospect_log.created', ids, apiKeyId, createdAt } as const
    }
    const ofProspect = ({ prospectId, apiKeyId = null, createdAt }: NewLog) => {
      const eventId = `event${prospectId.slice('prospect'.length)}`
      return {
        tenantId,
        eventId,
        type: 'prospect.created',
        ids: { prospectId },
        apiKeyId,
        createdAt,
      } as const
    }
    const updated = someEvent(tenantId, { type: 'prospect.updated' })
    const created = logs.flatMap((log) => [ofProspect(log), ofLog(log)])
    await store.activities.record({ prospects, logs }, [...created, updated])
    const later = known.map((log) => ofLog(log))
    await store.activities.recordLogs(known, later)
    const last = ofLog(hopped, { hops: 2 })
    await store.activities.recordLogs([hopped], [last])
    await user.number()
    const byId = (a: NewEvent, b: NewEvent) => (a.eventId < b.eventId ? -1 : 1)
    same(
      (await user.read()).map(({ sequence, ...event }) => event).sort(byId),
      [...created, updated, ...later, last].sort(byId),
    )
  },

  'versions.settle saves the events of the versions that it ends': async ({ store }) => {
    const user = await outboxOf(store)
    await user.addEndpoint()
    const group = await addGroup(store, user.tenant)
    const pages = Array.from({ length: 4 }, () => somePage(group))
    await store.pages.record(pages)
    await store.versions.claim(someClaim())
    const settlements = pages.map(({ pageId, versionId }, i): Settlement => {
      const version = { pageId, versionId, attempt: i === 0 ? 7 : 1 }
      if (i === 1) return { ...version, status: 'processing', claimableAt: at(1), counts: true }
      if (i === 2) return { ...version, status: 'failed', reason: 'why' }
      return { ...version, status: 'published', at: at(1), computedName: null }
    })
    const events = settlements.flatMap(({ versionId, status }) =>
      status === 'processing'
        ? []
        : someEvent(user.tenantId, { type: `page_version.${status}`, ids: { versionId } }),
    )
    await store.versions.settle(user.tenantId, settlements, events)
    await user.number()
    const saved = (await user.read()).map(({ type, ids }) => [type, ids.versionId])
    same(saved.sort(), [
      ['page_version.failed', pages[2]?.versionId],
      ['page_version.published', pages[3]?.versionId],
    ])
  },
})

const addGroup = async ({ pageGroups }: Store, tenant: SomeTenant) => {
  const group = someGroup(tenant)
  await pageGroups.add(group)
  return group
}
const addPage = async (store: Store, tenant: SomeTenant) => {
  const page = somePage(await addGroup(store, tenant))
  await store.pages.record([page])
  return page
}
