import { assumingActive } from '../../src/adapters/stores/assuming-active.ts'
import { remembering } from '../../src/adapters/stores/remembering.ts'
import { logProspectActivities } from '../../src/core/activities/log-prospect-activities.ts'
import { logProspectActivity } from '../../src/core/activities/log-prospect-activity.ts'
import type { NewActivity } from '../../src/core/activities/new-log.ts'
import { createPageWithVersion, type PageToCreate } from '../../src/core/pages/create-page-with-version.ts'
import type { ActivityChange } from '../../src/core/ports/activities.ts'
import type { PageGroupsQuery } from '../../src/core/ports/page-groups.ts'
import type { NewPageRow } from '../../src/core/ports/pages.ts'
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
import { opened, overStores, sentBy } from '../support/stores.ts'

/** So many reads, of this and of others. */
const others = <Want extends object>(want: Want, key: keyof Want, count = 30): Want[] => [
  want,
  ...Array.from({ length: count - 1 }, (_, i) => ({ ...want, [key]: `unknown ${i}` })),
]

overStores(
  async (t, kind) => {
    t.test('one activity alone costs two statements, and two hundred together the same two', async (t) => {
      const tested = await opened(t, kind)
      const log = logProspectActivity({ ...tested, clock: stoppedClock(), newId })
      const logAll = (activities: readonly NewActivity[]) => Promise.all(activities.map(log))
      const activities = activitiesOf((await addTenant(tested.store)).tenantId)
      t.equal((await sentBy(tested, () => log(activities[0] as NewActivity))).length, 2)
      t.equal((await sentBy(tested, () => logAll(activities.slice(1)))).length, 2)
      t.equal((await sentBy(tested, () => logAll(activities))).length, 1, 'replays are only looked up')
      const [prospect] = (await tested.kept()).prospects
      const own = {
        email: undefined,
        externalId: undefined,
        idempotencyKey: undefined,
        prospectId: prospect?.prospectId,
        name: undefined,
      }
      const byId = activities.map((activity) => ({ ...activity, ...own }))
      t.equal((await sentBy(tested, () => logAll(byId))).length, 2)
    })

    t.test('activities of remembered prospects cost one statement', async (t) => {
      const tested = await opened(t, kind)
      const store = { activities: remembering(tested.store.activities, 1_000) }
      const log = logProspectActivity({ store, clock: stoppedClock(), newId })
      const logAll = (activities: readonly NewActivity[]) => Promise.all(activities.map(log))
      const activities = activitiesOf((await addTenant(tested.store)).tenantId)
      await logAll(activities)
      const more = activities.map((activity, i) => ({ ...activity, idempotencyKey: `more ${i}` }))
      t.equal((await sentBy(tested, () => log(more[0] as NewActivity))).length, 1)
      t.equal((await sentBy(tested, () => logAll(more.slice(1)))).length, 1)
      t.equal((await sentBy(tested, () => logAll(more))).length, 2, 'replays are turned away, then looked up')
      const { prospects } = await tested.kept()
      const byId = prospects.map(
        ({ tenantId, prospectId }) =>
          ({
            ...activities[0],
            tenantId,
            prospectId,
            email: undefined,
            idempotencyKey: undefined,
          }) as NewActivity,
      )
      await logAll(byId)
      t.equal((await sentBy(tested, () => logAll(byId))).length, 1)
    })

    for (const [whom, fieldsOf] of [
      ['one new person a thousand times', () => ({ email: 'ada@example.com' })],
      ['a thousand new people', (i: number) => ({ email: `${i}@example.com` })],
    ] as const)
      t.test(`a batch that names ${whom} takes at most six statements`, async (t) => {
        // Without memory each of the two lists of 500 is looked up, too.
        for (const { entriesMax, statementsMax } of [
          { entriesMax: 10_000, statementsMax: 6 },
          { entriesMax: 0, statementsMax: 8 },
        ]) {
          const tested = await opened(t, kind)
          const store = { activities: remembering(tested.store.activities, entriesMax) }
          const log = logProspectActivities({
            logProspectActivity: logProspectActivity({ store, clock: stoppedClock(), newId }),
            clock: stoppedClock(),
            newId,
          })
          const { tenantId } = await addTenant(tested.store)
          const activity = { tenantId, source: 'crm', type: 'webhook', payload: { rawJson: '{}' } }
          const activities = Array.from(
            { length: 1_000 },
            (_, i) => ({ ...activity, ...fieldsOf(i) }) as NewActivity,
          )
          const sent = await sentBy(tested, () =>
            log({ inputs: activities, prepare: (activity) => activity }),
          )
          t.ok(sent.length <= statementsMax, `${sent.length} with ${entriesMax} remembered`)
          t.equal((await tested.kept()).logs.length, 1_000)
        }
      })

    t.test('writes that another process was faster with are found by one more statement', async (t) => {
      const tested = await opened(t, kind)
      const other = await tested.another()
      const tenant = await addTenant(tested.store)
      const group = someGroup(tenant)
      await tested.store.pageGroups.add(group)
      const changes = Array.from({ length: 200 }, (_, i) => {
        const prospect = () => someProspect(tenant.tenantId)
        return [prospect(), prospect()].map((each) => changeOf(each, someLog(each, keyFields(`key ${i}`))))
      })
      const pages = Array.from({ length: 200 }, (_, i) =>
        [1, 2].map(() => somePage(group, keyFields(`key ${i}`))),
      )
      await Promise.all(changes.map(([theirs]) => other.activities.record(theirs as ActivityChange)))
      await Promise.all(pages.map(([theirs]) => other.pages.record(theirs as NewPageRow)))
      const { activities, pages: port } = tested.store
      const logged = changes.map(
        ([, ours]) =>
          () =>
            activities.record(ours as ActivityChange),
      )
      const paged = pages.map(
        ([, ours]) =>
          () =>
            port.record(ours as NewPageRow),
      )
      for (const writes of [logged, paged]) {
        const recorded: string[] = []
        const write = async () => void recorded.push(...(await Promise.all(writes.map((each) => each()))))
        t.equal((await sentBy(tested, write)).length, 1)
        t.strictSame(new Set(recorded), new Set(['overtaken']))
        t.equal(recorded.length, 200)
      }
    })

    t.test('texts as long as a request share no statement with many others', async (t) => {
      const tested = await opened(t, kind)
      const { activities, pages } = tested.store
      const tenant = await addTenant(tested.store)
      const group = someGroup(tenant)
      await tested.store.pageGroups.add(group)
      const text = 'x'.repeat(400_000)
      const six = Array.from({ length: 6 }, (_, i) => i)
      const logs = six.map(() => {
        const prospect = someProspect(tenant.tenantId)
        return changeOf(prospect, someLog(prospect, { email: text }))
      })
      t.equal((await sentBy(tested, () => Promise.all(logs.map((log) => activities.record(log))))).length, 3)
      for (const fields of [{ supplementaryContext: text }, { customName: text }])
        t.equal(
          (await sentBy(tested, () => Promise.all(six.map(() => pages.record(somePage(group, fields))))))
            .length,
          3,
        )
    })

    t.test('one page created costs two statements, and two hundred together the same two', async (t) => {
      const tested = await opened(t, kind)
      const store = { pages: assumingActive(tested.store.pages) }
      const create = createPageWithVersion({ store, clock: stoppedClock(), newId })
      const group = someGroup(await addTenant(tested.store))
      await tested.store.pageGroups.add(group)
      const pages: PageToCreate[] = Array.from({ length: 200 }, (_, i) => {
        const { tenantId, pageGroupId } = group
        return { tenantId, pageGroupId, idempotencyKey: `${i}` }
      })
      t.equal((await sentBy(tested, () => create(pages[0] as PageToCreate))).length, 2)
      t.equal((await sentBy(tested, () => Promise.all(pages.slice(1).map(create)))).length, 2)
      const plain = pages.map((page) => ({
        ...page,
        idempotencyKey: undefined,
        supplementaryContext: 'Sale',
      }))
      t.equal((await sentBy(tested, () => Promise.all(plain.map(create)))).length, 1)
    })

    t.test(
      'a list of page groups is one statement, whether filtered or not, however many at once',
      async (t) => {
        const tested = await opened(t, kind)
        const { tenantId } = await addTenant(tested.store)
        const list = (...statuses: PageGroupsQuery['status'][]) =>
          sentBy(tested, () =>
            readEach(
              tested.store.pageGroups.list,
              statuses.map((status) => ({
                tenantId,
                status,
                beforeId: null,
                limit: 20,
              })),
            ),
          )
        t.equal((await list(null)).length, 1)
        t.equal((await list('active')).length, 1)
        t.equal((await list(...Array(200).fill(null))).length, 1)
        t.equal((await list('active', 'archived', 'deleted')).length, 1)
        t.equal((await list(null, 'archived', null, 'deleted')).length, 1)
      },
    )

    t.test('a list of pages and a read of a page are one statement each, however many at once', async (t) => {
      const tested = await opened(t, kind)
      const { pages } = tested.store
      const want = { ...someGroup(await addTenant(tested.store)), pageId: newId('page') }
      const slice = { ...want, beforeId: null, limit: 20 }
      t.equal((await sentBy(tested, () => pages.list(slice))).length, 1)
      t.equal((await sentBy(tested, () => readEach(pages.list, others(slice, 'pageGroupId')))).length, 1)
      t.equal((await sentBy(tested, () => pages.find(want))).length, 1)
      t.equal((await sentBy(tested, () => readEach(pages.find, others(want, 'pageId')))).length, 1)
    })

    t.test('each read of prospects and activities is one statement, and so is a correction', async (t) => {
      const tested = await opened(t, kind)
      const { prospects, prospectLogs, activities } = tested.store
      const prospect = someProspect((await addTenant(tested.store)).tenantId)
      await recordAll(activities, [prospect])
      const want = { ...prospect, prospectLogId: newId('prospectlog') }
      const slice = { ...want, beforeId: null, limit: 20 }
      const list = { ...slice, source: null, type: 'rare', idempotencyKey: null, fromId: null }
      const timeline = { ...list, since: null, before: null }
      const before = foundProspect(prospect)
      const correction = { before, after: { ...before, name: 'Ada' }, added: [], released: [] }
      const countOf = async (act: () => Promise<unknown>) =>
        (await sentBy(tested, act)).filter(({ text }) => !text.includes('pg_notify')).length
      for (const act of [
        () => prospects.find(want),
        () => readEach(prospects.find, others(want, 'prospectId')),
        () => prospects.list({ ...slice, identifier: null }),
        () => prospects.list({ ...slice, identifier: { kind: 'email', hash: 'hash' } }),
        () => prospects.correct(correction),
        () => readEach(prospectLogs.find, others(want, 'prospectLogId')),
        () => prospectLogs.list(list),
        () => prospectLogs.list({ ...list, source: 'crm', idempotencyKey: 'one' }),
        () => prospectLogs.timeline(timeline),
      ])
        t.equal(await countOf(act), 1, String(act))
      t.equal(
        await countOf(() => readEach(prospectLogs.timeline, others(timeline, 'prospectId', 3))),
        3,
        'one each',
      )
    })

    t.test('a text is sent the same however long the list', async (t) => {
      const tested = await opened(t, kind)
      const log = logProspectActivity({ ...tested, clock: stoppedClock(), newId })
      const activities = activitiesOf((await addTenant(tested.store)).tenantId)
      const sent = await sentBy(tested, async () => {
        for (const length of [1, 8, 60]) await Promise.all(activities.splice(0, length).map(log))
      })
      t.equal(new Set(sent.map(({ text }) => text)).size, 2)
    })
  },
  ['postgres'],
)

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
