import t, { type Test } from 'tap'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { readConfig } from '../../src/config/config.ts'
import { diagnose } from '../../src/maintenance/doctor.ts'
import { findAttention } from '../../src/maintenance/findings.ts'
import { refusalOf } from '../core/scene.ts'
import { startPostgres, whyNoStandby } from '../support/postgres.ts'
import { until } from '../support/program.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'

const open = (t: Test, url: string) => {
  const store = postgresStore({ ...POSTGRES_SETTINGS, url }, readMigrations('postgres'))
  t.teardown(store.close)
  return store
}
const run = async (url: string, text: string) => {
  const sql = openPostgres(url, { max: 1 })
  const rows = await sql.unsafe(text)
  await sql.end()
  return rows
}
const reasonOf = async (ready: Promise<void>) => (await refusalOf(ready)).message

t.test(
  'a PostgreSQL that takes no writes is not ready, and ready again by itself',
  { skip: whyNoStandby() ?? false },
  async (t) => {
    const primary = await startPostgres()
    t.teardown(primary.stop)
    const url = await primary.newDatabase()
    const [, name] = /\/(test_\w+)\?/.exec(url) ?? []
    await open(t, url).migrate()
    const standby = await startPostgres({ standbyOf: primary.folder })
    t.teardown(standby.stop)
    const ofStandby = url.replace(encodeURIComponent(primary.folder), encodeURIComponent(standby.folder))
    const both = `postgres://postgres@${[standby, primary].map(({ folder }) => encodeURIComponent(folder)).join()}/${name}`

    t.test('default_transaction_read_only', async (t) => {
      const store = open(t, url)
      await store.ready()
      await run(url, `alter database ${name} set default_transaction_read_only = on`)
      const again = open(t, url)
      t.equal(await reasonOf(again.ready()), 'The database takes no writes: read_only.')
      await run(
        url,
        `set transaction_read_only = off; alter database ${name} reset default_transaction_read_only`,
      )
      await again.ready()
      await again.erasures.saveClock({ servedAt: '2026-01-01T00:00:00.000Z', pausedAt: null })
    })

    t.test(
      'a standby, which status and doctor name; a list finds the server that takes writes',
      async (t) => {
        const store = open(t, ofStandby)
        t.equal(await reasonOf(store.ready()), 'The database takes no writes: standby.')
        t.match(await findAttention(readConfig({ DATABASE_URL: ofStandby }), Date.now()), [
          { kind: 'writes', detail: 'the database takes no writes: standby' },
        ])
        const { ok, checks } = await diagnose({ DATABASE_URL: ofStandby }, false)
        t.notOk(ok)
        t.match(
          checks.find(({ name }) => name === 'writes'),
          {
            state: 'failed',
            detail: /: standby$/,
            remedy: /^point DATABASE_URL at the primary, or at a list/,
          },
        )
        const isStandby = async (list: string) =>
          (await run(list, 'select pg_is_in_recovery() as is_standby'))[0]?.['isStandby']
        t.equal(await isStandby(`${both}?target_session_attrs=any`), true)
        for (const query of ['?target_session_attrs=read-write', '?target_session_attrs=primary', ''])
          t.equal(await isStandby(both + query), false, query)
        await t.rejects(run(`${ofStandby}&target_session_attrs=read-write`, 'select 1'), /takes no writes$/)
      },
    )

    t.test('commits that wait for a synchronous standby which is away', async (t) => {
      const store = postgresStore(
        { ...POSTGRES_SETTINGS, statementMsMax: 1_000, url },
        readMigrations('postgres'),
      )
      t.teardown(store.close)
      await run(url, `alter system set synchronous_standby_names = 'away'`)
      await run(url, 'select pg_reload_conf()')
      const served = { servedAt: '2026-01-01T00:00:00.000Z', pausedAt: null }
      await until('a write is not answered', async () => {
        const failure = await store.erasures.saveClock(served).then(
          () => null,
          (error) => error,
        )
        return failure?.message === 'The database did not answer in time.'
      })
      const away = 'The database takes no writes: no_standby.'
      await until('it is not ready', () =>
        store.ready().then(
          () => false,
          ({ message }) => message === away,
        ),
      )
      t.match(await findAttention(readConfig({ DATABASE_URL: url }), Date.now()), [
        { kind: 'writes', detail: 'the database takes no writes: no_standby' },
      ])

      await run(url, 'alter system reset synchronous_standby_names')
      await run(url, 'select pg_reload_conf()')
      await until('it is ready again', () =>
        store.ready().then(
          () => true,
          () => false,
        ),
      )
      await store.erasures.saveClock(served)
    })

    t.test('after the primary is killed and the standby promoted, the list leads there', async (t) => {
      const store = open(t, both)
      const alone = open(t, ofStandby)
      await store.ready()
      await primary.kill()
      t.match(await refusalOf(store.ready()), { kind: 'unavailable' })
      await run(ofStandby, 'select pg_promote()')
      await store.ready()
      await alone.ready()
      t.strictSame(await findAttention(readConfig({ DATABASE_URL: both }), Date.now()), [])
    })
  },
)
