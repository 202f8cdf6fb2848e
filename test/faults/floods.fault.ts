import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { newApiKeyText } from '../../src/core/tenants/api-key-text.ts'
import { startPostgres, type ThrowawayPostgres, whyNoPostgres } from '../support/postgres.ts'
import { databaseAt, type Environment, seed, startServer, type TestedDatabase } from '../support/program.ts'
import { countOf, quantileOf, requestText, startCrowd, startCrowdProcess, type Tally } from './crowd.ts'
import { watchHealth } from './health.ts'
import { peakMemoryMb } from './verdict.ts'

// More callers, bytes and connections than the service takes. It must refuse the rest at once, keep what it acknowledged,
// serve another tenant and the probe all along, and stay within its memory.

const MEBIBYTE = 1_048_576
/** The memory of one process under default settings, as promised in SECURITY.md. */
const MEMORY_MB_MAX = 700
/** Most of a crowd is connected after this: Node accepts one connection in each tick of its loop. */
const SETTLED_MS = 1_000
const WRONG_CALLERS = 10

t.setTimeout(0)
t.test('floods', { skip: whyNoPostgres() ?? false }, async (t) => {
  const postgres = await startPostgres()
  t.teardown(postgres.stop)

  t.test('ten times the callers that are served at once, of one tenant', async (t) => {
    const { server, loud, quiet, keptFaults, ended } = await open(t, postgres, {
      REQUESTS_AT_ONCE_MAX: '64',
      REQUESTS_WAITING_MAX: '64',
    })
    const crowdOf = (callers: number) => startCrowd(server.url, { callers, request: () => log(loud.apiKey) })
    const calm = await writeBeside(server.url, quiet.apiKey, () => crowdOf(64))
    const before = await calm.crowd.stop()
    const flood = await writeBeside(server.url, quiet.apiKey, () => crowdOf(640))
    const during = await flood.crowd.stop()
    t.strictSame(statusesOf(before), [201], 'as many as are served at once')
    t.strictSame(statusesOf(during), [201, 503])
    t.equal(during.withoutRetryAfter, 0)
    t.strictSame(statusesOf(calm.quiet, flood.quiet), [201], 'the quiet tenant is refused nothing')
    t.strictSame(await keptFaults(before, during, calm.quiet, flood.quiet), [])
    await ended(
      `${countOf(during)} requests of 640 callers, p99 of a quiet tenant ${p99(calm.quiet)} ms beside 64, ${p99(flood.quiet)} ms beside 640`,
    )
  })

  t.test('ten times the callers, who wait their turn', async (t) => {
    const { server, loud, quiet, keptFaults, ended } = await open(t, postgres)
    const flood = await writeBeside(server.url, quiet.apiKey, () =>
      startCrowd(server.url, { callers: 640, request: () => log(loud.apiKey) }),
    )
    const during = await flood.crowd.stop()
    t.strictSame(statusesOf(during, flood.quiet), [201], 'nobody is refused')
    t.strictSame(await keptFaults(during, flood.quiet), [])
    await ended(`${countOf(during)} requests, p99 of a quiet tenant ${p99(flood.quiet)} ms`)
  })

  t.test('100,000 writes at once', async (t) => {
    const { server, loud, quiet, keptFaults, ended } = await open(t, postgres)
    const flood = await writeBeside(server.url, quiet.apiKey, () =>
      startCrowd(server.url, {
        callers: 250,
        pipelined: 32,
        requestsMax: 100_000,
        request: () => log(loud.apiKey),
      }),
    )
    const during = await flood.crowd.done()
    t.equal(countOf(during), 100_000, 'each is answered')
    t.equal(during.unanswered, 0)
    t.strictSame(statusesOf(during), [201, 503])
    t.equal(during.withoutRetryAfter, 0)
    t.strictSame(statusesOf(flood.quiet), [201], 'the quiet tenant is refused nothing')
    t.strictSame(await keptFaults(during, flood.quiet), [])
    await ended(`${during.statuses.get(201)} done, ${during.statuses.get(503)} refused`)
  })

  t.test('connections by the thousand that say little, or nothing', async (t) => {
    const { server, loud, ended } = await open(t, postgres, {
      HEADERS_MS_MAX: '1000',
      REQUEST_MS_MAX: '1500',
      KEEP_ALIVE_MS: '1000',
    })
    const whole = log(loud.apiKey)
    const held = await holdConnections(server.url, {
      'slow headers': { count: 1_000, firstBytes: whole.slice(0, 40), repeated: 'x' },
      // Fewer than may wait: the healthy caller is of the same tenant.
      'slow bodies': { count: 900, firstBytes: whole.slice(0, -20), repeated: ' ' },
      'nothing at all': { count: 1_000, firstBytes: '' },
      'idle after an answer': { count: 1_000, firstBytes: requestText('GET', '/healthz', '') },
    })
    const meanwhile = await writeFor(server.url, loud.apiKey)
    t.strictSame(statusesOf(meanwhile), [201], 'a healthy caller is served, with the same key')
    t.strictSame(await held.untilClosed(), [], 'the server closes each')
    await ended(`${held.count} connections, p99 of a healthy caller ${p99(meanwhile)} ms`)
  })

  t.test('bodies as large as may be, by the hundred', async (t) => {
    const { server, loud, quiet, keptFaults, ended } = await open(t, postgres)
    const large = log(loud.apiKey, bodyOf(MEBIBYTE))
    const flood = startCrowd(server.url, { callers: 200, requestsMax: 600, request: () => large })
    const floodQuiet = await writeFor(server.url, quiet.apiKey)
    const during = await flood.done()
    t.strictSame(statusesOf(during), [201, 503])
    t.equal(during.withoutRetryAfter, 0)
    t.strictSame(statusesOf(floodQuiet), [201], 'the quiet tenant is refused nothing')
    t.strictSame(await keptFaults(during, floodQuiet), [])
    const tooLarge = log(loud.apiKey, bodyOf(MEBIBYTE + 1))
    const refused = await startCrowd(server.url, {
      callers: 20,
      requestsMax: 100,
      request: () => tooLarge,
    }).done()
    t.ok(statusesOf(refused).every((status) => status === 413))
    await ended(`${during.statuses.get(201)} of 1 MiB done, ${during.statuses.get(503)} refused`)
  })

  t.test('batches of one tenant, long ones and large ones, beside single writes of another', async (t) => {
    const { server, loud, quiet, ended } = await open(t, postgres)
    const batches = [batchOf(1_000, 100), batchOf(8, MEBIBYTE - 100), batchOf(1_000, 8_000)]
    const texts = batches.map((body) => requestText('POST', '/v0/prospect_logs/batch', loud.apiKey, body))
    const flood = startCrowdProcess({ url: server.url, callers: 100, requestsMax: 300, texts })
    const floodQuiet = await writeFor(server.url, quiet.apiKey, 6_000)
    const during = await flood.done()
    t.ok(
      statusesOf(during).every((status) => [201, 207, 503].includes(status)),
      `${statusesOf(during)}`,
    )
    t.equal(during.withoutRetryAfter, 0)
    t.strictSame(statusesOf(floodQuiet), [201], 'the quiet tenant is refused nothing')
    t.ok(countOf(floodQuiet) > 20, 'and gets its turns')
    await ended(
      `${during.statuses.get(201) ?? 0} batches done, ${during.statuses.get(207) ?? 0} in part, ${countOf(floodQuiet)} single writes of a quiet tenant, p99 ${p99(floodQuiet)} ms`,
    )
  })

  t.test('lists of long names', async (t) => {
    const { server, loud, quiet, ended } = await open(t, postgres)
    const pages = `/v0/page_groups/${loud.pageGroupId}/pages`
    const page = requestText('POST', pages, loud.apiKey, `{"customName":"${'x'.repeat(300_000)}"}`)
    const create = startCrowd(server.url, { callers: 10, requestsMax: 100, request: () => page })
    t.strictSame(statusesOf(await create.done()), [201])
    let asked = 0
    // Each asks for another length, so that no two lists are the same.
    const list = () => requestText('GET', `${pages}?limit=${(asked++ % 100) + 1}`, loud.apiKey)
    const flood = startCrowd(server.url, { callers: 100, requestsMax: 600, request: list })
    const floodQuiet = await writeFor(server.url, quiet.apiKey)
    const during = await flood.done()
    t.strictSame(statusesOf(during), [200])
    t.strictSame(statusesOf(floodQuiet), [201], 'the quiet tenant is refused nothing')
    await ended(`${during.statuses.get(200)} lists of up to 2 MiB, ${during.unanswered} not taken in time`)
  })

  t.test('1,000 readers who wait for events', async (t) => {
    const { server, env, quiet, keptFaults, ended } = await open(t, postgres, { EVENTS: 'on' })
    const others = await Promise.all(Array.from({ length: 9 }, () => seed(env)))
    const keys = [quiet, ...others].map(({ apiKey }) => apiKey)
    const alone = await writeFor(server.url, quiet.apiKey)
    const memoryMb = peakMemoryMb(server.pid) ?? 0
    let asked = 0
    const request = () =>
      requestText('GET', '/v0/events?wait=25&cursor=latest&types=page.created', keys[asked++ % 10] ?? '')
    const flood = await writeBeside(server.url, quiet.apiKey, () =>
      startCrowd(server.url, { callers: 1_000, request }),
    )
    t.strictSame(statusesOf(flood.quiet), [201])
    t.equal(countOf(flood.crowd.tally), 0, 'all of them wait')
    t.strictSame(await keptFaults(alone, flood.quiet), [])
    const moreMb = (peakMemoryMb(server.pid) ?? 0) - memoryMb
    t.ok(moreMb < 100, `${moreMb} MB more`)
    const stopped = flood.crowd.stop()
    await ended(
      `p99 of a writer ${p99(alone)} ms alone, ${p99(flood.quiet)} ms beside them, ${moreMb} MB more`,
    )
    t.strictSame([...(await stopped).statuses], [[200, 1_000]], 'and are answered when the server stops')
  })

  t.test('wrong keys', async (t) => {
    const { server, quiet, ended } = await open(t, postgres)
    const known = await writeFor(server.url, quiet.apiKey, 200)
    const began = performance.now()
    const wrong = await startCrowd(server.url, {
      callers: WRONG_CALLERS,
      requestsMax: 2_000,
      request: () => log(newApiKeyText()),
    }).done()
    t.strictSame(statusesOf(wrong), [401, 429])
    // One more in each second; and those who ask at the same moment are not counted yet.
    const lookedUpMax = 60 + (performance.now() - began) / 1_000 + 2 * WRONG_CALLERS
    t.ok((wrong.statuses.get(401) ?? 0) < lookedUpMax, `${wrong.statuses.get(401)} were looked up`)
    t.equal(wrong.withoutRetryAfter, 0)
    t.strictSame(
      statusesOf(known, await writeFor(server.url, quiet.apiKey, 200)),
      [201],
      'a right key goes on',
    )
    await ended(`${wrong.statuses.get(401)} looked up, ${wrong.statuses.get(429)} refused`)
  })
})

/** Connections that begin with these bytes, and send `repeated` again and again. They read what they get. */
type Habit = {
  readonly count: number
  readonly firstBytes: string
  readonly repeated?: string
}
const REPEATED_EVERY_MS = 400
const CLOSED_MS_MAX = 15_000

/** Connections of callers with bad habits. None of them ends unless the server closes it. */
const holdConnections = async (url: string, habits: Readonly<Record<string, Habit>>) => {
  const port = Number(new URL(url).port)
  const held: { readonly habit: string; readonly repeated: string | undefined; readonly socket: Socket }[] =
    []
  const open = ({ firstBytes }: Habit): Socket => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => {})
    // Otherwise the server's end would go unnoticed.
    socket.resume()
    socket.once('end', () => socket.destroy())
    if (firstBytes !== '') socket.write(firstBytes)
    return socket
  }
  for (const [name, habit] of Object.entries(habits)) {
    for (let i = 0; i < habit.count; i++) {
      held.push({ habit: name, repeated: habit.repeated, socket: open(habit) })
      if (i % 100 === 99) await pause(10)
    }
  }
  const repeating = setInterval(() => {
    for (const { repeated, socket } of held) {
      if (repeated !== undefined && socket.writable) socket.write(repeated)
    }
  }, REPEATED_EVERY_MS)

  return {
    count: held.length,
    /** Waits for the server to close them. Returns the habits of those that it left open, and closes these. */
    untilClosed: async (): Promise<string[]> => {
      const endMs = performance.now() + CLOSED_MS_MAX
      const openOnes = () => held.filter(({ socket }) => !socket.destroyed)
      while (openOnes().length > 0 && performance.now() < endMs) await pause(100)
      const left = [...new Set(openOnes().map(({ habit }) => habit))]
      clearInterval(repeating)
      for (const { socket } of held) socket.destroy()
      return left
    },
  }
}

/** A server with a tenant that floods it and one that makes small writes. `ended` stops it, and checks what holds for every flood. */
const open = async (t: Test, postgres: ThrowawayPostgres, settings: Environment = {}) => {
  const database = databaseAt(await postgres.newDatabase())
  const loud = await seed(database.env)
  const quiet = await seed(database.env)
  const server = await startServer(t, { ...database.env, ...settings })
  // First calls, so that the keys are remembered and the code is compiled.
  for (const { apiKey } of [loud, quiet]) await writeFor(server.url, apiKey, 300)
  const first = await countOfLogs(database)
  const health = watchHealth(t, server.url)
  const ended = async (figures: string): Promise<void> => {
    t.strictSame(await health.stop(), [], 'the probe answers all along')
    const memoryMb = peakMemoryMb(server.pid) ?? 0
    t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB of memory`)
    t.equal(await server.stop(), 0)
    t.comment(`${figures}, peak MB: ${memoryMb}`)
  }
  /** Every acknowledged write is stored; any part of the unanswered ones may be. */
  const keptFaults = async (...tallies: Tally[]): Promise<string[]> => {
    const kept = (await countOfLogs(database)) - first
    const done = sumOf(tallies, ({ statuses }) => statuses.get(201) ?? 0)
    const unknown = sumOf(tallies, ({ unanswered }) => unanswered)
    return kept < done || kept > done + unknown ? [`${kept} kept, ${done} done, ${unknown} unknown`] : []
  }
  return { server, env: database.env, loud, quiet, keptFaults, ended }
}

const countOfLogs = async ({ rows }: TestedDatabase): Promise<number> =>
  Number((await rows<{ count: number }>('select count(*) as count from prospect_logs'))[0]?.count)

const bodyOf = (bytes: number): string => {
  const body = '{"source":"flood","payload":{"text":""}}'
  return body.replace('""', `"${'x'.repeat(bytes - body.length)}"`)
}
const batchOf = (items: number, bytes: number): string => `{"items":[${Array(items).fill(bodyOf(bytes))}]}`
const log = (apiKey: string, body = bodyOf(100)): string =>
  requestText('POST', '/v0/prospect_logs', apiKey, body)

/** One caller who logs one activity after the other for so long. */
const writeFor = async (url: string, apiKey: string, ms = 2_000): Promise<Tally> => {
  const one = startCrowd(url, { callers: 1, request: () => log(apiKey) })
  await pause(ms)
  return one.stop()
}

/** Starts a crowd beside one caller who is already connected. `quiet`: the writes of that caller once the crowd is there. */
const writeBeside = async (url: string, apiKey: string, start: () => ReturnType<typeof startCrowd>) => {
  const one = startCrowd(url, { callers: 1, request: () => log(apiKey) })
  await pause(SETTLED_MS)
  const crowd = start()
  await pause(SETTLED_MS)
  one.tally.ms.length = 0
  await pause(2_000)
  return { crowd, quiet: await one.stop() }
}

const statusesOf = (...tallies: Tally[]): number[] =>
  [...new Set(tallies.flatMap(({ statuses }) => [...statuses.keys()]))].sort()
const sumOf = (tallies: readonly Tally[], of: (tally: Tally) => number): number =>
  tallies.reduce((sum, tally) => sum + of(tally), 0)
const p99 = ({ ms }: Tally): string => quantileOf(ms, 0.99).toFixed(1)
