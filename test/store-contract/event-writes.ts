import type { FoundProspect, NewEvent, NewLog, Settlement, Store } from 'prospect-pages/store'
import { equal, same } from './assertions.ts'
import { type Subject, section } from './contract.ts'
import { outboxOf } from './outbox.ts'
import {
  at,
  changeOf,
  fillOf,
  foundProspect,
  keyFields,
  logChangeOf,
  newId,
  recordAll,
  recordPages,
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
    const change = changeOf(someProspect(tenantId, { email: 'ada@x' }))
    return (events) => activities.record(change, events)
  },
  'prospects.correct': async ({ activities, prospects }, { tenantId }) => {
    const prospect = someProspect(tenantId)
    await recordAll(activities, [prospect])
    const before = foundProspect(prospect)
    const after = { ...before, name: 'Ada', updatedAt: at(1) }
    return (events) => prospects.correct({ before, after, added: [], released: [] }, events)
  },
  'merges.record': async ({ activities, merges }, { tenantId }) => {
    const both = [someProspect(tenantId), someProspect(tenantId)]
    await recordAll(activities, both)
    const [before, survivor] = both.map(foundProspect) as [FoundProspect, FoundProspect]
    const intoId = survivor.prospectId
    const { prospectId } = before
    const changes = {
      merge: { tenantId, mergeId: newId('merge'), prospectId, intoId, requestedAt: at(1) },
      merged: { before, after: { ...before, mergedInto: intoId, updatedAt: at(1) } },
      survivor: { before: survivor, after: { ...survivor, updatedAt: at(1) } },
    }
    return (events) => merges.record(changes, events)
  },
  'erasures.record': async ({ activities, erasures }, { tenantId }) => {
    const prospect = someProspect(tenantId)
    await recordAll(activities, [prospect])
    const changes = {
      tenantId,
      now: at(1),
      until: at(1),
      prospects: [foundProspect(prospect)],
      identifier: null,
      erasures: [someErasure(tenantId, { prospectId: prospect.prospectId })],
    }
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
    return (events) => store.pages.record(page, events)
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
    const user = await outboxOf(store)
    const other = await outboxOf(store)
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

  'of changes made at once the events of those tenants are saved that use them': async ({ store }) => {
    const one = await outboxOf(store)
    const other = await outboxOf(store)
    const two = await outboxOf(store)
    await one.addEndpoint()
    await two.addEndpoint()
    const prospects = [two, other, one].map(({ tenantId }) => someProspect(tenantId))
    const recording = prospects.map((prospect) =>
      store.activities.record(changeOf(prospect), [someEvent(prospect.tenantId)]),
    )
    same(await Promise.all(recording), ['recorded', 'recorded', 'recorded'])
    same(await store.events.waiting('', 10), [one.tenantId, two.tenantId])
    same([await one.number(), await other.number(), await two.number()], [1, 0, 1])
  },

  'the events of logs are saved with them, whatever saves them': async ({ store }) => {
    const user = await outboxOf(store)
    await user.addEndpoint()
    const { tenantId } = user
    const first = someProspect(tenantId)
    const second = someProspect(tenantId)
    const apiKeyId = newId('apikey')
    const created = [
      someLog(first, { createdProspect: true, apiKeyId, createdAt: at(7) }),
      someLog(second, { createdProspect: true }),
      someLog(second, { hops: 2 }),
    ]
    const updated = someEvent(tenantId, { type: 'prospect.updated' })
    equal(await recordAll(store.activities, [first, second], created, [updated]), 'recorded')
    const later = [someLog(first, { apiKeyId, hops: 3, createdAt: at(8) }), someLog(second)] as const
    const changes = [logChangeOf(first, later[0]), fillOf(second, { name: 'Ada' }, later[1])]
    same(await Promise.all(changes.map((change) => store.activities.record(change))), [
      'recorded',
      'recorded',
    ])
    await user.number()
    const expected = [...created, ...later].flatMap(eventsOf)
    same(
      (await user.read()).map(({ sequence, ...event }) => event).sort(byId),
      [...expected, updated].sort(byId),
    )
  },

  'the events of logs are saved only for those logs that are, and for tenants that use events': async ({
    store,
  }) => {
    const user = await outboxOf(store)
    const other = await outboxOf(store)
    await user.addEndpoint()
    const ours = someProspect(user.tenantId)
    const theirs = someProspect(other.tenantId)
    const first = someLog(ours, keyFields('taken'))
    equal(await recordAll(store.activities, [ours, theirs], [first]), 'recorded')
    const late = someProspect(user.tenantId)
    const taken = changeOf(late, someLog(late, { createdProspect: true, ...keyFields('taken') }))
    equal(await store.activities.record(taken, [someEvent(user.tenantId)]), 'overtaken')
    const added = someLog(ours, keyFields('new'))
    const changes = [
      logChangeOf(ours, someLog(ours, keyFields('taken'))),
      logChangeOf(ours, added),
      logChangeOf(late, someLog(late)),
      logChangeOf({ ...ours, updatedAt: at(9) }, someLog(ours)),
      logChangeOf(theirs, someLog(theirs)),
    ]
    same(await Promise.all(changes.map((change) => store.activities.record(change))), [
      'overtaken',
      'recorded',
      'overtaken',
      'overtaken',
      'recorded',
    ])
    same([await user.number(), await other.number()], [2, 0])
    same(
      (await user.read()).map(({ sequence, ...event }) => event),
      [first, added].flatMap(eventsOf),
    )
  },

  'versions.settle saves the events of the versions that it ends': async ({ store }) => {
    const user = await outboxOf(store)
    await user.addEndpoint()
    const group = await addGroup(store, user.tenant)
    const pages = Array.from({ length: 4 }, () => somePage(group))
    await recordPages(store.pages, pages)
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

/** The events of a log: that its prospect was created, if it was, and the log. */
const eventsOf = (log: NewLog): NewEvent[] => {
  const { tenantId, prospectId, prospectLogId, apiKeyId = null, hops, createdAt } = log
  const eventOf = (type: NewEvent['type'], id: string, ids: NewEvent['ids']): NewEvent => ({
    tenantId,
    eventId: `event${id.slice(id.indexOf('_'))}`,
    type,
    ids: hops === undefined ? ids : { ...ids, hops },
    apiKeyId,
    createdAt,
  })
  const logged = eventOf('prospect_log.created', prospectLogId, { prospectId, prospectLogId })
  if (!log.createdProspect) return [logged]
  return [eventOf('prospect.created', prospectId, { prospectId }), logged]
}
const byId = (a: NewEvent, b: NewEvent) => (a.eventId < b.eventId ? -1 : 1)

const addGroup = async ({ pageGroups }: Store, tenant: SomeTenant) => {
  const group = someGroup(tenant)
  await pageGroups.add(group)
  return group
}
const addPage = async (store: Store, tenant: SomeTenant) => {
  const page = somePage(await addGroup(store, tenant))
  await store.pages.record(page)
  return page
}
