import { setTimeout as pause } from 'node:timers/promises'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { createPublisher } from '../../src/entry/publisher.ts'
import { addTenant, someGroup, somePage } from '../support/rows.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'
import type { PublishersFound, Setting } from './results.ts'

const CALLS = 4
const NAMING_MS = 50
const COUNTS = [1, 2, 4]

/** How much several publishers on one database finish of one backlog, with a namer that takes 50 ms, and without one. */
export const measurePublishers = async ({ amount, database, tell }: Setting): Promise<PublishersFound> => {
  const measured = []
  for (const isNamed of [true, false])
    for (const count of COUNTS) {
      tell(`${count} publishers${isNamed ? ', with a namer' : ''}`)
      const { url } = await database.newDatabase()
      measured.push({ count, isNamed, rate: await rateOf(url, count, isNamed, amount.seconds) })
    }
  return { publishers: measured }
}

/** Versions a second, each publisher with a pool of its own. */
const rateOf = async (url: string, count: number, isNamed: boolean, seconds: number): Promise<number> => {
  const stores = Array.from({ length: count }, () =>
    postgresStore({ ...POSTGRES_SETTINGS, url }, readMigrations('postgres')),
  )
  const [store] = stores as [ReturnType<typeof postgresStore>]
  await store.migrate()
  const group = someGroup(await addTenant(store))
  await store.pageGroups.add(group)
  const perSecond = isNamed ? (CALLS * 1_000) / NAMING_MS : 5_000
  const pagesCount = Math.ceil(perSecond * seconds * (isNamed ? count : 1))
  for (let made = 0; made < pagesCount; made += 500)
    await store.pages.record(Array.from({ length: 500 }, () => somePage(group)))
  const namer = async () => {
    await pause(NAMING_MS)
    return 'Name'
  }
  const options = isNamed ? { namer, namerCallsMax: CALLS } : {}
  const publishers = stores.map((store) => createPublisher({ store, ...options }))
  const beganMs = performance.now()
  for (const { start } of publishers) start()
  while ((await store.versions.backlog(100_000)).count > 0) await pause(20)
  const rate = (Math.ceil(pagesCount / 500) * 500_000) / (performance.now() - beganMs)
  for (const { stop } of publishers) await stop()
  for (const { close } of stores) await close()
  return rate
}
