import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { postgresRows } from '../support/moving.ts'
import { caller, databaseKinds, seed, startServer, until } from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)
const ROUNDS = timesOf(5)
const LOGS = 6_000
const CALLERS = 64
const ADA = 'ada.lovelace@example.com'
const SECRETS = [ADA, 'Ada Lovelace', 'engine of Ada']

for (const kind of databaseKinds())
  t.test(
    `servers on ${kind.name} are killed while a person is erased`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const random = faultsRandom(t)
      const { env, rows } = await kind.open(t)
      const { apiKey } = await seed(env)
      const start = async () => {
        const server = await startServer(t, env)
        return { ...server, call: caller(server.url, apiKey) }
      }
      let server = await start()
      const log = (fields: object) =>
        server.call('POST', '/v0/prospect_logs', { source: 'crm', payload: {}, ...fields })
      const { prospectId } = (await log({ email: 'bob@example.com', name: 'Bob' })).body
      t.equal((await log({ prospectId, email: ADA, name: 'Ada Lovelace' })).status, 201)
      const mine = { email: ADA, name: 'Ada Lovelace', payload: { of: 'engine of Ada '.repeat(40) } }
      for (let sent = 0; sent < LOGS; sent += CALLERS)
        await Promise.all(Array.from({ length: CALLERS }, () => log(mine)))
      const [before] = await rows<{ logs: number }>('select count(*) as logs from prospect_logs')

      const { erasureId } = (await server.call('POST', '/v0/erasures', { email: ADA })).body
      let cut = 0
      for (let round = 0; round < ROUNDS; round++) {
        await pause(random.below(60))
        await server.kill()
        const [left] = await rows<{ logs: number; erased: number }>(`
        select (select count(*) from prospect_logs) as logs, logs_erased as erased
        from erasures where erasure_id = '${erasureId}'`)
        t.equal(
          Number(left?.logs) + Number(left?.erased),
          Number(before?.logs),
          'every deleted log is counted, once',
        )
        if (Number(left?.erased) > 0 && Number(left?.logs) > 2) cut++
        // Erasures claimed by the killed eraser wait for their lease to end, so its end is moved up.
        await rows('update erasures set claimable_at = requested_at')
        server = await start()
      }
      t.comment(`${cut} of ${ROUNDS} were killed between two lists`)
      const many = { tries: 600, pauseMs: 50 }
      await until(
        'the first pass is over',
        async () => (await rows('select 1 from erasures where pass > 1')).length === 1,
        many,
      )
      await server.kill()
      await rows('update erasures set claimable_at = requested_at')
      server = await start()
      const read = async () => (await server.call('GET', `/v0/erasures/${erasureId}`)).body
      await until('it is completed', async () => (await read()).status === 'completed', many)
      t.match(await read(), { logsErased: Number(before?.logs) - 2 })
      t.equal((await log(mine)).status, 410)
      const [, path] = /^sqlite:(.*)$/.exec(String(env['DATABASE_URL'])) ?? []
      const kept =
        path === undefined
          ? JSON.stringify(await postgresRows(String(env['DATABASE_URL'])))
          : readdirSync(dirname(path))
              .filter((name) => name.startsWith(basename(path)))
              .map((name) => readFileSync(join(dirname(path), name), 'latin1'))
              .join()
      t.strictSame(
        SECRETS.filter((text) => kept.includes(text)),
        [],
      )
      t.strictSame(
        SECRETS.filter((text) => server.stderr().includes(text)),
        [],
      )
      t.equal(await server.stop(), 0)
    },
  )
