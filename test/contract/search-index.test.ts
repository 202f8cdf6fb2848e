import type { Test } from 'tap'
import { timeOfId } from '../../src/core/engine/id-times.ts'
import type { NewId } from '../../src/core/ports/world.ts'
import { indexProspects } from '../../src/core/prospects/index-prospects.ts'
import { SEARCHED_MAX } from '../../src/core/prospects/search-keys.ts'
import { createService } from '../../src/entry/index.ts'
import { changeOf, idAt, someProspect } from '../store-contract/rows.ts'
import { START_MS, stoppedClock } from '../support/setting.ts'
import { opened, overStores, type StoreKind } from '../support/stores.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const NEVER = new AbortController().signal

/** A service with one tenant, whose people are indexed when a test says so. */
const openScene = async (t: Test, kind: StoreKind) => {
  const { store } = await opened(t, kind)
  const clock = stoppedClock()
  let idsMade = 0
  const idOf = (prefix: Parameters<NewId>[0], ms: number) =>
    idAt(prefix, ms, String(++idsMade).padStart(16, '0'))
  const newId: NewId = (prefix, after) =>
    idOf(prefix, after !== undefined && timeOfId(after) >= clock() ? timeOfId(after) + 1 : clock())
  const service = createService({ store, clock, newId, background: 'elsewhere' })
  t.teardown(service.close)
  const { tenantId } = await service.createTenant({ name: 'One' })
  const step = indexProspects({ store, clock, onError: (error) => t.fail(String(error)) })

  const addPerson = async (fields: object, ms = clock()) => {
    const prospect = someProspect(tenantId, { prospectId: idOf('prospect', ms), ...fields })
    await store.activities.record(changeOf(prospect))
    return prospect
  }
  return {
    clock,
    store,
    service,
    tenantId,
    addPerson,
    /** So many newer people that others are found by the index alone. */
    addCrowd: () =>
      Promise.all(Array.from({ length: SEARCHED_MAX }, () => addPerson({ name: 'Other' }, clock() + 1))),
    indexAll: async () => {
      while (await step(NEVER));
    },
    namesOf: async (search: string) => {
      const { value } = await service.listProspects({ tenantId, search })
      return value.items.map(({ name }) => name)
    },
  }
}

overStores(
  async (t, kind) => {
    t.test('people are found by the index once their tenant was searched', async (t) => {
      const { clock, addPerson, addCrowd, indexAll, namesOf } = await openScene(t, kind)
      await addPerson({ name: 'Ada Lovelace' })
      await addCrowd()
      clock.advance(MINUTE_MS)
      await indexAll()
      t.strictSame(await namesOf('love'), [], 'nothing is indexed before the first search')
      await indexAll()
      t.strictSame(await namesOf('love'), ['Ada Lovelace'])
      await addPerson({ name: 'Grace Lovett' })
      t.strictSame(await namesOf('love'), ['Grace Lovett', 'Ada Lovelace'], 'the newest are found at once')
    })

    t.test('a person who was committed late is found a quarter of an hour later', async (t) => {
      const { clock, addPerson, addCrowd, indexAll, namesOf } = await openScene(t, kind)
      await namesOf('any')
      clock.advance(MINUTE_MS)
      await addCrowd()
      await indexAll()
      await addPerson({ name: 'Ada Lovelace' }, START_MS)
      await indexAll()
      t.strictSame(await namesOf('love'), [])
      clock.advance(15 * MINUTE_MS)
      await indexAll()
      t.strictSame(await namesOf('love'), ['Ada Lovelace'])
    })

    t.test('people are found whose ids come from a clock that was set back', async (t) => {
      const { clock, addPerson, addCrowd, indexAll, namesOf } = await openScene(t, kind)
      await namesOf('any')
      clock.advance(60 * MINUTE_MS)
      await addCrowd()
      await indexAll()
      clock.advance(-30 * MINUTE_MS)
      await addPerson({ name: 'Ada Lovelace' })
      await indexAll()
      t.strictSame(await namesOf('love'), ['Ada Lovelace'])
    })

    t.test('a tenant that was not searched for a month is not indexed until its next search', async (t) => {
      const { clock, store, tenantId, addPerson, indexAll, namesOf } = await openScene(t, kind)
      await namesOf('any')
      clock.advance(32 * DAY_MS)
      const { prospectId } = await addPerson({ name: 'Ada Lovelace' })
      await indexAll()
      t.match(await store.searchIndex.find(tenantId), { position: '' })
      await namesOf('any')
      await indexAll()
      t.match(await store.searchIndex.find(tenantId), { position: prospectId })
    })
  },
  ['sqlite', 'postgres'],
)
