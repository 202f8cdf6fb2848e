import type { NewPageRow, StoredPageGroup } from 'prospect-pages/store'
import { ok, same } from './assertions.ts'
import { type Subject, section } from './contract.ts'
import { twoProcesses } from './processes.ts'
import { randomBy } from './random.ts'
import { addTenant, newId, recordPages, someGroup, somePage } from './rows.ts'
import { walk, walkFaults } from './walk.ts'

const SEED = 20_260_101
const WALK_LIMITS = [3, 7, 20, 100]

/** Two processes on the same data, a tenant, and walks through the operations of either. */
const settingOf = async (subject: Subject) => {
  const { core, store } = subject
  const { turnOf } = await twoProcesses(subject)
  const tenant = await addTenant(store)
  const group = someGroup(tenant)
  await store.pageGroups.add(group)
  const { tenantId, pageGroupId } = group
  return {
    tenant,
    group,
    parent: { tenantId, pageGroupId },
    turnOf,
    newGroup: async (i: number) =>
      (await core.createPageGroup(turnOf(i))({ ...tenant, name: 'offers', title: 'Offers' })).value,
    become: (i: number, pageGroupId: string, status: StoredPageGroup['status']) =>
      core
        .updatePageGroup(turnOf(i))({ ...tenant, pageGroupId, status })
        // Another writer may have deleted it.
        .catch((why) => why.kind === 'page_group_not_found' || Promise.reject(why)),
    walkPages: (i: number, limit: number) =>
      walk(
        async (cursor) => (await turnOf(i).listPages({ ...group, cursor, limit })).value,
        ({ pageId }) => pageId,
      ),
    walkGroups: (i: number, limit: number, status?: 'active') =>
      walk(
        async (cursor) => (await turnOf(i).listPageGroups({ ...tenant, cursor, limit, status })).value,
        ({ pageGroupId }) => pageGroupId,
      ),
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

export const walks = section('walks', settingOf, {
  'a walk over pages while others are added shows none twice and skips none': async (given) => {
    const { parent, turnOf, walkPages } = given
    const there: string[] = []
    const addPage = async (i: number) => {
      there.push((await turnOf(i).createPageWithVersion(parent)).value.pageId)
    }
    await Promise.all(Array.from({ length: 300 }, (_, i) => addPage(i)))
    const before = there.length
    await whileWriting(4, addPage, () =>
      Promise.all(
        WALK_LIMITS.map(async (limit, i) => {
          const throughout = [...there]
          same([limit, ...walkFaults(await walkPages(i, limit), throughout)], [limit])
        }),
      ),
    )
    ok(there.length > before, 'others did add some')
    same(walkFaults(await walkPages(0, 100), there), [])
  },

  'a walk over page groups while others are added, archived and deleted shows none twice and skips none':
    async ({ become, newGroup, walkGroups }) => {
      const chance = randomBy(SEED)
      const stay: string[] = []
      const come: string[] = []
      for (let i = 0; i < 120; i++) (i % 2 === 0 ? stay : come).push((await newGroup(i)).pageGroupId)
      const disturb = async (writer: number) => {
        if (chance.onceIn(4)) {
          await newGroup(writer)
          return
        }
        const status = chance.oneOf(['active', 'archived', 'active', 'archived', 'deleted'] as const)
        await become(writer, chance.oneOf(come), status)
      }
      await whileWriting(3, disturb, () =>
        Promise.all(
          WALK_LIMITS.flatMap((limit, i) => [
            walkGroups(i, limit).then((ids) => same([limit, ...walkFaults(ids, stay)], [limit])),
            walkGroups(i, limit, 'active').then((ids) => same([limit, ...walkFaults(ids, stay)], [limit])),
          ]),
        ),
      )
      for (const pageGroupId of come) await become(0, pageGroupId, 'deleted')
      const left = new Set(await walkGroups(0, 7))
      ok(!come.some((id) => left.has(id)), 'what is deleted is in no walk')
    },

  'a walk over thousands of pages of one millisecond shows each once, newest first': async (given) => {
    const { group, store, walkPages } = given
    const ids = Array.from({ length: 3_000 }, () => newId('page'))
    const rows = shuffled(ids).map((pageId) => somePage(group, { pageId }))
    for (const list of inLists(rows)) await recordPages(store.pages, list)
    for (const limit of [7, 100]) sameWalk(await walkPages(limit, limit), ids)
  },

  'a walk over pages of one millisecond while as many are added between them shows none twice and skips none':
    async ({ group, store, walkPages }) => {
      const ids = Array.from({ length: 2_000 }, () => newId('page'))
      const rowOf = (pageId: string) => somePage(group, { pageId })
      const there = ids.filter((_, i) => i % 2 === 0)
      for (const list of inLists(there.map(rowOf))) await recordPages(store.pages, list)
      const waiting = shuffled(ids.filter((_, i) => i % 2 === 1)).map(rowOf)
      const addSome = async () => {
        const some = waiting.splice(0, 5)
        await recordPages(store.pages, some)
      }
      await whileWriting(2, addSome, () =>
        Promise.all(
          WALK_LIMITS.map(async (limit, i) =>
            same([limit, ...walkFaults(await walkPages(i, limit), there)], [limit]),
          ),
        ),
      )
      while (waiting.length > 0) await addSome()
      sameWalk(await walkPages(0, 100), ids)
    },

  'a walk over hundreds of page groups of one millisecond shows each once': async (given) => {
    const { tenant, store, group, walkGroups } = given
    const ids = Array.from({ length: 400 }, () => newId('pagegroup'))
    for (const pageGroupId of shuffled(ids)) await store.pageGroups.add(someGroup(tenant, { pageGroupId }))
    const all = [...ids, group.pageGroupId]
    for (const limit of [7, 100]) sameWalk(await walkGroups(limit, limit), all)
  },
})

/** Newest first, each once, and no others. */
const sameWalk = (walked: readonly string[], ids: readonly string[]): void =>
  same([walked.length, ...walkFaults(walked, ids)], [ids.length])

const shuffled = <Item>(items: readonly Item[]): Item[] => {
  const chance = randomBy(SEED)
  const left = [...items]
  return items.map(() => left.splice(chance.below(left.length), 1)[0] as Item)
}

const inLists = (rows: readonly NewPageRow[]): NewPageRow[][] =>
  Array.from({ length: Math.ceil(rows.length / 200) }, (_, i) => rows.slice(i * 200, (i + 1) * 200))
