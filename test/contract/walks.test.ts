import type { Test } from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { createPageGroup } from '../../src/core/create-page-group.ts'
import type { NewPageRow } from '../../src/core/ports/pages.ts'
import type { IdPrefix } from '../../src/core/ports/world.ts'
import { updatePageGroup } from '../../src/core/update-page-group.ts'
import type { PageGroupStatus } from '../../src/shapes/page-group.ts'
import { randomBy } from '../support/random.ts'
import { addTenant, someGroup, somePage } from '../support/rows.ts'
import { START_MS } from '../support/setting.ts'
import { EVERY_STORE, overStores, type StoreKind } from '../support/stores.ts'
import { twoProcesses } from '../support/two-processes.ts'
import { walk, walkFaults } from '../support/walks.ts'

const SEED = 20_260_101
const WALK_LIMITS = [3, 7, 20, 100]

/** Two processes on one database, a tenant, and walks through the use cases of either. */
const setting = async (t: Test, kind: StoreKind) => {
  const { turnOf, store } = await twoProcesses(t, kind)
  const tenant = await addTenant(store)
  const group = someGroup(tenant)
  await store.pageGroups.add(group)
  return {
    store,
    tenant,
    group,
    turnOf,
    newGroup: (i: number) => createPageGroup(turnOf(i))({ ...tenant, name: 'offers', title: 'Offers' }),
    walkPages: (i: number, limit: number) =>
      walk(
        (cursor) => turnOf(i).listPages({ ...group, cursor, limit }),
        ({ pageId }) => pageId,
      ),
    walkGroups: (i: number, limit: number, status?: PageGroupStatus) =>
      walk(
        (cursor) => turnOf(i).listPageGroups({ ...tenant, cursor, limit, status }),
        ({ pageGroupId }) => pageGroupId,
      ),
  }
}

/** Ids of one millisecond, in order of age. */
const idsOfOneMoment = (prefix: IdPrefix, count: number): string[] => {
  const { now } = Date
  Date.now = () => START_MS
  try {
    const newId = createNewId()
    return Array.from({ length: count }, () => newId(prefix))
  } finally {
    Date.now = now
  }
}

/** Writes again and again, a bounded number of times, until all walks have come to their end. */
const whileWriting = async (
  writers: number,
  write: (writer: number, time: number) => Promise<unknown>,
  walks: () => Promise<unknown>,
): Promise<void> => {
  let walking = true
  const writing = Array.from({ length: writers }, async (_, writer) => {
    for (let time = 0; walking && time < 2_000; time++) await write(writer, time)
  })
  await walks().finally(() => {
    walking = false
  })
  await Promise.all(writing)
}

overStores(async (t, kind) => {
  t.test('a walk over pages while others add some: none twice, none skipped', async (t) => {
    const { group, turnOf, walkPages } = await setting(t, kind)
    const there: string[] = []
    const addPage = async (i: number) => {
      there.push((await turnOf(i).createPageWithVersion({ ...group })).page.pageId)
    }
    await Promise.all(Array.from({ length: 300 }, (_, i) => addPage(i)))
    const before = there.length
    await whileWriting(4, addPage, () =>
      Promise.all(
        WALK_LIMITS.map(async (limit, i) => {
          const throughout = [...there]
          t.strictSame(walkFaults(await walkPages(i, limit), throughout), [], `${limit} at a time`)
        }),
      ),
    )
    t.ok(there.length > before, 'others did add some')
    t.strictSame(walkFaults(await walkPages(0, 100), there), [], 'and nothing of theirs is lost')
  })

  t.test('a walk over page groups while others add, archive, delete and restore some', async (t) => {
    const { newGroup, turnOf, walkGroups } = await setting(t, kind)
    const chance = randomBy(SEED)
    const stay: string[] = []
    const come: string[] = []
    for (let i = 0; i < 120; i++) (i % 2 === 0 ? stay : come).push((await newGroup(i)).pageGroupId)
    const disturb = async (writer: number) => {
      if (chance.onceIn(4)) {
        await newGroup(writer)
        return
      }
      const status = chance.oneOf(['active', 'archived', 'deleted'] as const)
      await updatePageGroup(turnOf(writer))(chance.oneOf(come), { status })
    }
    await whileWriting(3, disturb, () =>
      Promise.all(
        WALK_LIMITS.flatMap((limit, i) => [
          walkGroups(i, limit).then((ids) => t.strictSame(walkFaults(ids, stay), [], `${limit} at a time`)),
          walkGroups(i, limit, 'active').then((ids) =>
            t.strictSame(walkFaults(ids, stay), [], `of the active ones, ${limit} at a time`),
          ),
        ]),
      ),
    )
    for (const pageGroupId of come) await updatePageGroup(turnOf(0))(pageGroupId, { status: 'deleted' })
    const left = new Set(await walkGroups(0, 7))
    t.notOk(
      come.some((id) => left.has(id)),
      'what is deleted is in no walk',
    )
  })

  t.test('thousands of pages of one millisecond are walked over once each, newest first', async (t) => {
    const { group, store, walkPages } = await setting(t, kind)
    const ids = idsOfOneMoment('page', 3_000)
    const rows = shuffled(ids).map((pageId) => somePage(group, { pageId }))
    for (const list of inLists(rows)) await store.pages.record(list)
    for (const limit of [7, 100]) t.strictSame(await walkPages(limit, limit), ids.toReversed())
  })

  t.test('a walk over pages of one millisecond while as many are added between them', async (t) => {
    const { group, store, walkPages } = await setting(t, kind)
    const ids = idsOfOneMoment('page', 2_000)
    const rowOf = (pageId: string) => somePage(group, { pageId })
    const there = ids.filter((_, i) => i % 2 === 0)
    for (const list of inLists(there.map(rowOf))) await store.pages.record(list)
    const waiting = shuffled(ids.filter((_, i) => i % 2 === 1)).map(rowOf)
    const addSome = async () => {
      const some = waiting.splice(0, 5)
      if (some.length > 0) await store.pages.record(some)
    }
    await whileWriting(2, addSome, () =>
      Promise.all(
        WALK_LIMITS.map(async (limit, i) =>
          t.strictSame(walkFaults(await walkPages(i, limit), there), [], `${limit} at a time`),
        ),
      ),
    )
    while (waiting.length > 0) await addSome()
    t.strictSame(await walkPages(0, 100), ids.toReversed())
  })

  t.test('hundreds of page groups of one millisecond are walked over once each', async (t) => {
    const { tenant, store, group, walkGroups } = await setting(t, kind)
    const ids = idsOfOneMoment('pagegroup', 400)
    for (const pageGroupId of shuffled(ids)) await store.pageGroups.add(someGroup(tenant, { pageGroupId }))
    const all = [...ids, group.pageGroupId].sort().reverse()
    for (const limit of [7, 100]) t.strictSame(await walkGroups(limit, limit), all)
  })
}, EVERY_STORE)

const shuffled = <Item>(items: readonly Item[]): Item[] => {
  const chance = randomBy(SEED)
  const left = [...items]
  return items.map(() => left.splice(chance.below(left.length), 1)[0] as Item)
}

const inLists = (rows: readonly NewPageRow[]): NewPageRow[][] =>
  Array.from({ length: Math.ceil(rows.length / 200) }, (_, i) => rows.slice(i * 200, (i + 1) * 200))
