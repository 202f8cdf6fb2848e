import { NAMES_MAX } from '../../src/core/counts/decide-prospect-counts.ts'
import { randomBy } from '../support/random.ts'
import { overStores, type StoreKind } from '../support/stores.ts'
import { DAY_MS, erase, HOUR_MS, MINUTE_MS, openScene, passTimeCounting } from './counts-scene.ts'

type Query = { readonly of: 'page' | 'source' } & Readonly<Record<string, string>>

/** The scene of all counts, with pages that activities can name, and whose people can be read. */
const openPeopleScene = async (t: Parameters<typeof openScene>[0], kind: StoreKind) => {
  const scene = await openScene(t, kind)
  const { service, tenantId, log } = scene
  const { pageGroupId } = (await service.createPageGroup({ tenantId, name: 'Spring', title: 'Spring' })).value
  const newPage = async () => (await service.createPageWithVersion({ tenantId, pageGroupId })).value.pageId
  /** Logs an activity of a person, on a page unless it is null. */
  const logOn = (pageId: string | null, name: string, fields: object = {}) => {
    const payload = { rawJson: pageId === null ? '{}' : JSON.stringify({ pageId }) }
    return log({ email: `${name}@example.com`, payload, ...fields })
  }
  /** The counts as a caller reads them, as texts: `crm 3 2 1` has three activities of two people, one of them new. */
  const readPeople = async (query: Query) => {
    const { items } = (await service.listProspectLogCounts({ tenantId, ...query })).value
    return items.map(({ pageId, source, count, prospects, newProspects }) =>
      [query.of === 'page' ? pageId : source, count, prospects, newProspects].join(' '),
    )
  }
  return { ...scene, newPage, logOn, readPeople }
}

const isoTime = (ms: number) => new Date(ms).toISOString()
const startOfDay = (ms: number) => ms - (ms % DAY_MS)

overStores(
  async (t, kind) => {
    t.test('people of a page and of a source are counted once, however often they came', async (t) => {
      const { clock, newPage, logOn, newFullCounter, readPeople } = await openPeopleScene(t, kind)
      const tulips = await newPage()
      const roses = await newPage()
      t.strictSame(await readPeople({ of: 'page' }), [])
      await logOn(tulips, 'ada')
      await logOn(tulips, 'ada')
      await logOn(roses, 'ada', { source: 'ads' })
      await logOn(tulips, 'bob')
      await logOn(null, 'eve')
      await logOn('page_00000000000000000000000000', 'eve')
      clock.advance(MINUTE_MS)
      await newFullCounter()()
      // What was seen earlier on this day is known to any process.
      await logOn(tulips, 'ada')
      clock.advance(MINUTE_MS)
      await newFullCounter()()

      t.strictSame(await readPeople({ of: 'page' }), [`${tulips} 4 2 2`, `${roses} 1 1 0`])
      t.strictSame(await readPeople({ of: 'source' }), ['crm 6 3 3', 'ads 1 1 0'])
      t.strictSame(await readPeople({ of: 'source', by: 'day' }), ['crm 6 3 3', 'ads 1 1 0'])
    })

    t.test('the people of every span are exact, while several processes count', async (t) => {
      const scene = await openPeopleScene(t, kind)
      const { store, another, clock, tenantId, newPage, logOn, newFullCounter, readPeople } = scene
      const random = randomBy(11)
      const pages = [await newPage(), await newPage(), null]
      await readPeople({ of: 'page' })
      const counters = [newFullCounter(), newFullCounter(await another())]
      const countInAll = () => Promise.all(counters.map((countAll) => countAll()))
      const visits: { readonly day: number; readonly place: string; readonly who: string }[] = []
      const firstDay = startOfDay(clock())
      for (let day = 0; day < 70; day++) {
        const logging: Promise<unknown>[] = []
        for (let visit = random.below(7); visit > 0; visit--) {
          const who = `p${random.below(random.below(5) === 0 ? 40 : 5)}`
          const page = pages[random.below(3)] ?? null
          const source = `s${random.below(2)}`
          logging.push(logOn(page, who, { source }))
          for (const place of [source, page]) if (place !== null) visits.push({ day, place, who })
        }
        await Promise.all(logging)
        clock.advance(DAY_MS)
        await readPeople({ of: 'page' })
        await countInAll()
        if (random.below(4) === 0)
          await store.prospectCounts.expire({ tenantId, before: 0, max: 1 + random.below(20) })
      }

      /** The places of a span with their activities and people, most people first. */
      const expected = (from: number, to: number, places: readonly (string | null)[]) =>
        places
          .flatMap((place) => {
            const inSpan = visits.filter(
              (visit) => visit.place === place && visit.day >= from && visit.day < to,
            )
            const people = new Set(inSpan.map(({ who }) => who)).size
            return inSpan.length === 0 ? [] : [`${place} ${inSpan.length} ${people}`]
          })
          .toSorted()
      for (let round = 0; round < 60; round++) {
        const days = 1 + random.below(31)
        const from = random.below(70 - days)
        const since = isoTime(firstDay + from * DAY_MS)
        const until = isoTime(firstDay + (from + days) * DAY_MS)
        for (const [of, places] of [['page', pages] as const, ['source', ['s0', 's1']] as const]) {
          const found = await readPeople({ of, since, until })
          const withoutNew = found.map((row) => row.split(' ').slice(0, 3).join(' ')).toSorted()
          t.strictSame(withoutNew, expected(from, from + days, places), `${of}: ${days} days`)
        }
      }
    })

    t.test('someone who comes back counts once in a span, and on each day', async (t) => {
      const { clock, logOn, newFullCounter, readPeople } = await openPeopleScene(t, kind)
      await readPeople({ of: 'source' })
      for (let day = 0; day < 3; day++) {
        await logOn(null, 'ada')
        clock.advance(DAY_MS)
        await newFullCounter()()
      }
      t.strictSame(await readPeople({ of: 'source' }), ['crm 3 1 1'])
      t.strictSame(await readPeople({ of: 'source', by: 'day' }), ['crm 1 1 1', 'crm 1 1 0', 'crm 1 1 0'])
      const since = isoTime(clock() - 2 * DAY_MS)
      t.strictSame(await readPeople({ of: 'source', since }), ['crm 2 1 0'])
    })

    t.test('a clock that is set back loses and doubles no one', async (t) => {
      const { clock, logOn, newFullCounter, readPeople } = await openPeopleScene(t, kind)
      const countAll = newFullCounter()
      await readPeople({ of: 'source' })
      await logOn(null, 'ada')
      clock.advance(DAY_MS)
      await logOn(null, 'ada')
      await logOn(null, 'bob')
      await passTimeCounting(clock, countAll, 10 * MINUTE_MS)
      t.strictSame(await readPeople({ of: 'source' }), ['crm 3 2 2'])
      clock.advance(-10 * MINUTE_MS)
      await logOn(null, 'bob')
      await countAll()
      await passTimeCounting(clock, countAll, 2 * MINUTE_MS)
      t.strictSame(await readPeople({ of: 'source' }), ['crm 4 2 2'])
    })

    t.test('someone who is erased stays counted, and leaves no trace', async (t) => {
      const scene = await openPeopleScene(t, kind)
      const { store, clock, tenantId, logOn, newFullCounter, readPeople } = scene
      await readPeople({ of: 'source' })
      const { prospectId } = (await logOn(null, 'ada')).value
      await logOn(null, 'bob')
      clock.advance(MINUTE_MS)
      await newFullCounter()()
      await erase(scene, 'ada@example.com')
      t.strictSame(await readPeople({ of: 'source' }), ['crm 2 2 2'])
      t.equal(await store.prospectCounts.removeOf({ tenantId, prospectId }, 9), 0, 'no day is left')
    })

    t.test('two people who are merged later stay two, and are one from then on', async (t) => {
      const { clock, service, tenantId, logOn, newFullCounter, readPeople } = await openPeopleScene(t, kind)
      await readPeople({ of: 'source' })
      const ada = (await logOn(null, 'ada')).value
      const into = (await logOn(null, 'lovelace')).value.prospectId
      clock.advance(HOUR_MS)
      await newFullCounter()()
      await service.mergeProspect({ tenantId, prospectId: ada.prospectId, into })
      await logOn(null, 'ada')
      clock.advance(HOUR_MS)
      await newFullCounter()()
      t.strictSame(await readPeople({ of: 'source' }), ['crm 3 2 2'])
    })

    t.test('the first 1,000 sources of a day have counts of their own, the others share one', async (t) => {
      const { clock, service, tenantId, log, newFullCounter, readPeople } = await openPeopleScene(t, kind)
      await readPeople({ of: 'source' })
      const logSources = async (first: number, count: number) => {
        const numbers = Array.from({ length: count }, (_, i) => first + i)
        const payload = { rawJson: '{}' }
        await service.logProspectActivities(
          numbers.map((number) => ({ tenantId, source: `s${number}`, payload })),
        )
        clock.advance(2 * MINUTE_MS)
        await newFullCounter()()
      }
      await logSources(0, NAMES_MAX)
      await logSources(5, NAMES_MAX)
      const { items } = (await service.listProspectLogCounts({ tenantId, of: 'source' })).value
      t.equal(items.length, NAMES_MAX + 1)
      t.match(items[0], { source: String, type: null, count: 2, prospects: 2, newProspects: 2 })
      t.match(items.at(-1), { source: null, type: null, count: 5, prospects: null, newProspects: 5 })
      t.notOk('pageId' in (items[0] ?? {}))

      clock.advance(DAY_MS)
      await log({ source: 'tomorrow' })
      clock.advance(2 * MINUTE_MS)
      await newFullCounter()()
      const since = isoTime(clock())
      t.strictSame(
        await readPeople({ of: 'source', since }),
        ['tomorrow 1 1 1'],
        'each day has its own thousand',
      )
    })
  },
  ['memory', 'sqlite', 'postgres', 'instance', 'tenant-routed', 'citus'],
)
