import t, { type Test } from 'tap'
import { transactOver } from '../../../src/adapters/citus/transaction.ts'
import { connect } from '../../../src/adapters/postgres/connect.ts'
import { openPostgres } from '../../../src/adapters/postgres/open.ts'
import { refuse } from '../../../src/core/engine/failures.ts'
import { sharedPostgres, whyNoPostgres } from '../../support/postgres.ts'
import { POSTGRES_SETTINGS } from '../../support/stores.ts'

t.test('on postgres', { skip: whyNoPostgres() ?? false }, async (t) => {
  const server = await sharedPostgres()
  t.teardown(server.stop)

  /** Transactions over a new database, and a connection beside it that sees what they saved. */
  const scene = async (t: Test) => {
    const url = await server.newDatabase()
    const { ask, close } = connect({ ...POSTGRES_SETTINGS, connectionsMax: 4, statementMsMax: 5_000, url })
    t.teardown(close)
    const sql = openPostgres(url, { max: 1, onnotice: () => {} })
    t.teardown(() => sql.end())
    await sql.unsafe('create table saved (id int primary key, pair int)')
    return { transact: transactOver(ask), sql }
  }

  t.test('saves all statements that were sent, awaited or not', async (t) => {
    const { transact, sql } = await scene(t)
    const answer = await transact('tenant', async (send) => {
      const [row] = await send<{ readonly next: number }>`select coalesce(max(id), 0) + 1 as next from saved`
      send`insert into saved (id) values (${row?.next ?? 0})`
      send`insert into saved (id) values (${2})`
      return row?.next
    })
    t.equal(answer, 1)
    t.equal((await sql`select from saved`).count, 2)
  })

  t.test('saves nothing if a statement fails or the decision throws, and goes on afterwards', async (t) => {
    const { transact, sql } = await scene(t)
    const failing = transact('tenant', async (send) => {
      send`insert into saved (id) values (${1})`
      send`insert into saved (id) values (${1})`
    })
    await t.rejects(failing, { code: '23505' })
    const throwing = transact('tenant', async (send) => {
      await send`insert into saved (id) values (${1})`
      refuse('not_found', 'undecided')
    })
    await t.rejects(throwing, { message: 'undecided' })
    t.equal((await sql`select from saved`).count, 0)
    await transact('tenant', async (send) => void send`insert into saved (id) values (${1})`)
    t.equal((await sql`select from saved`).count, 1)
  })

  t.test('nothing is sent once it has ended', async (t) => {
    const { transact, sql } = await scene(t)
    const late = await transact('tenant', async (send) => ({ send }))
    t.throws(() => late.send`insert into saved (id) values (1)`, { message: 'The transaction has ended.' })
    t.equal((await sql`select from saved`).count, 0)
  })

  t.test(
    'a lost connection takes all of it back, and neither ends the process nor the service',
    async (t) => {
      const { transact, sql } = await scene(t)
      let id = 0
      let isOver = false
      const outcomes = { saved: 0, refused: 0 }
      const write = async () => {
        while (!isOver) {
          const pair = ++id
          const saving = transact('tenant', async (send) => {
            await send`insert into saved (id, pair) values (${2 * pair}, ${pair})`
            await send`select pg_sleep(0.001)`
            send`insert into saved (id, pair) values (${2 * pair + 1}, ${pair})`
          })
          const outcome = await saving.then(
            () => 'saved' as const,
            () => 'refused' as const,
          )
          outcomes[outcome]++
        }
      }
      const writers = [write(), write(), write(), write()]
      for (let round = 0; round < 60; round++)
        await sql`select pg_sleep(0.005), pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`
      isOver = true
      await Promise.all(writers)
      t.ok(outcomes.refused > 0 && outcomes.saved > 0, 'some are refused, others are saved')
      const [halves] = await sql`select count(*)::int as count from (
      select 1 from saved group by pair having count(*) <> 2) halves`
      t.equal(halves?.['count'], 0, 'each is saved whole or not at all')
      const [saved] = await sql`select count(distinct pair)::int as count from saved`
      t.ok(Number(saved?.['count']) >= outcomes.saved, 'none that was acknowledged is missing')
    },
  )
})
