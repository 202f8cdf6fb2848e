import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, relative } from 'node:path'
import t from 'tap'
import { sourceUrl } from '../support/children.ts'
import { heldRequest } from '../support/held-request.ts'
import {
  caller,
  databaseKinds,
  type LogLine,
  linesOf,
  newFolder,
  type Program,
  seed,
  startProgram,
  startServer,
  until,
} from '../support/program.ts'
import { sendRaw } from '../support/raw.ts'

t.setTimeout(0)
t.jobs = 2
const EMAIL = 'grace.hopper@example.com'
const SECRET = 'gooseberry'

const answeredIn = (server: Program): LogLine[] => server.logs().filter(({ msg }) => msg === 'answered')

for (const kind of databaseKinds())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false, buffered: true }, async (t) => {
    t.teardown(kind.end)
    const { env } = await kind.open(t)
    const { apiKey, apiKeyId, pageGroupId, tenantId } = await seed(env)
    const pagesPath = `/v0/page_groups/${pageGroupId}/pages`

    t.test('every answered request is one line that carries its X-Request-Id', async (t) => {
      const server = await startServer(t, env)
      const call = caller(server.url, apiKey)
      const answers = [
        await call('GET', '/v0/page_groups'),
        await call('HEAD', '/v0/page_groups'),
        await call('OPTIONS', pagesPath),
        await call('DELETE', pagesPath),
        await call('POST', pagesPath, {}),
        await call('POST', '/v0/prospect_logs', '{'),
        await call('GET', '/nowhere'),
        await caller(server.url, '')('GET', pagesPath),
        await call('GET', '/healthz'),
      ]
      t.equal(await server.stop(), 0)
      const lines = new Map(answeredIn(server).map((line) => [line['requestId'], line]))
      for (const { status, headers, body } of answers) {
        const requestId = headers.get('x-request-id')
        t.match(lines.get(requestId), { level: 30, time: /Z$/, status, ms: Number, code: body?.code ?? null })
        if (status >= 400) t.equal(body?.instance, requestId)
      }
      t.strictSame(
        answers.map(({ headers }) => lines.get(headers.get('x-request-id'))?.['tenantId'] ?? null),
        [tenantId, tenantId, null, null, tenantId, tenantId, null, null, null],
      )
      t.match(lines.get(answers[4]?.headers.get('x-request-id')), {
        method: 'POST',
        route: '/v0/page_groups/{page_group_id}/pages',
        apiKeyId,
      })
    })
  })

t.test('a message that HTTP forbids is answered and logged under one id, too', async (t) => {
  const server = await startServer(t, { DATABASE_URL: 'memory:' })
  const messages = [
    `GET /v0/page_groups HTTP/1.1\r\nHost: a\r\nHost: ${EMAIL}\r\n\r\n`,
    `GET /v0/page_groups HTTP/1.1\r\nx-api-key: ${SECRET}\r\n\r\n`,
    `POST ${EMAIL} ${SECRET}\r\n\r\n`,
  ]
  for (const message of messages) {
    const answer = await sendRaw(server.url, message)
    const requestId = /^x-request-id: (\S+)\r$/im.exec(answer)?.[1]
    t.match(answer, /^HTTP\/1.1 400 /)
    t.ok(requestId && answer.includes(`"instance":"${requestId}"`), 'the answer has its id')
    const isLogged = () =>
      requestId !== undefined && answeredIn(server).some((line) => line['requestId'] === requestId)
    t.ok(await until('it is logged', isLogged).catch(() => false), 'and the line has it')
  }
  t.equal(await server.stop(), 0)
  for (const secret of [EMAIL, SECRET]) t.notOk(server.stderr().includes(secret), secret)
})

t.test('a namer that fails leaves neither its key nor its address nor its words in the lines', async (t) => {
  const namer = createServer((request, response) => {
    request.resume().on('end', () => response.end(`${SECRET} for ${EMAIL}`))
  })
  await once(namer.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => namer.close())
  const { port } = namer.address() as AddressInfo
  const failsQuietly = async ([NAMER_URL, NAMER_API_KEY]: readonly [string, string]) => {
    const env = { DATABASE_URL: 'memory:', NAMER_MODEL: 'm', NAMER_URL, NAMER_API_KEY }
    const server = await startProgram(t, env).catch((refused: Error) => refused.message)
    if (typeof server === 'string') {
      t.notMatch(server, SECRET, `${NAMER_URL} is refused at once`)
      return
    }
    const [, key = '', group = ''] = await until('it has greeted', () =>
      /KEY=(.*)\nGROUP=(.*)\n/.exec(server.stdout()),
    )
    await caller(server.url, key)('POST', `/v0/page_groups/${group}/pages`, { supplementaryContext: EMAIL })
    const failed = () => server.logs().find(({ msg }) => msg === 'naming failed')
    const next = 'published under its built-in name'
    t.match(await until('naming has failed', failed), { reason: /did not return JSON/, next })
    t.notMatch(server.stderr(), /"stack"/)
    t.equal(await server.stop(), 0)
    for (const secret of [SECRET, EMAIL]) t.notOk(server.stderr().includes(secret), `${NAMER_URL}: ${secret}`)
  }
  const named = [
    [`http://127.0.0.1:${port}/nonsense`, SECRET],
    [`http://somebody:${SECRET}@127.0.0.1:${port}/credentials`, ''],
    [`http://127.0.0.1:${port}/broken-key`, `${SECRET}\n${SECRET}`],
  ] as const
  await Promise.all(named.map(failsQuietly))
})

t.test(
  'a request that the drain cuts off is logged as unavailable, before the server has stopped',
  async (t) => {
    const server = await startProgram(t, { DATABASE_URL: 'memory:', DRAIN_MS_MAX: '1' })
    const [, key = ''] = await until('it has greeted', () => /^KEY=(.*)$/m.exec(server.stdout()))
    const { status } = await heldRequest(server.url, key)
    t.equal(await server.stop(), 0)
    t.equal(await status, undefined)
    t.match(server.logs().slice(1), [
      { msg: 'stopping' },
      { msg: 'answered', status: 503, code: 'unavailable' },
      { msg: 'stopped' },
    ])
  },
)

t.test('the lines are as loud as LOG_LEVEL', async (t) => {
  const levelsAt = async (LOG_LEVEL: string) => {
    const server = await startServer(t, { DATABASE_URL: 'memory:', LOG_LEVEL })
    await fetch(`${server.url}/nowhere`)
    t.equal(await server.stop(), 0)
    return server.logs().map(({ msg }) => msg)
  }
  const [info, warn, silent] = await Promise.all(['info', 'warn', 'silent'].map(levelsAt))
  t.strictSame([...new Set(info)], ['listening', 'answered', 'stopping', 'stopped'])
  t.strictSame(warn, [])
  t.strictSame(silent, [])
})

/** Writes many lines, a few in each turn, while nothing reads them. */
const TALK = `
  const { createLog } = await import('${sourceUrl('adapters/log.ts')}')
  const log = createLog('info')
  let lines = Number(process.argv[1])
  const filler = 'x'.repeat(1000)
  const talk = () => {
    for (let i = 0; i < 256 && lines > 0; i++, lines--) log.info({ filler }, 'a line')
    if (lines > 0) return setImmediate(talk)
    process.stdout.write('written')
    process.stdin.once('data', () => log.flush(() => process.exit()))
  }
  talk()`

t.test('lines show their levels by name, if that is set', async (t) => {
  const server = await startProgram(t, {
    DATABASE_URL: `sqlite:${newFolder(t)}/test.db`,
    LOG_LEVELS: 'names',
  })
  t.equal(await server.stop(), 0)
  t.strictSame([...new Set(server.logs().map(({ level }) => level as unknown))], ['info'])
})

t.test('the lines name the database, and misspelt settings without their values', async (t) => {
  const file = join(newFolder(t), 'test.db')
  const typos = { RETENTON_DAYS: SECRET, SECRET_KEY: SECRET }
  const server = await startProgram(t, { DATABASE_URL: `sqlite:${relative('.', file)}`, ...typos })
  t.equal(await server.stop(), 0)
  const [retention, secret, listening] = server.logs()
  t.match(retention, { level: 40, variable: 'RETENTON_DAYS', setting: 'RETENTION_DAYS' })
  t.match(secret, { msg: 'SECRET_KEY is not a setting; did you mean SECRETS_KEY?' })
  t.match(listening, { msg: 'listening', database: `sqlite:${file}` })
  t.notOk(server.stderr().includes(SECRET))
})

t.test('lines that nobody reads are dropped past a bound, and counted', async (t) => {
  const count = 100_000
  const child = spawn(process.execPath, ['--input-type=module', '--eval', TALK, String(count)])
  await once(child.stdout, 'data')
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    said += chunk
  })
  await until('it reports what it dropped', () => Promise.resolve(said.includes('dropped log lines')))
  child.stdin.end('end')
  await once(child, 'close')
  const lines = linesOf<LogLine & { lines?: number }>(said)
  const dropped = lines.reduce((sum, line) => sum + (line.lines ?? 0), 0)
  t.equal(lines.filter(({ msg }) => msg === 'a line').length + dropped, count)
  t.ok(dropped > count / 2, `${dropped} lines of 1 kB were dropped`)
})
