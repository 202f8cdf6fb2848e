import type { FoundProspect, NewEvent, NewLog, Settlement, Store, StoredEvent } from 'prospect-pages/store'
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
type Known = ReturnType<typeof someProspect>
type PrepareWrite = (store: Store, tenant: SomeTenant) => Promise<Write>

/** A write of each verb that saves all or nothing. The second time it is overtaken. */
const WRITES: Readonly<Record<string, PrepareWrite>> = {
  'activities.record': async ({ activities }, { tenantId }) => {
    const change = changeOf(someProspect(tenantId, { email: 'ada@x' }))
    return (events) => activities.record(change, events)
  },
  'prospects.correct': async ({ activities, prospects }, { tenantId }) => {
    const prospect = someProspect(tenantId)
    await recordAll(activities, [prospect])
    const before = foundProspect(prospect)
    const after = { ...before, name: 'Ada', updatedAt: at(1) }
    return (events) => prospects.correct({ before, after, added: [], released: [], forgotten: [] }, events)
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
    const anyRevision = undefined
    return (events) => pageGroups.change({ ...group, updatedAt: at(1) }, at(0), anyRevision, events)
  },
  'pages.record': async (store, tenant) => {
    const page = somePage(await addGroup(store, tenant), keyFields('one'))
    return (events) => store.pages.record(page, events)
  },
  'pages.change': async (store, tenant) => {
    const page = await addPage(store, tenant)
    const pointers = { publishedVersionId: null, automaticAfter: null, unpublishAt: null }
    const change = { ...pointers, revision: 1, added: null, dropped: null, publishes: false, schedule: null }
    return (events) => store.pages.change({ ...page, ...change }, events)
  },
  'pages.remove': async (store, tenant) => {
    const page = await addPage(store, tenant)
    return (events) => store.pages.remove({ ...page, revision: 1 }, events)
  },
}

const savesEvents =
  (prepareWrite: PrepareWrite) =>
  async ({ store }: Subject): Promise<void> => {
    const user = await outboxOf(store)
    const nonUser = await outboxOf(store)
    await user.addEndpoint()
    const write = await prepareWrite(store, user.tenant)
    const events = [someEvent(user.tenantId), someEvent(user.tenantId)]
    await write(events)
    same(await write([someEvent(user.tenantId)]), 'overtaken')
    const nonUserWrite = await prepareWrite(store, nonUser.tenant)
    await nonUserWrite([someEvent(nonUser.tenantId)])
    same(await nonUserWrite([someEvent(nonUser.tenantId)]), 'overtaken')

    same(await store.events.waiting('', 10), [user.tenantId])
    equal(await user.number(), 2)
    equal(await nonUser.number(), 0)
    same(
      await user.read(),
      events.map((event, i) => ({ ...event, sequence: i + 1 })),
    )
  }

const testsOfWrites: Record<string, (subject: Subject) => Promise<void>> = {}
for (const [verb, prepareWrite] of Object.entries(WRITES))
  testsOfWrites[`${verb} saves events for a tenant that uses them, and none if it is overtaken`] =
    savesEvents(prepareWrite)

export const eventWrites = section('event writes', () => ({}), {
  ...testsOfWrites,

  'a plain log has an event while its tenant uses events, and each log is stored once': async ({
    store,
    kept,
  }) => {
    const user = await outboxOf(store)
    const nonUser = await outboxOf(store)
    const [ours, theirs] = [user, nonUser].map(({ tenantId }) => someProspect(tenantId)) as [Known, Known]
    await recordAll(store.activities, [ours, theirs])
    const record = (log: NewLog, prospect: Known) => store.activities.record(logChangeOf(prospect, log))
    const log = async (prospect: Known) => {
      const fields = someLog(prospect)
      equal(await record(fields, prospect), 'recorded')
      return fields.prospectLogId
    }
    const stored = [await log(ours), await log(theirs)]
    const endpoint = await user.addEndpoint()
    const withEvents = [await log(ours), ...(await Promise.all([log(ours), log(ours)]))]
    stored.push(await log(theirs))
    await user.changeEndpoint(endpoint, { status: 'disabled' })
    stored.push(await log(ours))
    await user.changeEndpoint(endpoint, { status: 'enabled' })
    withEvents.push(...(await Promise.all([log(ours), log(theirs).then(() => log(ours))])))
    await user.number()
    const logged = (await user.read()).map(({ ids }) => ids.prospectLogId)
    same(logged.toSorted(), withEvents.toSorted())
    equal(await nonUser.number(), 0)
    const { logs } = await kept()
    equal(logs.length, stored.length + withEvents.length + 1)
    equal(new Set(logs.map(({ prospectLogId }) => prospectLogId)).size, logs.length)
    const late = someLog(ours)
    same(await store.activities.record(logChangeOf(ours, late, { unchangedSince: at(-1) })), 'overtaken')
  },

  'the events of concurrent changes are saved only for tenants that use events': async ({ store }) => {
    const firstUser = await outboxOf(store)
    const nonUser = await outboxOf(store)
    const secondUser = await outboxOf(store)
    await firstUser.addEndpoint()
    await secondUser.addEndpoint()
    const prospects = [secondUser, nonUser, firstUser].map(({ tenantId }) => someProspect(tenantId))
    const recording = prospects.map((prospect) =>
      store.activities.record(changeOf(prospect), [someEvent(prospect.tenantId)]),
    )
    same(await Promise.all(recording), ['recorded', 'recorded', 'recorded'])
    same(await store.events.waiting('', 10), [firstUser.tenantId, secondUser.tenantId])
    equal(await firstUser.number(), 1)
    equal(await nonUser.number(), 0)
    equal(await secondUser.number(), 1)
  },

  'a log is saved with its events, whether it adds, fills or keeps its prospect': async ({ store }) => {
    const user = await outboxOf(store)
    await user.addEndpoint()
    const { tenantId } = user
    const first = someProspect(tenantId)
    const second = someProspect(tenantId)
    const apiKeyId = newId('apikey')
    const createdLogs = [
      someLog(first, { createdProspect: true, apiKeyId, createdAt: at(7) }),
      someLog(second, { createdProspect: true }),
      someLog(second, { hops: 2 }),
    ]
    const updated = someEvent(tenantId, { type: 'prospect.updated' })
    equal(await recordAll(store.activities, [first, second], createdLogs, [updated]), 'recorded')
    const keepingLog = someLog(first, { apiKeyId, hops: 3, createdAt: at(8) })
    const fillingLog = someLog(second)
    const recording = [
      store.activities.record(logChangeOf(first, keepingLog)),
      store.activities.record(fillOf(second, { name: 'Ada' }, fillingLog)),
    ]
    same(await Promise.all(recording), ['recorded', 'recorded'])
    await user.number()
    const logs = [...createdLogs, keepingLog, fillingLog]
    const expected = [...logs.flatMap(eventsOf), updated]
    same((await user.read()).map(withoutSequence).sort(byId), expected.sort(byId))
  },

  'the events of logs are saved only for recorded logs of tenants that use events': async ({ store }) => {
    const user = await outboxOf(store)
    const nonUser = await outboxOf(store)
    await user.addEndpoint()
    const ours = someProspect(user.tenantId)
    const theirs = someProspect(nonUser.tenantId)
    const first = someLog(ours, keyFields('used'))
    equal(await recordAll(store.activities, [ours, theirs], [first]), 'recorded')
    const newcomer = someProspect(user.tenantId)
    const underUsedKey = someLog(newcomer, { createdProspect: true, ...keyFields('used') })
    equal(
      await store.activities.record(changeOf(newcomer, underUsedKey), [someEvent(user.tenantId)]),
      'overtaken',
    )
    const added = someLog(ours, keyFields('new'))
    const changes = [
      logChangeOf(ours, someLog(ours, keyFields('used'))),
      logChangeOf(ours, added),
      logChangeOf(newcomer, someLog(newcomer)),
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
    equal(await user.number(), 2)
    equal(await nonUser.number(), 0)
    same((await user.read()).map(withoutSequence), [...eventsOf(first), ...eventsOf(added)])
  },

  'versions.settle saves the events of the versions that it publishes or fails': async ({ store }) => {
    const user = await outboxOf(store)
    await user.addEndpoint()
    const group = await addGroup(store, user.tenant)
    const addVersion = async () => {
      const page = somePage(group)
      await store.pages.record(page)
      return { pageId: page.pageId, versionId: page.versionId }
    }
    const publishing = { status: 'published', at: at(1), computedName: null } as const
    const staleAttempt: Settlement = { ...(await addVersion()), attempt: 7, ...publishing }
    const retried: Settlement = {
      ...(await addVersion()),
      attempt: 1,
      status: 'processing',
      claimableAt: at(1),
      counts: true,
    }
    const failed: Settlement = { ...(await addVersion()), attempt: 1, status: 'failed', reason: 'why' }
    const published: Settlement = { ...(await addVersion()), attempt: 1, ...publishing }
    await store.versions.claim(someClaim())

    const eventOf = ({ versionId }: Settlement, type: NewEvent['type']) =>
      someEvent(user.tenantId, { type, ids: { versionId } })
    const failedEvent = eventOf(failed, 'page_version.failed')
    const publishedEvent = eventOf(published, 'page_version.published')
    await store.versions.settle(
      user.tenantId,
      [staleAttempt, retried, failed, published],
      [eventOf(staleAttempt, 'page_version.published'), failedEvent, publishedEvent],
    )
    await user.number()
    same((await user.read()).map(withoutSequence).sort(byId), [failedEvent, publishedEvent])
  },
})

const withoutSequence = ({ sequence, ...event }: StoredEvent): NewEvent => event

/** The events of a log: one for the log, and before it one for its prospect if the log created it. */
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
