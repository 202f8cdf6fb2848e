import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FAULTS } from '../support/faulty.ts'
import {
  answerOf,
  caller,
  databaseKindsThatStop,
  newFolder,
  type Program,
  runCommand,
  seed,
  startProgram,
  startServer,
  until,
} from '../support/program.ts'
import { sendRaw } from '../support/raw.ts'

t.setTimeout(0)
t.jobs = 2
const EMAIL = 'grace.hopper@example.com'
const NAME = 'Grace Brewster'
const WORD = 'gooseberry'
const DATABASE_PASSWORD = 'elderberry'
const NAMER_KEY = 'cloudberry'
const ACTIVITY = { source: 'crm', payload: { note: WORD }, email: EMAIL, name: NAME }

/** Secrets that an operator must never find in writing, by their kind. */
const privateTexts = (...apiKeys: readonly string[]): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(
    apiKeys.flatMap((key, i) => [
      [`key ${i}`, key.slice('pp_'.length)],
      [`most of key ${i}`, key.slice(8)],
      [`hash of key ${i}`, createHash('sha256').update(key).digest('base64url')],
      [`hash of key ${i}, otherwise`, createHash('sha256').update(key).digest('hex')],
    ]),
  ),
  'the password of the database': DATABASE_PASSWORD,
  'the key of the namer': NAMER_KEY,
})
const CALLERS_TEXTS = { 'an email': EMAIL, 'a local part': 'grace', 'a name': 'Brewster', 'a payload': WORD }

const tellsNothing = (t: Test, where: string, text: string, secrets: Readonly<Record<string, string>>) => {
  for (const [what, secret] of Object.entries(secrets))
    t.notOk(text.toLowerCase().includes(secret.toLowerCase()), `${what} is not in ${where}`)
}

/** A namer that fails, and tells all that it was told. */
const talkativeNamer = async (t: Test): Promise<string> => {
  const server = createServer(async (request, response) => {
    let heard = JSON.stringify(request.headers)
    for await (const chunk of request) heard += chunk
    response.writeHead(heard.length % 2 ? 500 : 200).end(heard)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The arguments of a process and of all that it started, by Linux's `/proc`. */
const argumentsOf = (pid: number): string[] => {
  const parentOf = (of: string) => /^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${of}/stat`, 'utf8'))?.[1]
  const children = readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && parentOf(name) === String(pid)
    } catch {
      return false
    }
  })
  const own = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  return [own, ...children.flatMap((child) => argumentsOf(Number(child)))]
}

/** Every operation, well and badly used, with a key that is good and with others; what came back, as text. */
const useAll = async (server: Program, apiKey: string, pageGroupId: string) => {
  const wrongKey = `${apiKey.slice(0, -1)}${apiKey.endsWith('a') ? 'b' : 'a'}`
  const pagesPath = `/v0/page_groups/${pageGroupId}/pages`
  const call = caller(server.url, apiKey)
  const log = (body: unknown, headers = {}) => call('POST', '/v0/prospect_logs', body, headers)
  const { body: page } = await call('POST', pagesPath, { customName: NAME, supplementaryContext: WORD })
  return [
    await log(ACTIVITY),
    await log({ ...ACTIVITY, source: 'faulty' }),
    await log({ ...ACTIVITY, idempotencyKey: WORD }),
    await log({ ...ACTIVITY, idempotencyKey: WORD }),
    await log({ ...ACTIVITY, idempotencyKey: WORD, type: 'other' }),
    await log({ ...ACTIVITY, idempotencyKey: WORD }, { 'idempotency-key': EMAIL }),
    await log({ ...ACTIVITY, prospectId: EMAIL }),
    await log({ ...ACTIVITY, type: 7, payload: WORD, [EMAIL]: WORD }),
    await log(`{"source":"crm","email":"${EMAIL}",${WORD}`),
    await log(ACTIVITY, { 'content-type': EMAIL }),
    await log(ACTIVITY, { 'content-encoding': WORD }),
    await log({ ...ACTIVITY, payload: { note: WORD.repeat(200_000) } }),
    await call('GET', '/v0/page_groups'),
    await call('GET', pagesPath),
    await call('GET', `${pagesPath}/${page.pageId}`),
    await call('GET', `${pagesPath}/${EMAIL}`),
    await call('GET', `/v0/page_groups?status=${EMAIL}&limit=${WORD}&cursor=${apiKey}`),
    await call('GET', `/v0/${apiKey}/${EMAIL}?key=${apiKey}`),
    await call('DELETE', `${pagesPath}?key=${apiKey}`),
    await call('POST', pagesPath, { customName: 7, [EMAIL]: WORD }, { 'idempotency-key': EMAIL }),
    await caller(server.url, wrongKey)('POST', '/v0/prospect_logs', ACTIVITY),
    await caller(server.url, `${apiKey} `)('GET', '/v0/page_groups', undefined, { authorization: apiKey }),
    await caller(server.url, WORD)('GET', '/v0/page_groups'),
    await call('GET', `/problems/${WORD}`),
    await call('GET', '/healthz'),
    await call('GET', '/readyz'),
  ].map(({ status, text, headers }) => ({ status, text, all: text + JSON.stringify([...headers]) }))
}

for (const kind of databaseKindsThatStop())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false, buffered: true }, async (t) => {
    t.teardown(kind.end)

    t.test('whatever goes well or wrong, nobody is told a secret', async (t) => {
      const { env: plain, rows } = await kind.open(t)
      const DATABASE_URL = String(plain['DATABASE_URL']).replace('@', `:${DATABASE_PASSWORD}@`)
      const env = {
        DATABASE_URL,
        LOG_LEVEL: 'trace',
        NAMER_URL: await talkativeNamer(t),
        NAMER_MODEL: 'm',
        NAMER_API_KEY: NAMER_KEY,
      }
      const { apiKey, apiKeyId, tenantId, pageGroupId } = await seed(env)
      const created = await runCommand(['keys', 'create', '--tenant', tenantId], env)
      const revoked = JSON.parse(created.stdout)
      const server = await startServer(t, env)
      await rows(FAULTS[kind.name])
      const secrets = privateTexts(apiKey, revoked.apiKey)

      const answers = await useAll(server, apiKey, pageGroupId)
      await answerOf(['keys', 'revoke', revoked.apiKeyId], env)
      await until('the key is revoked', async () => {
        const { status, text } = await caller(server.url, revoked.apiKey)('GET', '/v0/page_groups')
        answers.push({ status, text, all: text })
        return status === 401
      })
      const statuses = new Set(answers.map(({ status }) => status))
      t.strictSame([...statuses].sort(), [200, 201, 400, 401, 404, 405, 413, 415, 422, 500])
      await until('naming has failed', () => server.logs().some(({ msg }) => msg === 'naming failed'))

      if (existsSync('/proc/self/cmdline')) {
        const lines = argumentsOf(Number(server.logs().find(({ msg }) => msg === 'listening')?.['pid']))
        t.equal(lines.length, 1)
        tellsNothing(t, 'the arguments of a process', lines.join('\n'), { ...secrets, ...CALLERS_TEXTS })
      }
      if (kind.name === 'postgres') {
        const postgres = await kind.server()
        await postgres.halt('SIGQUIT')
        const { status, text } = await caller(server.url, apiKey)('POST', '/v0/prospect_logs', ACTIVITY)
        answers.push({ status, text, all: text })
        t.equal(status, 503)
        await postgres.start()
      }
      const raw = [
        `GET /${EMAIL} HTTP/1.1\r\nx-api-key: ${apiKey}\r\n\r\n`,
        `${WORD} ${apiKey}\r\n\r\n`,
        `GET / HTTP/1.1\r\nHost: a\r\nx-api-key: ${apiKey}\r\n${EMAIL} ${WORD}\r\n\r\n`,
      ]
      for (const message of raw) {
        const text = await sendRaw(server.url, message)
        t.match(text, /^HTTP\/1\.1 400 /)
        answers.push({ status: 400, text, all: text })
      }
      t.equal(await server.stop(), 0)

      const failed = server.logs().find(({ msg }) => msg === 'request failed')
      t.match(failed, { tenantId, apiKeyId, requestId: /^[0-9a-f-]{36}$/ })
      tellsNothing(t, 'the greeting', server.stdout(), secrets)
      tellsNothing(t, 'the lines', server.stderr(), { ...secrets, ...CALLERS_TEXTS })
      for (const line of server.logs())
        t.notMatch(Object.keys(line).join(), /\b(headers|body|query|parameters)\b/)
      for (const { status, text, all } of answers) {
        tellsNothing(t, `a ${status}`, all, secrets)
        if (status < 400) continue
        tellsNothing(t, `a ${status}`, text, CALLERS_TEXTS)
        t.notMatch(text, /select |insert |update |prospect_logs|\.ts\b|node:|\bat \//)
      }
      tellsNothing(t, 'what a command says besides', created.stderr, secrets)
      const listed = await runCommand(['keys', 'list', '--tenant', tenantId], env)
      t.ok(listed.stdout.includes(apiKeyId))
      tellsNothing(t, 'the list of keys', listed.stdout + listed.stderr, secrets)
    })
  })

/** The contents of a driver's error that nothing catches. */
const BUG = `Object.assign(new Error('a bug'), { detail: '${WORD}', parameters: ['${EMAIL}'] })`

t.test('a fault that nobody catches ends the process, and tells no more than any other', async (t) => {
  for (const act of [`throw ${BUG}`, `Promise.reject(${BUG})`]) {
    const script = join(newFolder(t), 'bug.mjs')
    writeFileSync(script, `process.once('SIGUSR2', () => { ${act} })`)
    const env = { DATABASE_URL: 'memory:', NODE_OPTIONS: `--import=${script}` }
    const server = await startProgram(t, env)
    process.kill(server.pid, 'SIGUSR2')
    // Another line that was being written may come after it.
    const line = await until('it is told', () => server.logs().find(({ level }) => level === 60))
    t.match(line, { msg: 'uncaught exception', err: { message: 'a bug' } })
    t.equal(await server.stop(), 1)
    tellsNothing(t, 'the lines', server.stderr(), CALLERS_TEXTS)
  }
})

/** Nothing answers at these addresses, or they are none. */
const WRONG_ADDRESSES = [
  `postgres://someone:${DATABASE_PASSWORD}@127.0.0.1:1/database`,
  `postgres://someone:${DATABASE_PASSWORD}@/database?host=/nowhere`,
  `postgres://someone:pass@${DATABASE_PASSWORD}@127.0.0.1:1/database`,
  `postgres://someone:pass@${DATABASE_PASSWORD},word@127.0.0.1:1/database`,
  `postgres://someone:pass,word@${DATABASE_PASSWORD}@127.0.0.1:1/database`,
  `postgres://someone:1/${DATABASE_PASSWORD}@127.0.0.1:1/database`,
  `postgres://127.0.0.1:1/${DATABASE_PASSWORD}@127.0.0.1:1/database`,
  `postgres://someone:${DATABASE_PASSWORD}/word@127.0.0.1:1/database`,
  `postgres://someone:1#${DATABASE_PASSWORD}@127.0.0.1:1/database`,
  `postgres://someone:1?${DATABASE_PASSWORD}@127.0.0.1:1/database`,
  `postgres://someone:%zz${DATABASE_PASSWORD}@127.0.0.1:1/database`,
  `postgres://someone:${DATABASE_PASSWORD}@127.0.0.1:port/database`,
  `postgres://someone:${DATABASE_PASSWORD}@127.0.0.1:1/database?nonsense=%zz`,
  `postgers://someone:${DATABASE_PASSWORD}@127.0.0.1/database`,
  `mysql://someone:${DATABASE_PASSWORD}@127.0.0.1/database`,
]

t.test('the password in a wrong address of the database is told to nobody', { buffered: true }, async (t) => {
  const secrets = { 'the password of the database': DATABASE_PASSWORD }
  for (const [i, DATABASE_URL] of WRONG_ADDRESSES.entries()) {
    const hidden = DATABASE_URL.replace(DATABASE_PASSWORD, '…')
    const command = await runCommand(['tenants', 'create', '--name', 'x'], { DATABASE_URL })
    t.equal(command.code, 1, hidden)
    tellsNothing(t, `what the command says of ${hidden}`, command.stdout + command.stderr, secrets)
    // A server reads its settings and connects as the command does; a few show that its lines are no more talkative.
    if (i % 4 > 0) continue
    const server = await startProgram(t, { DATABASE_URL, LOG_LEVEL: 'trace' }).catch(
      (refused: Error) => refused,
    )
    if (server instanceof Error) {
      tellsNothing(t, `what the server says of ${hidden}`, server.message, secrets)
      continue
    }
    const isWaiting = () => server.logs().some(({ msg }) => msg === 'waiting for the database')
    await until('it waits for the database', isWaiting)
    const answer = await fetch(`${server.url}/readyz`)
    tellsNothing(t, `the answer with ${hidden}`, await answer.text(), secrets)
    t.equal(await server.stop(), 0)
    tellsNothing(t, `the lines with ${hidden}`, server.stderr(), secrets)
  }
})
