import type { Store } from 'prospect-pages/store'
import { equal, same } from './assertions.ts'
import { section } from './contract.ts'
import { addTenant, at, someGroup, someKey, somePage } from './rows.ts'

/** A signal that never comes fails the test after this; nothing else waits for it. */
const LOST_MS = 15_000

export const signals = section(
  'signals',
  async ({ store }) => {
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    return { group }
  },
  {
    'each of several listeners gets every signal': async ({ store, group }) => {
      const watchers = [watching(store), watching(store), watching(store)]
      const emitted = watchers.flatMap(({ next }) => [next('versions'), next('keys')])
      await store.pages.record(somePage(group))
      await endSomeKey(store, group.tenantId)
      await Promise.all(emitted)
    },

    'a listener that was removed gets no more signals': async ({ store, group }) => {
      const one = watching(store)
      const other = watching(store)
      one.remove()
      const before = one.count('versions')
      const emitted = other.next('versions')
      await store.pages.record(somePage(group))
      await emitted
      equal(one.count('versions'), before)
    },

    'a listener that throws is reported, and harms neither the write nor other listeners': async (scene) => {
      const { store, group } = scene
      const { error } = console
      const reports: unknown[] = []
      console.error = (report) => reports.push(report)
      try {
        store.watch(() => {
          throw new Error('a listener threw')
        })
        store.watch(async () => {
          throw new Error('a listener rejected')
        })
        const { next } = watching(store)
        const emitted = [next('versions'), next('keys')]
        equal(await store.pages.record(somePage(group)), 'recorded')
        await endSomeKey(store, group.tenantId)
        await Promise.all(emitted)
      } finally {
        console.error = error
      }
      equal((await store.pageGroups.find(group))?.pagesCount, 1, 'it is stored once')
      const messages = new Set(reports.map((report) => (report as Error).message))
      same([...messages].sort(), ['a listener rejected', 'a listener threw'])
    },
  },
)

/** Issues a key and gives it an end. */
export const endSomeKey = async ({ apiKeys }: Store, tenantId: string): Promise<void> => {
  const key = someKey(tenantId)
  await apiKeys.add(key)
  await apiKeys.end(key.apiKeyId, { lastRotatedAt: null, rotatedAt: at(1), expiresAt: at(1) })
}

/** Watches a store, counts its signals, and waits for them. */
export const watching = (store: Store) => {
  const counts = { keys: 0, versions: 0, prospects: 0, events: 0, numbered: 0, deliveries: 0 }
  type Kind = keyof typeof counts
  const waiting = new Set<{ readonly signal: Kind; readonly resolve: () => void }>()
  const remove = store.watch((emitted) => {
    const signal = emitted.split(' ')[0] as Kind
    counts[signal]++
    for (const one of waiting)
      if (one.signal === signal) {
        waiting.delete(one)
        one.resolve()
      }
  })
  const next = (signal: Kind): Promise<void> => {
    const emitted = new Promise<void>((resolve, reject) => {
      const lost = setTimeout(() => reject(new Error(`no signal of ${signal}`)), LOST_MS)
      waiting.add({
        signal,
        resolve: () => {
          clearTimeout(lost)
          resolve()
        },
      })
    })
    // No test waits for it if the test has failed before.
    emitted.catch(() => {})
    return emitted
  }
  return { next, remove, count: (signal: Kind) => counts[signal] }
}
