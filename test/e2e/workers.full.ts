import t, { type Test } from 'tap'
import { pauseMsAfter } from '../../src/cli/supervise-workers.ts'
import { heldRequest } from '../support/held-request.ts'
import {
  answerOf,
  caller,
  type DatabaseKind,
  databaseKindsThatStop,
  linesOf,
  type Program,
  runCommand,
  seed,
  startProgram,
  until,
} from '../support/program.ts'

t.setTimeout(0)
const WORKERS = 3
const ACTIVITY = { source: 'crm', payload: { form: 'contact' } }
/** A new connection for each call, so that the next one may reach another worker. */
const FRESH = { connection: 'close' }

const setting = async (t: Test, kind: DatabaseKind) => {
  const { env: database, rows } = await kind.open(t)
  const env = { ...database, WORKERS: `${WORKERS}`, DATABASE_CONECTIONS_MAX: '1' }
  const seeded = await seed(database)
  const server = await startProgram(t, env)
  await until('every worker is ready', async () => {
    await fetch(`${server.url}/readyz`, { headers: FRESH })
    const ready = server.logs().filter(({ route, status }) => route === '/readyz' && status === 200)
    return new Set(ready.map(({ pid }) => pid)).size >= WORKERS
  })
  const pagesPath = `/v0/page_groups/${seeded.pageGroupId}/pages`
  return { ...seeded, database, rows, server, pagesPath, call: caller(server.url, seeded.apiKey) }
}

/** The processes that have answered something: each log line has its pid. */
const answering = (server: Program) =>
  new Set(server.logs().flatMap(({ msg, pid }) => (msg === 'answered' ? [pid as number] : [])))
/** Sends requests until as many different workers have answered. */
const reached = (server: Program, count: number, except: ReadonlySet<number> = new Set()) =>
  until(`${count} workers answer`, async () => {
    // A worker that was just killed may have been the one to answer.
    await fetch(`${server.url}/healthz`, { headers: FRESH }).catch(() => {})
    const pids = [...answering(server)].filter((pid) => !except.has(pid))
    return pids.length >= count && pids
  })
const messages = (server: Program, msg: string) => server.logs().filter((line) => line.msg === msg)

const signalIfThere = (pid: number) => {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // It has exited already.
  }
}

/** Sends signals until it has exited; answers its exit code. */
const stopAgainAndAgain = async (server: Program): Promise<number | null> => {
  let ended: { code: number | null } | undefined
  const { code } = await until('it has ended', () => {
    void server.stop().then((code) => {
      ended = { code }
    })
    return ended
  })
  return code
}

t.test('the pause before a restart grows while workers exit early, up to a bound', async (t) => {
  t.strictSame([0, 1, 2, 3, 7, 8, 1_000].map(pauseMsAfter), [100, 100, 200, 400, 6_400, 10_000, 10_000])
})

for (const kind of databaseKindsThatStop().filter(({ name }) => name === 'postgres'))
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false }, async (t) => {
    t.teardown(kind.end)

    t.test(
      'several processes answer on one port, and one log line announces them, or a misspelt setting',
      async (t) => {
        const { server, call } = await setting(t, kind)
        const pids = await reached(server, WORKERS)
        const [line, ...more] = messages(server, 'listening')
        t.match(line, { port: Number(new URL(server.url).port), url: server.url, database: /^postgres:/ })
        t.match(line, { host: '127.0.0.1', workers: WORKERS })
        t.strictSame(more, [])
        const warnings = server.logs().filter(({ variable }) => variable)
        t.match(warnings, [{ pid: line?.['pid'], setting: 'DATABASE_CONNECTIONS_MAX' }])
        t.equal(warnings.length, 1)
        t.notOk(pids.includes(line?.['pid'] as number), 'the primary serves nothing')
        t.equal((await call('POST', '/v0/prospect_logs', ACTIVITY)).status, 201)
        t.equal(await server.stop(), 0)
        t.equal(messages(server, 'stopped').length, 1)
      },
    )

    t.test('a key revoked by the command line is refused by every worker within a second', async (t) => {
      const { server, call, apiKeyId, database } = await setting(t, kind)
      await until('every worker knows the key', async () => {
        await call('GET', '/v0/page_groups', undefined, FRESH)
        const knowing = server
          .logs()
          .filter(({ status, route }) => status === 200 && route === '/v0/page_groups')
        return new Set(knowing.map(({ pid }) => pid)).size >= WORKERS
      })
      await answerOf(['keys', 'revoke', apiKeyId], database)
      const refusedInARow = async () => {
        for (let calls = 0; calls < 3 * WORKERS; calls++)
          if ((await call('GET', '/v0/page_groups', undefined, FRESH)).status !== 401) return false
        return true
      }
      await until('every worker refuses it', refusedInARow)
      await t.resolves(
        until('each of them has refused it', async () => {
          await call('GET', '/v0/page_groups', undefined, FRESH)
          const refusing = server.logs().filter(({ status }) => status === 401)
          return new Set(refusing.map(({ pid }) => pid)).size === WORKERS
        }),
      )
    })

    t.test('pages created through any worker are published, each once', async (t) => {
      const { call, pagesPath, rows } = await setting(t, kind)
      const created = await Promise.all(
        Array.from({ length: 60 }, async () => {
          const { status, body } = await call('POST', pagesPath, {}, FRESH)
          t.equal(status, 201)
          return body.pageId as string
        }),
      )
      const VERSIONS = 'select page_id, status, attempts from page_versions order by page_id'
      type Version = { pageId: string; status: string; attempts: number }
      await until('all are published', async () =>
        (await rows<Version>(VERSIONS)).every(({ status }) => status === 'published'),
      )
      const versions = await rows<Version>(VERSIONS)
      t.strictSame(
        versions.map(({ pageId }) => pageId),
        created.sort(),
      )
      t.ok(
        versions.every(({ attempts }) => attempts === 1),
        'by one worker, at the first attempt',
      )
    })

    t.test('a killed worker is replaced, and nothing acknowledged is lost', async (t) => {
      const { server, call, rows } = await setting(t, kind)
      const [victim = 0, ...others] = await reached(server, WORKERS)
      const acknowledged: string[] = []
      let enough = false
      const sender = async () => {
        while (!enough) {
          const answer = await call('POST', '/v0/prospect_logs', ACTIVITY).catch(() => null)
          if (answer?.status === 201) acknowledged.push(answer.body.prospectLogId)
        }
      }
      const senders = Array.from({ length: 16 }, sender)
      await until('it is under load', () => acknowledged.length >= 100, { pauseMs: 1 })
      process.kill(victim, 'SIGKILL')
      const [replacement = 0] = await reached(server, 1, new Set([victim, ...others])).finally(() => {
        enough = true
      })
      await Promise.all(senders)
      const kept = new Set(
        (await rows<{ id: string }>('select prospect_log_id as id from prospect_logs')).map(({ id }) => id),
      )
      t.strictSame(
        acknowledged.filter((id) => !kept.has(id)),
        [],
      )
      const ends = messages(server, 'worker exited, starting another')
      t.match(ends, [{ level: 50, workerPid: victim, signal: 'SIGKILL' }])
      t.equal(ends.length, 1, 'the others went on')
      t.match(messages(server, 'worker replaced'), [{ workerPid: replacement, replacedPid: victim }])
      t.equal(messages(server, 'listening').length, 1)
      t.equal(await server.stop(), 0)
    })

    t.test('a worker that receives SIGTERM drains and is replaced', async (t) => {
      const { server } = await setting(t, kind)
      const pids = await reached(server, WORKERS)
      process.kill(pids[0] as number, 'SIGTERM')
      await reached(server, 1, new Set(pids))
      t.match(messages(server, 'worker exited, starting another'), [
        { level: 30, workerPid: pids[0], code: 0 },
      ])
    })

    t.test('SIGTERM under load keeps what was acknowledged, and all end with 0', async (t) => {
      const { server, call, rows } = await setting(t, kind)
      await reached(server, WORKERS)
      const acknowledged: string[] = []
      const sender = async () => {
        for (;;) {
          const answer = await call('POST', '/v0/prospect_logs', ACTIVITY).catch(() => null)
          if (answer === null) return
          if (answer.status === 201) acknowledged.push(answer.body.prospectLogId)
          else t.equal(answer.status, 503)
        }
      }
      const senders = Array.from({ length: 32 }, sender)
      await until('it is under load', () => acknowledged.length >= 300, { pauseMs: 1 })
      t.equal(await server.stop(), 0)
      await Promise.all(senders)
      const kept = await rows<{ id: string }>('select prospect_log_id as id from prospect_logs')
      t.strictSame(kept.map(({ id }) => id).sort(), acknowledged.sort())
    })

    t.test(
      'a signal that reaches every process from the terminal, and again from the primary, counts once',
      async (t) => {
        const { server } = await setting(t, kind)
        const pids = await reached(server, WORKERS)
        for (const pid of pids) process.kill(pid, 'SIGINT')
        const ended = server.stop()
        void server.stop()
        for (const pid of pids) signalIfThere(pid)
        t.equal(await ended, 0)
      },
    )

    t.test('a second signal ends all of them at once with 1', async (t) => {
      const { server, apiKey } = await setting(t, kind)
      const held = await heldRequest(server.url, apiKey)
      t.equal(await stopAgainAndAgain(server), 1)
      t.equal(await held.status, undefined, 'nothing was waited for')
    })

    t.test('workers whose primary was killed finish the requests in flight and exit', async (t) => {
      const { server, apiKey, rows } = await setting(t, kind)
      const held = await heldRequest(server.url, apiKey)
      // Resolves when the last of them has let go of stderr.
      const allEnded = server.kill()
      const isRefused = () =>
        fetch(server.url).then(
          () => false,
          () => true,
        )
      await until('nothing listens', isRefused)
      t.equal(await held.finish(), 201)
      await allEnded
      t.equal((await rows('select prospect_log_id from prospect_logs')).length, 1)
    })

    t.test('what keeps workers from starting is reported once, and ends all of them with 1', async (t) => {
      const { env } = await kind.open(t)
      const { url } = await startProgram(t, env)
      const settings = { ...env, WORKERS: `${WORKERS}` }
      const newer = await kind.open(t)
      await runCommand(['migrate'], newer.env)
      await newer.rows(
        `insert into schema_migrations (number, name, checksum, version) values (999, 'later', '', '9.8.7')`,
      )
      const cases = [
        [{ ...settings, PORT: new URL(url).port }, /already in use/],
        [{ ...settings, ...newer.env, PORT: '0' }, /newer than this program/],
      ] as const
      for (const [env, detail] of cases) {
        const { code, stdout, stderr } = await runCommand(['serve'], env)
        t.match({ code, stdout }, { code: 1, stdout: '' })
        const refusals = linesOf<{ code?: string }>(stderr).filter(({ code }) => code === 'refused')
        t.match(refusals, [{ code: 'refused', detail }])
        t.equal(refusals.length, 1)
      }
      const wrong = await runCommand(['serve'], { ...settings, DATABASE_URL: 'memory:' })
      t.equal(wrong.code, 1)
      t.equal(linesOf(wrong.stderr).length, 1)
    })

    t.test('workers that wait for their database stop on SIGTERM with 0', async (t) => {
      const { env } = await kind.open(t)
      const postgres = await kind.server()
      await postgres.halt()
      const server = await startProgram(t, { ...env, WORKERS: `${WORKERS}` })
      t.equal((await fetch(`${server.url}/readyz`)).status, 503)
      t.equal(await server.stop(), 0)
      await postgres.start()
    })
  })
