import { setTimeout as pause } from 'node:timers/promises'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { createPublisher } from '../../src/entry/publisher.ts'
import { addTenant, readEach, someGroup, somePage } from '../support/rows.ts'
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
  tell('how late what is scheduled is published')
  return { publishers: measured, lateMs: await latenessOn((await database.newDatabase()).url) }
}

const SCHEDULED = 40
const APART_MS = 50

/** How late an idle publisher publishes versions at their times. */
const latenessOn = async (url: string) => {
  const store = postgresStore({ ...POSTGRES_SETTINGS, url }, readMigrations('postgres'))
  await store.migrate()
  const group = someGroup(await addTenant(store))
  await store.pageGroups.add(group)
  const firstMs = Date.now() + 3_000
  const createdAt = new Date().toISOString()
  const pages = Array.from({ length: SCHEDULED }, (_, i) =>
    somePage(group, { createdAt, publishAt: new Date(firstMs + i * APART_MS).toISOString() }),
  )
  await Promise.all(pages.map((page) => store.pages.record(page)))
  const publisher = createPublisher({ store })
  publisher.start()
  const publishedAt = async () =>
    (await readEach(store.versions.find, pages)).map((found) => found?.publishedAt ?? null)
  while ((await publishedAt()).includes(null)) await pause(500)
  const times = await publishedAt()
  await publisher.stop()
  await store.close()
  const late = pages.map(({ publishAt }, i) => Date.parse(String(times[i])) - Date.parse(String(publishAt)))
  const [half, most] = [0.5, 0.99].map(
    (part) => late.sort((a, b) => a - b)[Math.floor(part * SCHEDULED)] ?? 0,
  )
  return { half: half ?? 0, most: most ?? 0 }
}

/** Versions a second, each publisher with a separate pool. */
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
    await Promise.all(Array.from({ length: 500 }, () => store.pages.record(somePage(group))))
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
