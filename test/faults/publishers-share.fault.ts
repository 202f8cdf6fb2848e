import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { createPublisher } from '../../src/entry/publisher.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { addTenant, someGroup, somePage } from '../support/rows.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'

/** So long that the rate is that of the naming, on a loaded machine too. */
const NAMING_MS = 200
const CALLS = 4
/** Of each publisher. */
const PAGES = 16 * CALLS

t.test(
  'four publishers with a backlog finish 3.4 times as much as one',
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const postgres = await startPostgres()
    t.teardown(postgres.stop)

    /** Pages a second of so many publishers, each with a pool of its own, on a backlog of one tenant. */
    const rateOf = async (publishersCount: number): Promise<number> => {
      const url = await postgres.newDatabase()
      const stores = Array.from({ length: publishersCount }, () =>
        postgresStore({ ...POSTGRES_SETTINGS, url }, readMigrations('postgres')),
      )
      const [store] = stores as [ReturnType<typeof postgresStore>]
      await store.migrate()
      const group = someGroup(await addTenant(store))
      await store.pageGroups.add(group)
      const pagesCount = publishersCount * PAGES
      await store.pages.record(Array.from({ length: pagesCount }, () => somePage(group)))
      const { promise: done, resolve } = Promise.withResolvers<void>()
      let named = 0
      const namer = async () => {
        await pause(NAMING_MS)
        if (++named === pagesCount) resolve()
        return 'Name'
      }
      const publishers = stores.map((store) => createPublisher({ store, namer, namerCallsMax: CALLS }))
      const beganMs = performance.now()
      for (const { start } of publishers) start()
      await done
      const rate = (pagesCount / (performance.now() - beganMs)) * 1_000
      for (const { stop } of publishers) await stop()
      for (const { close } of stores) await close()
      return rate
    }

    const one = await rateOf(1)
    const four = await rateOf(4)
    const figures = `one: ${one.toFixed(0)} pages/s, four: ${four.toFixed(0)} pages/s`
    t.comment(figures)
    t.ok(four >= 3.4 * one, figures)
  },
)
