import t from 'tap'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { createPublisher } from '../../src/entry/publisher.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { addTenant, someGroup, somePage } from '../support/rows.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'

const PUBLISHERS = 4
const CALLS = 4
/** So often are all calls of all publishers waited for before any of them is answered. */
const ROUNDS = 8
/** Two times what the rounds take, so that no publisher runs dry before the last of them. */
const PAGES = 2 * ROUNDS * PUBLISHERS * CALLS

t.test(
  'four publishers with a backlog of one tenant name four times as many pages at once as one does',
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const postgres = await startPostgres()
    t.teardown(postgres.stop)
    const url = await postgres.newDatabase()
    const stores = Array.from({ length: PUBLISHERS }, () =>
      postgresStore({ ...POSTGRES_SETTINGS, url }, readMigrations('postgres')),
    )
    const [store] = stores as [ReturnType<typeof postgresStore>]
    await store.migrate()
    const group = someGroup(await addTenant(store))
    await store.pageGroups.add(group)
    await Promise.all(Array.from({ length: PAGES }, () => store.pages.record(somePage(group))))

    const { promise: done, resolve } = Promise.withResolvers<void>()
    let rounds = 0
    let named = 0
    /** The calls of each publisher that wait for the end of the round. */
    const waiting = Array.from({ length: PUBLISHERS }, (): (() => void)[] => [])
    const answerAll = () => {
      for (const calls of waiting) for (const answer of calls.splice(0)) answer()
    }
    const namerOf = (calls: (() => void)[]) => async () => {
      if (rounds < ROUNDS)
        await new Promise<void>((answer) => {
          calls.push(answer)
          if (waiting.some(({ length }) => length < CALLS)) return
          rounds++
          answerAll()
        })
      if (++named === PAGES) resolve()
      return 'Name'
    }
    const publishers = stores.map((store, i) =>
      createPublisher({ store, namer: namerOf(waiting[i] ?? []), namerCallsMax: CALLS }),
    )
    const tooLate = setTimeout(() => {
      t.fail(`round ${rounds + 1}: ${waiting.map(({ length }) => length).join(', ')} pages are being named`)
      rounds = ROUNDS
      answerAll()
    }, 60_000)
    for (const { start } of publishers) start()
    await done
    clearTimeout(tooLate)
    t.equal(named, PAGES)
    for (const { stop } of publishers) await stop()
    for (const { close } of stores) await close()
  },
)
