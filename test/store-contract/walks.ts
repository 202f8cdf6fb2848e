import type { NewPageRow, StoredPageGroup } from 'prospect-pages/store'
import { ok, same } from './assertions.ts'
import { type Subject, section } from './contract.ts'
import { twoProcesses } from './processes.ts'
import { randomBy, shuffled } from './random.ts'
import { addTenant, newId, recordPages, someGroup, somePage } from './rows.ts'
import { walk, walkFaults } from './walk.ts'

const SEED = 20_260_101
const WALK_LIMITS = [3, 7, 20, 100]
const ROUNDS_MAX = 2_000
const BATCH = 200

/** Two processes on the same data, a tenant, and walks through the operations of either. */
const settingOf = async (subject: Subject) => {
  const { core, store } = subject
  const { processAt } = await twoProcesses(subject)
  const tenant = await addTenant(store)
  const group = someGroup(tenant)
  await store.pageGroups.add(group)
  const { tenantId, pageGroupId } = group
  return {
    tenant,
    group,
    addPage: async (turn: number) => {
      const page = await processAt(turn).createPageWithVersion({ tenantId, pageGroupId })
      return page.value.pageId
    },
    addGroup: async (turn: number) => {
      const added = await core.createPageGroup(processAt(turn))({
        ...tenant,
        name: 'offers',
        title: 'Offers',
      })
      return added.value.pageGroupId
    },
    changeStatus: async (turn: number, pageGroupId: string, status: StoredPageGroup['status']) => {
      try {
        await core.updatePageGroup(processAt(turn))({ ...tenant, pageGroupId, status })
      } catch (error) {
        // Another writer may have deleted the group.
        if ((error as { kind?: string }).kind !== 'page_group_not_found') throw error
      }
    },
    walkPages: (turn: number, limit: number) =>
      walk(
        async (cursor) => (await processAt(turn).listPages({ ...group, cursor, limit })).value,
        ({ pageId }) => pageId,
      ),
    walkGroups: (turn: number, limit: number, status?: 'active') =>
      walk(
        async (cursor) => (await processAt(turn).listPageGroups({ ...tenant, cursor, limit, status })).value,
        ({ pageGroupId }) => pageGroupId,
      ),
  }
}

/** Writes until all walks have ended, in a bounded number of rounds. */
const whileWriting = async (
  writers: number,
  write: (writer: number) => Promise<unknown>,
  walks: () => Promise<unknown>,
): Promise<void> => {
  let walking = true
  const writing = Array.from({ length: writers }, async (_, writer) => {
    for (let round = 0; walking && round < ROUNDS_MAX; round++) await write(writer)
  })
  await walks().finally(() => {
    walking = false
  })
  await Promise.all(writing)
}

export const walks = section('walks', settingOf, {
  'a walk over pages returns each page once while other pages are added': async ({ addPage, walkPages }) => {
    const added: string[] = []
    const addOne = async (turn: number) => {
      added.push(await addPage(turn))
    }
    await Promise.all(Array.from({ length: 300 }, (_, i) => addOne(i)))
    const addedBefore = added.length
    await whileWriting(4, addOne, () =>
      Promise.all(
        WALK_LIMITS.map(async (limit, i) => {
          const throughout = [...added]
          sameWithoutFaults(limit, await walkPages(i, limit), throughout)
        }),
      ),
    )
    ok(added.length > addedBefore, 'pages are added during the walks')
    sameWithoutFaults(100, await walkPages(0, 100), added)
  },

  'a walk over page groups returns each once while others are added, archived and deleted': async (scene) => {
    const { changeStatus, addGroup, walkGroups } = scene
    const chance = randomBy(SEED)
    const kept: string[] = []
    const changing: string[] = []
    for (let i = 0; i < 60; i++) {
      kept.push(await addGroup(i))
      changing.push(await addGroup(i))
    }
    const disturb = async (writer: number) => {
      if (chance.onceIn(4)) {
        await addGroup(writer)
        return
      }
      const status = chance.oneOf(['active', 'archived', 'active', 'archived', 'deleted'] as const)
      await changeStatus(writer, chance.oneOf(changing), status)
    }
    const walkAll = async (limit: number, turn: number) =>
      sameWithoutFaults(limit, await walkGroups(turn, limit), kept)
    const walkActive = async (limit: number, turn: number) =>
      sameWithoutFaults(limit, await walkGroups(turn, limit, 'active'), kept)
    await whileWriting(3, disturb, () =>
      Promise.all([...WALK_LIMITS.map(walkAll), ...WALK_LIMITS.map(walkActive)]),
    )
    for (const pageGroupId of changing) await changeStatus(0, pageGroupId, 'deleted')
    const listed = new Set(await walkGroups(0, 7))
    ok(!changing.some((id) => listed.has(id)), 'deleted groups are not listed')
  },

  'a walk over thousands of pages of one millisecond returns each once, newest first': async (scene) => {
    const { group, store, walkPages } = scene
    const ids = Array.from({ length: 3_000 }, () => newId('page'))
    const rows = shuffled(ids, randomBy(SEED)).map((pageId) => somePage(group, { pageId }))
    for (const batch of inBatches(rows)) await recordPages(store.pages, batch)
    for (const limit of [7, 100]) sameWalk(await walkPages(limit, limit), ids)
  },

  'a walk over pages of one millisecond returns each once while as many are added between them': async (
    scene,
  ) => {
    const { group, store, walkPages } = scene
    const ids = Array.from({ length: 2_000 }, () => newId('page'))
    const rowOf = (pageId: string) => somePage(group, { pageId })
    const added = ids.filter((_, i) => i % 2 === 0)
    for (const batch of inBatches(added.map(rowOf))) await recordPages(store.pages, batch)
    const waiting = shuffled(
      ids.filter((_, i) => i % 2 === 1),
      randomBy(SEED),
    ).map(rowOf)
    const addSome = () => recordPages(store.pages, waiting.splice(0, 5))
    await whileWriting(2, addSome, () =>
      Promise.all(
        WALK_LIMITS.map(async (limit, i) => sameWithoutFaults(limit, await walkPages(i, limit), added)),
      ),
    )
    while (waiting.length > 0) await addSome()
    sameWalk(await walkPages(0, 100), ids)
  },

  'a walk over hundreds of page groups of one millisecond returns each once': async (scene) => {
    const { tenant, store, group, walkGroups } = scene
    const ids = Array.from({ length: 400 }, () => newId('pagegroup'))
    for (const pageGroupId of shuffled(ids, randomBy(SEED)))
      await store.pageGroups.add(someGroup(tenant, { pageGroupId }))
    const all = [...ids, group.pageGroupId]
    for (const limit of [7, 100]) sameWalk(await walkGroups(limit, limit), all)
  },
})

/** Ids newest first, each once, with none of `throughout` skipped. The limit is compared so that a failure shows it. */
const sameWithoutFaults = (limit: number, walked: readonly string[], throughout: readonly string[]): void =>
  same({ limit, faults: walkFaults(walked, throughout) }, { limit, faults: [] })

/** Newest first, each once, and no others. */
const sameWalk = (walked: readonly string[], ids: readonly string[]): void =>
  same({ count: walked.length, faults: walkFaults(walked, ids) }, { count: ids.length, faults: [] })

const inBatches = (rows: readonly NewPageRow[]): NewPageRow[][] => {
  const batches: NewPageRow[][] = []
  for (let i = 0; i < rows.length; i += BATCH) batches.push(rows.slice(i, i + BATCH))
  return batches
}
