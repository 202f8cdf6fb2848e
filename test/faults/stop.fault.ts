import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { heldRequest } from '../support/held-request.ts'
import {
  type DatabaseKind,
  databaseKinds,
  type Environment,
  type Program,
  seed,
  startServer,
  until,
} from '../support/program.ts'
import { timesOf } from '../support/random.ts'
import { keptFaults, versionFaults } from './kept.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf } from './verdict.ts'

t.setTimeout(0)
t.jobs = 2
const ROUNDS = timesOf(2)
const CALLERS = 32
const CONNECTIONS = 50
const ANSWER_MS_MAX = 15_000
/** Longer than what counts as one signal. */
const LATER_MS = 1_500

const setting = async (t: Test, kind: DatabaseKind) => {
  const database = await kind.open(t)
  const seeded = await seed(database.env)
  const start = async (more: Environment = {}): Promise<Program> => {
    const server = await startServer(t, { ...database.env, ...more })
    return server
  }
  return { ...seeded, database, start }
}

const isStopping = (server: Program) =>
  until('it is stopping', () => server.logs().some(({ msg }) => msg === 'stopping'))

/** Told when its end comes: how, and all that came before. */
type Heard = { readonly socket: Socket; readonly text: () => string; readonly end: Promise<string> }

/** A connection that has been answered once and is kept. */
const keptConnection = async (url: string): Promise<Heard> => {
  let text = ''
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('utf8')
  const end = new Promise<string>((resolve) => {
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    socket.on('end', () => resolve('ended'))
  })
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.write('GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n')
  await until('the connection is answered', () => text.includes('\r\n\r\n') && text.endsWith('}\n'))
  text = ''
  return { socket, text: () => text, end }
}

const requestText = (apiKey: string, idempotencyKey: string): string => {
  const body = JSON.stringify({ source: 'crm', payload: { form: 'contact' }, idempotencyKey })
  return `POST /v0/prospect_logs HTTP/1.1\r\nhost: test\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

for (const kind of databaseKinds())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false, buffered: true }, async (t) => {
    t.teardown(kind.end)

    t.test('SIGTERM under load, again and again: no connection is reset, nothing is lost', async (t) => {
      const { apiKey, pageGroupId, database, start } = await setting(t, kind)
      const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId], answerMsMax: 2 * ANSWER_MS_MAX })
      t.teardown(traffic.close)
      let slowestEndMs = 0
      for (let round = 0; round < ROUNDS; round++) {
        const server = await start()
        const before = traffic.answers.length
        const flow = traffic.flow(server.url, { callers: CALLERS })
        // A connection that was not accepted yet is refused, or reset by the system.
        const connected = () =>
          new Set(traffic.answers.slice(before).map(({ key }) => key?.split(' of caller ')[1])).size >=
          CALLERS
        await until('it is under load', () => traffic.answers.length >= before + 150 && connected())
        const told = performance.now()
        t.equal(await server.stop(), 0)
        slowestEndMs = Math.max(slowestEndMs, Math.round(performance.now() - told))
        await flow.stop()
      }
      const ends = traffic.answers.filter(({ status }) => status === null).map(({ why }) => why)
      t.strictSame([...new Set(ends)], ['ECONNREFUSED'], 'only new connections were refused')
      t.ok(slowestEndMs < 10_000, `within the drain limit: ${slowestEndMs} ms`)
      const last = await start()
      await traffic.repeat(last.url)
      const faults = [
        ...answerFaults(traffic.answers, { noAnswer: true, msMax: ANSWER_MS_MAX }),
        ...(await keptFaults(traffic, database)),
        ...(await versionFaults(database, 30_000)),
      ]
      t.strictSame(faults, [])
      t.comment(figuresOf(traffic, faults, { rounds: ROUNDS, 'slowest end ms': slowestEndMs }))
      t.equal(await last.stop(), 0)
    })

    t.test('what was sent on kept connections just before SIGTERM is answered on them', async (t) => {
      const { apiKey, database, start } = await setting(t, kind)
      const server = await start()
      const connections = await Promise.all(
        Array.from({ length: CONNECTIONS }, () => keptConnection(server.url)),
      )
      for (const [i, { socket }] of connections.entries()) socket.write(requestText(apiKey, `key ${i}`))
      const ended = server.stop()
      t.strictSame([...new Set(await Promise.all(connections.map(({ end }) => end)))], ['ended'])
      const answers = connections.map(({ text }) => text())
      const statuses = new Set(answers.map((answer) => /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]))
      t.strictSame([...statuses], ['201'])
      t.equal(await ended, 0)
      const told = answers.map((answer) => /"prospectLogId":"(\w+)"/.exec(answer)?.[1])
      const kept = await database.rows<{ id: string }>('select prospect_log_id as id from prospect_logs')
      t.strictSame(told.sort(), kept.map(({ id }) => id).sort())
    })

    t.test('a second SIGTERM a moment later ends it at once, with 1', async (t) => {
      const { apiKey, start } = await setting(t, kind)
      const server = await start({ DRAIN_MS_MAX: '60000' })
      const held = await heldRequest(server.url, apiKey)
      const ended = server.stop()
      await isStopping(server)
      await pause(LATER_MS)
      const told = performance.now()
      void server.stop()
      t.equal(await ended, 1)
      t.ok(performance.now() - told < 10_000, 'nothing was waited for')
      t.equal(await held.status, undefined)
    })

    t.test('SIGINT and SIGTERM at the same moment are one signal', async (t) => {
      const { apiKey, start } = await setting(t, kind)
      const server = await start({ DRAIN_MS_MAX: '60000' })
      const held = await heldRequest(server.url, apiKey)
      process.kill(server.pid, 'SIGINT')
      const ended = server.stop()
      await isStopping(server)
      await pause(LATER_MS)
      t.equal(await held.finish(), 201, 'what was under way is answered')
      t.equal(await ended, 0)
      t.equal(server.logs().filter(({ msg }) => msg === 'stopping').length, 1)
    })

    t.test('a request that never arrives whole holds it no longer than the limit', async (t) => {
      const { apiKey, start } = await setting(t, kind)
      const server = await start({ DRAIN_MS_MAX: '1000' })
      const held = await heldRequest(server.url, apiKey)
      const told = performance.now()
      t.equal(await server.stop(), 0)
      t.ok(performance.now() - told < 10_000)
      t.equal(await held.status, undefined)
    })
  })
