import { logProspectActivities } from '../../src/core/activities/log-prospect-activity.ts'
import type { NewActivity } from '../../src/core/activities/new-log.ts'
import { rememberProspects } from '../../src/core/activities/remember-prospects.ts'
import { createPagesWithVersion } from '../../src/core/pages/create-page-with-version.ts'
import type { PageGroupsWant } from '../../src/core/ports/page-groups.ts'
import {
  addTenant,
  changesOf,
  foundProspect,
  newId,
  readEach,
  someGroup,
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
      const log = logProspectActivities({ ...tested, clock: stoppedClock(), newId })
      const activities = activitiesOf((await addTenant(tested.store)).tenantId)
      t.equal((await sentBy(tested, () => log(activities.slice(0, 1)))).length, 2)
      t.equal((await sentBy(tested, () => log(activities))).length, 2)
      const [prospect] = (await tested.kept()).prospects
      const own = {
        email: undefined,
        externalId: undefined,
        idempotencyKey: undefined,
        prospectId: prospect?.prospectId,
      }
      const byId = activities.map((activity) => ({ ...activity, ...own }))
      t.equal((await sentBy(tested, () => log(byId))).length, 2)
      t.equal((await sentBy(tested, () => log(activities))).length, 1, 'replays are only looked up')
    })

    t.test('activities of remembered prospects cost one statement', async (t) => {
      const tested = await opened(t, kind)
      const remembered = rememberProspects(1_000)
      const logAll = logProspectActivities({ ...tested, clock: stoppedClock(), newId, remembered })
      const log = (activities: readonly NewActivity[]) => logAll(activities.map(remembered.locate))
      const activities = activitiesOf((await addTenant(tested.store)).tenantId)
      await log(activities)
      const more = activities.map((activity, i) => ({ ...activity, idempotencyKey: `more ${i}` }))
      t.equal((await sentBy(tested, () => log(more.slice(0, 1)))).length, 1)
      t.equal((await sentBy(tested, () => log(more.slice(1)))).length, 1)
      t.equal((await sentBy(tested, () => log(more))).length, 2, 'replays are turned away, then looked up')
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
      await log(byId)
      t.equal((await sentBy(tested, () => log(byId))).length, 1)
    })

    t.test('one page created costs two statements, and two hundred together the same two', async (t) => {
      const tested = await opened(t, kind)
      const create = createPagesWithVersion({ ...tested, clock: stoppedClock(), newId })
      const group = someGroup(await addTenant(tested.store))
      await tested.store.pageGroups.add(group)
      const pages = Array.from({ length: 200 }, (_, i) => ({ ...group, idempotencyKey: `${i}` }))
      t.equal((await sentBy(tested, () => create(pages.slice(0, 1)))).length, 2)
      t.equal((await sentBy(tested, () => create(pages))).length, 2)
      const plain = pages.map((page) => ({
        ...page,
        idempotencyKey: undefined,
        supplementaryContext: 'Sale',
      }))
      t.equal((await sentBy(tested, () => create(plain))).length, 1)
    })

    t.test(
      'a list of page groups is one statement, whether filtered or not, however many at once',
      async (t) => {
        const tested = await opened(t, kind)
        const { tenantId } = await addTenant(tested.store)
        const list = (...statuses: PageGroupsWant['status'][]) =>
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
      await activities.record(changesOf([prospect]))
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

    t.test('from eight activities on a text is sent the same however long the list', async (t) => {
      const tested = await opened(t, kind)
      const log = logProspectActivities({ ...tested, clock: stoppedClock(), newId })
      const activities = activitiesOf((await addTenant(tested.store)).tenantId)
      const sent = await sentBy(tested, async () => {
        for (const length of [8, 9, 60]) await log(activities.splice(0, length))
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
