import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { caller, databaseKindsThatStop, type Program, seed, startServer, until } from '../support/program.ts'
import { faultsRandom } from '../support/random.ts'
import { keptFaults, versionFaults } from './kept.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'
import { isSigned, type Mood, type Received, startReceiver } from './webhook-receiver.ts'

t.setTimeout(0)
const MOODS: readonly Mood[] = [
  'is slow',
  'answers 500',
  'hangs',
  'answers 429',
  'answers no HTTP',
  'answers a megabyte',
  'accepts',
]
const CALLERS = 4
const ROUND_MS_MAX = 700
const ANSWER_MS_MAX = 15_000
const MEMORY_MB_MAX = 300
const PATIENT = { tries: 300, pauseMs: 100 }
/** Work claimed by a killed process waits for its lease to end, and a failing endpoint rests: both times are moved up. */
const END_LEASES = [
  'update webhook_endpoints set claimable_at = created_at',
  "update page_versions set claimable_at = created_at where status = 'processing' and attempts > 0",
]
/** An endpoint whose receiver expects a special body. */
const AS_EXPECTED = {
  types: ['prospect_log.created'],
  method: 'PUT',
  body: { type: '{{/type}}', log: '{{/data/prospectLogId}}', person: '{{/data/prospect/prospectId}}' },
}
type FedEvent = {
  readonly eventId: string
  readonly sequence: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

for (const kind of databaseKindsThatStop())
  t.test(
    `servers on ${kind.name} and a receiver are killed while webhooks are sent`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const random = faultsRandom(t)
      const database = await kind.open(t)
      const { rows } = database
      const env = { ...database.env, WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' }
      const { apiKey, pageGroupId } = await seed(env)
      const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId], answerMsMax: 2 * ANSWER_MS_MAX })
      t.teardown(traffic.close)
      const receiver = await startReceiver(t)
      const start = async () => {
        const server = await startServer(t, env)
        return server
      }
      const servers: [Program, Program] = [await start(), await start()]
      const call = (...[method, path, body]: Parameters<ReturnType<typeof caller>>) =>
        caller(servers[0].url, apiKey)(method, path, body)
      const endLeases = async () => {
        for (const statement of END_LEASES) await rows(statement)
      }

      const since = new Date().toISOString()
      const addEndpoint = async (url: string, given: object = {}) => {
        const { status, body } = await call('POST', '/v0/webhook_endpoints', { url, ...given })
        t.equal(status, 201)
        return { path: `/v0/webhook_endpoints/${body.webhookEndpointId}`, secret: String(body.secret) }
      }
      const main = await addEndpoint(`${receiver.url}/main`)
      const gone = await addEndpoint(`${receiver.url}/gone`, AS_EXPECTED)
      const noTls = await addEndpoint(`${receiver.url.replace('http:', 'https:')}/tls`)
      const read = async ({ path }: { path: string }) => (await call('GET', path)).body

      receiver.be('is gone')
      await traffic.flow(servers[0].url, { writesMax: 1, kinds: ['activity'] }).done()
      await until('it is disabled', async () => (await read(gone)).status === 'disabled')
      await until('an attempt at TLS failed', async () => (await read(noTls)).failures > 0)
      const { items } = (await call('GET', `${noTls.path}/deliveries`)).body
      const attempted = items.find(({ attempts }: { attempts: number }) => attempts > 0)
      t.match(attempted, { status: 'pending', lastStatusCode: null, lastError: /connection failed|not/ })
      t.equal((await call('DELETE', noTls.path)).status, 204)
      t.equal((await call('PATCH', main.path, { status: 'enabled' })).status, 200)

      let memoryMb = 0
      for (const [round, mood] of MOODS.entries()) {
        receiver.be(mood)
        await endLeases()
        const flows = servers.map(({ url }) => traffic.flow(url, { callers: CALLERS, writesMax: 150 }))
        await pause(random.below(ROUND_MS_MAX))
        const killed = round % 2
        const [flow] = flows.splice(killed, 1)
        memoryMb = Math.max(memoryMb, ...servers.map(({ pid }) => peakMemoryMb(pid) ?? 0))
        await servers[killed]?.kill()
        if (round % 3 === 0) await receiver.restart(mood)
        if (kind.name === 'postgres' && mood === 'answers a megabyte') {
          const postgres = await kind.server()
          await postgres.halt('SIGQUIT')
          await postgres.start()
        }
        await Promise.all([flow?.stop(), ...flows.map((flow) => flow.stop())])
        servers[killed] = await start()
      }
      receiver.be('accepts')
      await traffic.repeat(servers[0].url)
      await endLeases()
      t.equal((await call('PATCH', gone.path, { status: 'enabled' })).status, 200)

      const isNumbered = 'select 1 from events where sequence is null limit 1'
      const faults = [
        ...answerFaults(traffic.answers, { noAnswer: true, msMax: ANSWER_MS_MAX }),
        ...(await keptFaults(traffic, database)),
        ...(await versionFaults(database, ANSWER_MS_MAX)),
      ]
      await until('each event has its number', async () => (await rows(isNumbered)).length === 0, PATIENT)

      const feed: FedEvent[] = []
      for (let cursor = '', hasMore = true; hasMore; ) {
        const { body } = await call('GET', `/v0/events?limit=100${cursor && `&cursor=${cursor}`}`)
        feed.push(...body.items)
        cursor = body.nextCursor
        hasMore = body.hasMore
      }
      t.strictSame(
        feed.map(({ sequence }) => sequence),
        feed.map((_, i) => i + 1),
        'numbers without gaps',
      )
      const idsOf = (type: string, name: string) =>
        feed.flatMap((event) => (event.type === type ? String(event.data[name]) : [])).toSorted()
      const kept = async (column: string, table: string) =>
        (await rows<{ id: string }>(`select ${column} as id from ${table}`)).map(({ id }) => id).toSorted()
      const changes = [
        ['prospect.created', 'prospectId', await kept('prospect_id', 'prospects')],
        ['prospect_log.created', 'prospectLogId', await kept('prospect_log_id', 'prospect_logs')],
        ['page.created', 'pageId', await kept('page_id', 'pages')],
        ['page_version.published', 'versionId', await kept('published_version_id', 'pages')],
      ] as const
      for (const [type, name, ids] of changes)
        t.strictSame(idsOf(type, name), ids, `a ${type} for each, once`)

      const replay = async ({ path }: { path: string }) => {
        let from: object | null = { since }
        let made = 0
        while (from !== null) {
          const { status, body } = await call('POST', `${path}/replay`, from)
          t.equal(status, 202)
          made += body.deliveries
          from = body.nextCursor && { cursor: body.nextCursor }
        }
        return made
      }
      for (const endpoint of [main, gone])
        t.ok((await replay(endpoint)) > 0, 'what it missed while it was disabled is delivered now')

      /** Whoever waits for its next attempt is retried by hand. */
      const isDelivered = async ({ path }: { path: string }) => {
        const { items } = (await call('GET', `${path}/deliveries?status=pending&limit=100`)).body
        for (const { eventId, attempts } of items)
          if (attempts > 0) await call('POST', `${path}/deliveries/${eventId}/retry`)
        const failed = (await call('GET', `${path}/deliveries?status=failed&limit=1`)).body
        return [items, failed.items].every(({ length }) => length === 0)
      }
      await endLeases()
      for (const endpoint of [main, gone])
        await until('all is delivered', () => isDelivered(endpoint), PATIENT)
      for (const [name, { secret }] of Object.entries({ main, gone })) {
        const wanted = feed.filter(({ type }) => name === 'main' || type === 'prospect_log.created')
        const all = receiver.received(`/${name}`)
        t.strictSame(
          all.filter((received) => !isSigned(secret, received)),
          [],
          'each is signed',
        )
        t.strictSame(lostOf(wanted, all), [], 'each event arrived under its id')
        if (name === 'gone') t.strictSame(unfilled(wanted, all), [], 'its body is filled in')
        t.comment(`/${name}: ${wanted.length} events, ${all.length} webhooks`)
      }
      await until('what was deleted is gone', async () => {
        const sums = 'select count(*) as n from webhook_deliveries group by webhook_endpoint_id'
        return (await rows(sums)).length === 2
      })
      t.strictSame(faults, [])
      t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB of memory`)
      t.comment(figuresOf(traffic, faults, { 'peak MB': memoryMb }))
      for (const server of servers) t.equal(await server.stop(), 0)
    },
  )

/** Events that did not arrive, or as something else. */
const lostOf = (events: readonly FedEvent[], all: readonly Received[]): string[] => {
  const types = new Map(all.map(({ id, body }) => [id, String(JSON.parse(body).type)]))
  return events.flatMap(({ eventId, type }) => (types.get(eventId) === type ? [] : `${type} ${eventId}`))
}

/** Deliveries whose body differs from the filled-in `AS_EXPECTED`. */
const unfilled = (events: readonly FedEvent[], all: readonly Received[]): string[] => {
  const data = new Map(events.map(({ eventId, data }) => [eventId, data]))
  return all.flatMap(({ id, body }) => {
    const { prospectLogId: log, prospectId: person } = data.get(id) ?? {}
    return body === JSON.stringify({ type: 'prospect_log.created', log, person }) ? [] : body
  })
}
