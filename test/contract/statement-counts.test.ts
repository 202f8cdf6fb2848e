import type { Test } from 'tap'
import { remembering } from '../../src/adapters/stores/remembering.ts'
import { rememberingGroups } from '../../src/adapters/stores/remembering-groups.ts'
import { logProspectActivities } from '../../src/core/activities/log-prospect-activities.ts'
import {
  logActivitiesTogether,
  logProspectActivity,
} from '../../src/core/activities/log-prospect-activity.ts'
import type { NewActivity } from '../../src/core/activities/new-log.ts'
import { createPageWithVersion, type PageToCreate } from '../../src/core/pages/create-page-with-version.ts'
import { publishVersions } from '../../src/core/pages/publish-versions.ts'
import type { ActivityChange } from '../../src/core/ports/activities.ts'
import type { PageGroupsQuery } from '../../src/core/ports/page-groups.ts'
import type { NewPageRow } from '../../src/core/ports/pages.ts'
import type { Recorded } from '../../src/core/ports/world.ts'
import {
  addTenant,
  changeOf,
  foundProspect,
  keyFields,
  newId,
  readEach,
  recordAll,
  someGroup,
  someLog,
  somePage,
  someProspect,
} from '../support/rows.ts'
import { stoppedClock } from '../support/setting.ts'
import { opened, overStores, type StoreKind, sentBy, type TestedStore } from '../support/stores.ts'

/** The number of statements that an act sends. */
const countOf = async (tested: TestedStore, act: () => Promise<unknown>): Promise<number> =>
  (await sentBy(tested, act)).length

/** The given query, and others for ids that do not exist. */
const withUnknownOthers = <Query extends object>(query: Query, idName: keyof Query, count = 30): Query[] => {
  const queries = [query]
  for (let i = 1; i < count; i++) queries.push({ ...query, [idName]: `unknown ${i}` })
  return queries
}

const testActivities = (t: Test, kind: StoreKind): void => {
  t.test('one activity alone costs two statements, and two hundred together the same two', async (t) => {
    const tested = await opened(t, kind)
    const log = logProspectActivity({ ...tested, clock: stoppedClock(), newId })
    const logAll = (activities: readonly NewActivity[]) => Promise.all(activities.map(log))
    const activities = activitiesOf((await addTenant(tested.store)).tenantId)
    const [first, ...rest] = activities as [NewActivity, ...NewActivity[]]
    t.equal(await countOf(tested, () => log(first)), 2)
    t.equal(await countOf(tested, () => logAll(rest)), 2)
    t.equal(await countOf(tested, () => logAll(activities)), 1, 'replays are only looked up')
    const [prospect] = (await tested.kept()).prospects
    const byId = activities.map(
      (activity): NewActivity => ({
        ...activity,
        prospectId: prospect?.prospectId,
        email: undefined,
        name: undefined,
        idempotencyKey: undefined,
      }),
    )
    t.equal(await countOf(tested, () => logAll(byId)), 2)
  })

  t.test('activities of remembered prospects cost one statement', async (t) => {
    const tested = await opened(t, kind)
    const store = { activities: remembering(tested.store.activities, 1_000) }
    const log = logProspectActivity({ store, clock: stoppedClock(), newId })
    const logAll = (activities: readonly NewActivity[]) => Promise.all(activities.map(log))
    const activities = activitiesOf((await addTenant(tested.store)).tenantId)
    await logAll(activities)
    const underNewKeys = activities.map((activity, i) => ({ ...activity, idempotencyKey: `new key ${i}` }))
    const [first, ...rest] = underNewKeys as [NewActivity, ...NewActivity[]]
    t.equal(await countOf(tested, () => log(first)), 1)
    t.equal(await countOf(tested, () => logAll(rest)), 1)
    t.equal(await countOf(tested, () => logAll(underNewKeys)), 2, 'replays are overtaken, then looked up')
    const { prospects } = await tested.kept()
    const byId = prospects.map(
      ({ prospectId }): NewActivity => ({
        ...first,
        prospectId,
        email: undefined,
        idempotencyKey: undefined,
      }),
    )
    await logAll(byId)
    t.equal(await countOf(tested, () => logAll(byId)), 1)
  })

  t.test('a statement has one text for a single activity, one for a few, and one for many', async (t) => {
    const tested = await opened(t, kind)
    const log = logProspectActivity({ ...tested, clock: stoppedClock(), newId })
    const activities = activitiesOf((await addTenant(tested.store)).tenantId)
    const sent = await sentBy(tested, async () => {
      for (const length of [1, 1, 8, 9, 25, 26]) await Promise.all(activities.splice(0, length).map(log))
    })
    const texts = new Set(sent.map(({ text }) => text))
    t.equal(texts.size, 5, 'two that look up, and three that store')
  })
}

const testBatches = (t: Test, kind: StoreKind): void => {
  t.test('a batch that names one new person a thousand times takes at most six statements', (t) =>
    testBatch(t, kind, () => 'ada@example.com'),
  )
  t.test('a batch that names a thousand new people takes at most six statements', (t) =>
    testBatch(t, kind, (i) => `${i}@example.com`),
  )
}

const testKnownBatches = (t: Test, kind: StoreKind): void => {
  t.test(
    'batches of remembered prospects share one statement; their conflicts take one for each batch',
    async (t) => {
      const tested = await opened(t, kind)
      const { activities, prospectConflicts } = tested.store
      const store = { activities: remembering(activities, 1_000), prospectConflicts }
      const world = { store, clock: stoppedClock(), newId }
      const logBatch = logProspectActivities({
        ...world,
        logProspectActivity: logProspectActivity(world),
        logActivitiesTogether: logActivitiesTogether(world),
      })
      const { tenantId } = await addTenant(tested.store)
      const logAll = (named: readonly object[]) =>
        logBatch({
          inputs: named,
          prepare: (names) => ({
            tenantId,
            source: 'crm',
            type: 'webhook',
            payload: { rawJson: '{}' },
            ...names,
          }),
        })
      const emails = Array.from({ length: 60 }, (_, i) => ({ email: `${i}@example.com` }))
      const ids = Array.from({ length: 60 }, (_, i) => ({ externalId: `crm-${i}` }))
      await logAll(emails)
      await logAll(ids)
      const batches = [emails.slice(0, 20), emails.slice(20, 40), emails.slice(40)]
      t.equal(await countOf(tested, () => Promise.all(batches.map(logAll))), 1)
      const both = emails.map((email, i) => ({ ...email, ...ids[i] }))
      const [first, ...rest] = both as [object, ...object[]]
      t.equal(await countOf(tested, () => logAll([first])), 4, 'taken for new, recalled, recorded, noted')
      t.equal(await countOf(tested, () => logAll(rest)), 3, 'recalled, recorded, noted')
      t.equal((await prospectConflicts.list({ tenantId, before: null, max: 100 })).length, 60)
    },
  )
}

const testBatch = async (t: Test, kind: StoreKind, emailOf: (i: number) => string): Promise<void> => {
  // Without memory each of the two lists of 500 is looked up, too.
  for (const { entriesMax, statementsMax } of [
    { entriesMax: 10_000, statementsMax: 6 },
    { entriesMax: 0, statementsMax: 8 },
  ]) {
    const tested = await opened(t, kind)
    const store = { activities: remembering(tested.store.activities, entriesMax) }
    const clock = stoppedClock()
    const logOne = logProspectActivity({ store, clock, newId })
    const logTogether = logActivitiesTogether({ store, clock, newId })
    const logBatch = logProspectActivities({
      logProspectActivity: logOne,
      logActivitiesTogether: logTogether,
      clock,
      newId,
    })
    const { tenantId } = await addTenant(tested.store)
    const activities = Array.from(
      { length: 1_000 },
      (_, i): NewActivity => ({
        tenantId,
        source: 'crm',
        type: 'webhook',
        payload: { rawJson: '{}' },
        email: emailOf(i),
      }),
    )
    const count = await countOf(tested, () =>
      logBatch({ inputs: activities, prepare: (activity) => activity }),
    )
    t.ok(count <= statementsMax, `${count} with ${entriesMax} remembered`)
    t.equal((await tested.kept()).logs.length, 1_000)
  }
}

const testOvertakenWrites = (t: Test, kind: StoreKind): void => {
  t.test('two hundred logs that another process overtakes cost one statement', async (t) => {
    const tested = await opened(t, kind)
    const { tenantId } = await addTenant(tested.store)
    const newChanges = (): ActivityChange[] =>
      Array.from({ length: 200 }, (_, i) => {
        const prospect = someProspect(tenantId)
        return changeOf(prospect, someLog(prospect, keyFields(`key ${i}`)))
      })
    const winner = await tested.another()
    await Promise.all(newChanges().map((change) => winner.activities.record(change)))
    const { activities } = tested.store
    await testAllOvertaken(t, tested, () =>
      Promise.all(newChanges().map((change) => activities.record(change))),
    )
  })

  t.test('two hundred pages that another process overtakes cost one statement', async (t) => {
    const tested = await opened(t, kind)
    const group = someGroup(await addTenant(tested.store))
    await tested.store.pageGroups.add(group)
    const newPages = (): NewPageRow[] =>
      Array.from({ length: 200 }, (_, i) => somePage(group, keyFields(`key ${i}`)))
    const winner = await tested.another()
    await Promise.all(newPages().map((page) => winner.pages.record(page)))
    const { pages } = tested.store
    await testAllOvertaken(t, tested, () => Promise.all(newPages().map((page) => pages.record(page))))
  })
}

const testAllOvertaken = async (
  t: Test,
  tested: TestedStore,
  recordAllAtOnce: () => Promise<readonly Recorded[]>,
): Promise<void> => {
  let outcomes: readonly Recorded[] = []
  const count = await countOf(tested, async () => {
    outcomes = await recordAllAtOnce()
  })
  t.equal(count, 1)
  t.strictSame(new Set(outcomes), new Set(['overtaken']))
  t.equal(outcomes.length, 200)
}

const testLongTexts = (t: Test, kind: StoreKind): void => {
  t.test('six texts as long as a request share three statements', async (t) => {
    const tested = await opened(t, kind)
    const { activities, pages } = tested.store
    const tenant = await addTenant(tested.store)
    const group = someGroup(tenant)
    await tested.store.pageGroups.add(group)
    const text = 'x'.repeat(400_000)

    const logs = Array.from({ length: 6 }, () => {
      const prospect = someProspect(tenant.tenantId)
      return changeOf(prospect, someLog(prospect, { email: text }))
    })
    t.equal(await countOf(tested, () => Promise.all(logs.map((log) => activities.record(log)))), 3)

    for (const fields of [{ supplementaryContext: text }, { customName: text }]) {
      const rows = Array.from({ length: 6 }, () => somePage(group, fields))
      t.equal(await countOf(tested, () => Promise.all(rows.map((page) => pages.record(page)))), 3)
    }
  })
}

const testPages = (t: Test, kind: StoreKind): void => {
  t.test(
    'one page of a known group costs one statement, and two hundred together the same one',
    async (t) => {
      const tested = await opened(t, kind)
      const store = { pages: rememberingGroups(tested.store.pages) }
      const create = createPageWithVersion({ store, clock: stoppedClock(), newId })
      const { tenantId, pageGroupId } = await addGroup(tested)
      const pages = Array.from(
        { length: 200 },
        (_, i): PageToCreate => ({
          tenantId,
          pageGroupId,
          customName: 'Sale',
          slug: `${i}`,
          idempotencyKey: `${i}`,
        }),
      )
      const [first, second, ...rest] = pages as [PageToCreate, PageToCreate, ...PageToCreate[]]
      t.equal(await countOf(tested, () => create(first)), 2, 'its group is looked up')
      t.equal(await countOf(tested, () => create(second)), 1)
      t.equal(await countOf(tested, () => Promise.all(rest.map(create))), 1)
      t.equal(
        await countOf(tested, () => Promise.all(pages.map(create))),
        2,
        'replays are overtaken, then looked up',
      )
    },
  )

  t.test(
    'publishing pages that this process created costs one statement, however many at once',
    async (t) => {
      const tested = await opened(t, kind)
      const { store } = tested
      const deps = { store, clock: stoppedClock(), newId }
      const publish = publishVersions({
        ...deps,
        namer: null,
        claimMax: 10,
        leaseMs: 1_000,
        handOver: store.handOver,
      })
      store.handOver?.register(() => {}, 1_000)
      const { tenantId, pageGroupId } = await addGroup(tested)
      const create = () => createPageWithVersion(deps)({ tenantId, pageGroupId })
      const publishAll = () => publish(new AbortController().signal, undefined, false)
      for (const count of [1, 200]) {
        await Promise.all(Array.from({ length: count }, create))
        t.equal(await countOf(tested, publishAll), 1)
      }
      t.equal((await store.versions.backlog(10)).count, 0)
    },
  )

  t.test('a list of pages and a read of a page are one statement each, however many at once', async (t) => {
    const tested = await opened(t, kind)
    const { pages } = tested.store
    const page = { ...someGroup(await addTenant(tested.store)), pageId: newId('page') }
    const slice = { ...page, beforeId: null, limit: 20 }
    t.equal(await countOf(tested, () => pages.list(slice)), 1)
    t.equal(await countOf(tested, () => readEach(pages.list, withUnknownOthers(slice, 'pageGroupId'))), 1)
    t.equal(await countOf(tested, () => pages.find(page)), 1)
    t.equal(await countOf(tested, () => readEach(pages.find, withUnknownOthers(page, 'pageId'))), 1)
  })
}

const testPageGroups = (t: Test, kind: StoreKind): void => {
  t.test(
    'page groups are listed in one statement, and by status in another, however many at once',
    async (t) => {
      const tested = await opened(t, kind)
      const { tenantId } = await addTenant(tested.store)
      const countFor = (statuses: readonly PageGroupsQuery['status'][]) => {
        const queries = statuses.map((status) => ({ tenantId, status, beforeId: null, limit: 20 }))
        return countOf(tested, () => readEach(tested.store.pageGroups.list, queries))
      }
      t.equal(await countFor([null]), 1)
      t.equal(await countFor(['active']), 1)
      t.equal(await countFor(Array.from({ length: 200 }, () => null)), 1)
      t.equal(await countFor(['active', 'archived', 'deleted']), 1)
      t.equal(await countFor([null, 'archived', null, 'deleted']), 2)
    },
  )
}

const testProspects = (t: Test, kind: StoreKind): void => {
  t.test('each read of prospects is one statement, and so is a correction', async (t) => {
    const tested = await opened(t, kind)
    const { prospects } = tested.store
    const prospect = await addProspect(tested)
    const slice = { ...prospect, beforeId: null, limit: 20 }
    t.equal(await countOf(tested, () => prospects.find(prospect)), 1)
    t.equal(
      await countOf(tested, () => readEach(prospects.find, withUnknownOthers(prospect, 'prospectId'))),
      1,
    )
    t.equal(await countOf(tested, () => prospects.list({ ...slice, identifier: null })), 1)
    const identifier = { kind: 'email', hash: 'hash' } as const
    t.equal(await countOf(tested, () => prospects.list({ ...slice, identifier })), 1)
    t.equal(await countOf(tested, () => prospects.identifiers(prospect)), 1)
    const former = { tenantId: prospect.tenantId, kind: 'email', hash: '' } as const
    t.equal(await countOf(tested, () => prospects.formerOwners({ ...former, limit: 20 })), 1)
    const before = foundProspect(prospect)
    const correction = { before, after: { ...before, name: 'Ada' }, added: [], released: [], forgotten: [] }
    t.equal(await countOf(tested, () => prospects.correct(correction)), 1)
  })

  t.test('each read of prospect logs is one statement, but many timelines are one each', async (t) => {
    const tested = await opened(t, kind)
    const { prospectLogs } = tested.store
    const log = { ...(await addProspect(tested)), prospectLogId: newId('prospectlog') }
    t.equal(
      await countOf(tested, () => readEach(prospectLogs.find, withUnknownOthers(log, 'prospectLogId'))),
      1,
    )
    const list = {
      ...log,
      beforeId: null,
      limit: 20,
      source: null,
      type: 'rare',
      idempotencyKey: null,
      fromId: null,
    }
    t.equal(await countOf(tested, () => prospectLogs.list(list)), 1)
    const byKey = { ...list, source: 'crm', idempotencyKey: 'key' }
    t.equal(await countOf(tested, () => prospectLogs.list(byKey)), 1)
    const timeline = { ...list, since: null, before: null }
    t.equal(await countOf(tested, () => prospectLogs.timeline(timeline)), 1)
    const timelines = withUnknownOthers(timeline, 'prospectId', 3)
    t.equal(await countOf(tested, () => readEach(prospectLogs.timeline, timelines)), 3)
  })
}

overStores(
  async (t, kind) => {
    for (const testSubject of [
      testActivities,
      testBatches,
      testKnownBatches,
      testOvertakenWrites,
      testLongTexts,
      testPages,
      testPageGroups,
      testProspects,
    ])
      testSubject(t, kind)
  },
  ['postgres'],
)

const addGroup = async ({ store }: TestedStore) => {
  const group = someGroup(await addTenant(store))
  await store.pageGroups.add(group)
  return group
}

const addProspect = async ({ store }: TestedStore) => {
  const prospect = someProspect((await addTenant(store)).tenantId)
  await recordAll(store.activities, [prospect])
  return prospect
}

const activitiesOf = (tenantId: string): NewActivity[] =>
  Array.from({ length: 200 }, (_, i) => ({
    tenantId,
    source: 'crm',
    type: 'webhook',
    payload: { rawJson: '{}' },
    email: `${i}@example.com`,
    name: `Number ${i}`,
    idempotencyKey: `key ${i}`,
  }))
