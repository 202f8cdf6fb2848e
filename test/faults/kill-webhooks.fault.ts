import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ThrowawayPostgres } from '../support/postgres.ts'
import {
  caller,
  type DatabaseKind,
  databaseKindsThatStop,
  type Program,
  seed,
  startServer,
  until,
} from '../support/program.ts'
import { faultsRandom } from '../support/random.ts'
import { keptFaults, versionFaults } from './kept.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'
import { isSigned, type Mood, type Received, startReceiver } from './webhook-receiver.ts'

// A test file has its time limit from the command that runs it.
t.setTimeout(0)

type Round = {
  /** What the receiver of the webhooks does meanwhile. */
  readonly mood: Mood
  /** The server that is killed: 0 or 1. */
  readonly killedServer: number
  /** What is killed together with the server, and started again at once. */
  readonly alsoKilled?: 'receiver' | 'PostgreSQL'
}
const ROUNDS: readonly Round[] = [
  { mood: 'is slow', killedServer: 0, alsoKilled: 'receiver' },
  { mood: 'answers 500', killedServer: 1 },
  { mood: 'hangs', killedServer: 0 },
  { mood: 'answers 429', killedServer: 1, alsoKilled: 'receiver' },
  { mood: 'answers no HTTP', killedServer: 0 },
  { mood: 'answers a megabyte', killedServer: 1, alsoKilled: 'PostgreSQL' },
  { mood: 'accepts', killedServer: 0, alsoKilled: 'receiver' },
]
const CALLERS = 4
/** Of each flow, in each round. */
const WRITES_MAX = 150
const ROUND_MS_MAX = 700
const ANSWER_MS_MAX = 15_000
const MEMORY_MB_MAX = 300
const PATIENT = { tries: 300, pauseMs: 100 }
/** Work claimed by a killed process waits until its lease ends, and a failing endpoint is paused: both times are moved up. */
const END_LEASES = [
  'update webhook_endpoints set claimable_at = created_at',
  "update page_versions set claimable_at = created_at where status = 'processing' and attempts > 0",
]
/** The options of an endpoint whose receiver expects a special body. */
const CUSTOM_REQUEST = {
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
type Endpoint = { readonly path: string; readonly secret: string }
type Scene = Awaited<ReturnType<typeof setUp>>

/** Two servers on a new database, a receiver of webhooks, and traffic. */
const setUp = async (t: Test, kind: DatabaseKind) => {
  const random = faultsRandom(t)
  const database = await kind.open(t)
  const env = { ...database.env, WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' }
  const { apiKey, pageGroupId } = await seed(env)
  const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId], answerMsMax: 2 * ANSWER_MS_MAX })
  t.teardown(traffic.close)
  const receiver = await startReceiver(t)
  const start = () => startServer(t, env)
  const servers: [Program, Program] = [await start(), await start()]
  return {
    t,
    random,
    database,
    traffic,
    receiver,
    servers,
    start,
    call: (method: string, path: string, body?: unknown) =>
      caller(servers[0].url, apiKey)(method, path, body),
    endLeases: async () => {
      for (const statement of END_LEASES) await database.rows(statement)
    },
  }
}

const addEndpoint = async ({ t, call }: Scene, url: string, options: object = {}): Promise<Endpoint> => {
  const { status, body } = await call('POST', '/v0/webhook_endpoints', { url, ...options })
  t.equal(status, 201)
  return { path: `/v0/webhook_endpoints/${body.webhookEndpointId}`, secret: String(body.secret) }
}

/** Lets endpoints fail: two because the receiver is gone, and a third, which is deleted then, for want of TLS. */
const failEndpoints = async (scene: Scene, main: Endpoint, gone: Endpoint): Promise<void> => {
  const { t, call, receiver, servers, traffic } = scene
  const noTls = await addEndpoint(scene, `${receiver.url.replace('http:', 'https:')}/tls`)
  const read = async ({ path }: Endpoint) => (await call('GET', path)).body
  receiver.be('is gone')
  await traffic.flow(servers[0].url, { writesMax: 1, kinds: ['activity'] }).done()
  await until('the endpoint is disabled', async () => (await read(gone)).status === 'disabled')
  await until('an attempt at TLS failed', async () => (await read(noTls)).failures > 0)
  const { items } = (await call('GET', `${noTls.path}/deliveries`)).body
  const attempted = items.find(({ attempts }: { attempts: number }) => attempts > 0)
  t.match(attempted, { status: 'pending', lastStatusCode: null, lastError: /connection failed|not/ })
  t.equal((await call('DELETE', noTls.path)).status, 204)
  t.equal((await call('PATCH', main.path, { status: 'enabled' })).status, 200)
}

/** Kills what each round names, while both servers are written to. Returns the servers' peak memory in MB. */
const killRounds = async (scene: Scene, kind: DatabaseKind<ThrowawayPostgres>): Promise<number> => {
  const { random, receiver, servers, start, traffic } = scene
  let memoryMb = 0
  for (const { mood, killedServer, alsoKilled } of ROUNDS) {
    receiver.be(mood)
    await scene.endLeases()
    const flows = servers.map(({ url }) => traffic.flow(url, { callers: CALLERS, writesMax: WRITES_MAX }))
    await pause(random.below(ROUND_MS_MAX))
    memoryMb = Math.max(memoryMb, ...servers.map(({ pid }) => peakMemoryMb(pid) ?? 0))

    await servers[killedServer]?.kill()
    if (alsoKilled === 'receiver') await receiver.restart(mood)
    if (alsoKilled === 'PostgreSQL' && kind.name === 'postgres') await crash(await kind.server())
    await Promise.all(flows.map((flow) => flow.stop()))
    servers[killedServer] = await start()
  }
  return memoryMb
}

const crash = async (postgres: ThrowawayPostgres): Promise<void> => {
  await postgres.halt('SIGQUIT')
  await postgres.start()
}

/** Wrong answers and wrong rows, in words. Waits until no version is in progress. */
const faultsOf = async ({ traffic, database }: Scene): Promise<string[]> => [
  ...answerFaults(traffic.answers, { noAnswer: true, msMax: ANSWER_MS_MAX }),
  ...(await keptFaults(traffic, database)),
  ...(await versionFaults(database, ANSWER_MS_MAX)),
]

/** Reads the whole feed, once every event has a number. */
const readFeed = async ({ call, database }: Scene): Promise<FedEvent[]> => {
  const unnumbered = 'select 1 from events where sequence is null limit 1'
  const areNumbered = async () => (await database.rows(unnumbered)).length === 0
  await until('every event has a number', areNumbered, PATIENT)
  const feed: FedEvent[] = []
  let path = '/v0/events?limit=100'
  let hasMore = true
  while (hasMore) {
    const { body } = await call('GET', path)
    feed.push(...body.items)
    path = `/v0/events?limit=100&cursor=${body.nextCursor}`
    hasMore = body.hasMore
  }
  return feed
}

/** Where the ids stand that the events of a type name. */
const CHANGES = [
  { type: 'prospect.created', member: 'prospectId', table: 'prospects', column: 'prospect_id' },
  {
    type: 'prospect_log.created',
    member: 'prospectLogId',
    table: 'prospect_logs',
    column: 'prospect_log_id',
  },
  { type: 'page.created', member: 'pageId', table: 'pages', column: 'page_id' },
  { type: 'page_version.published', member: 'versionId', table: 'pages', column: 'published_version_id' },
]

const checkFeed = async ({ t, database }: Scene, feed: readonly FedEvent[]): Promise<void> => {
  const numbers = feed.map(({ sequence }) => sequence)
  const withoutGaps = feed.map((_, i) => i + 1)
  t.strictSame(numbers, withoutGaps, 'the events are numbered without gaps')
  for (const { type, member, table, column } of CHANGES) {
    const events = feed.filter((event) => event.type === type)
    const rows = await database.rows<{ id: string }>(`select ${column} as id from ${table}`)
    const changed = rows.map(({ id }) => id)
    const published = events.map(({ data }) => String(data[member]))
    t.strictSame(published.toSorted(), changed.toSorted(), `each change has one ${type}`)
  }
}

/** Replays the events that an endpoint missed while it was disabled. */
const replay = async ({ t, call }: Scene, { path }: Endpoint, since: string): Promise<void> => {
  let slice: object | null = { since }
  let deliveries = 0
  while (slice !== null) {
    const { status, body } = await call('POST', `${path}/replay`, slice)
    t.equal(status, 202)
    deliveries += body.deliveries
    slice = body.nextCursor && { cursor: body.nextCursor }
  }
  t.ok(deliveries > 0, 'missed events are delivered again')
}

/** Waits until an endpoint has no pending and no failed deliveries. */
const deliverAll = (scene: Scene, endpoint: Endpoint) => {
  const isDelivered = async () => {
    await retryAttempted(scene, endpoint)
    return hasNoDeliveriesLeft(scene, endpoint)
  }
  return until('everything is delivered', isDelivered, PATIENT)
}

/** Retries the deliveries that wait for their next attempt. */
const retryAttempted = async ({ call }: Scene, { path }: Endpoint): Promise<void> => {
  const { items } = (await call('GET', `${path}/deliveries?status=pending&limit=100`)).body
  for (const { eventId, attempts } of items)
    if (attempts > 0) await call('POST', `${path}/deliveries/${eventId}/retry`)
}

const hasNoDeliveriesLeft = async ({ call }: Scene, { path }: Endpoint): Promise<boolean> => {
  const pending = (await call('GET', `${path}/deliveries?status=pending&limit=1`)).body
  const failed = (await call('GET', `${path}/deliveries?status=failed&limit=1`)).body
  return pending.items.length === 0 && failed.items.length === 0
}

type Webhooks = { readonly sent: readonly FedEvent[]; readonly received: readonly Received[] }
const checkWebhooks = ({ t }: Scene, { secret }: Endpoint, { sent, received }: Webhooks): void => {
  const unsigned = received.filter((webhook) => !isSigned(secret, webhook))
  t.strictSame(unsigned, [], 'each webhook is signed')
  t.strictSame(undelivered(sent, received), [], 'each event arrived under its id')
  t.comment(`${sent.length} events, ${received.length} webhooks`)
}

const hasTwoEndpoints = async ({ database }: Scene): Promise<boolean> => {
  const counts = 'select count(*) as n from webhook_deliveries group by webhook_endpoint_id'
  return (await database.rows(counts)).length === 2
}

/** Events whose webhook is missing or has another type. */
const undelivered = (events: readonly FedEvent[], webhooks: readonly Received[]): string[] => {
  const types = new Map(webhooks.map(({ id, body }) => [id, String(JSON.parse(body).type)]))
  return events
    .filter(({ eventId, type }) => types.get(eventId) !== type)
    .map(({ eventId, type }) => `${type} ${eventId}`)
}

/** Bodies that differ from the filled-in `CUSTOM_REQUEST`. */
const wrongBodies = (events: readonly FedEvent[], webhooks: readonly Received[]): string[] => {
  const dataOf = new Map(events.map(({ eventId, data }) => [eventId, data]))
  const expectedBody = (eventId: string) => {
    const data = dataOf.get(eventId)
    return JSON.stringify({
      type: 'prospect_log.created',
      log: data?.['prospectLogId'],
      person: data?.['prospectId'],
    })
  }
  return webhooks.filter(({ id, body }) => body !== expectedBody(id)).map(({ body }) => body)
}

for (const kind of databaseKindsThatStop())
  t.test(
    `every event is delivered when servers on ${kind.name} and the receiver are killed`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const scene = await setUp(t, kind)
      const { receiver, servers, traffic, call } = scene
      const since = new Date().toISOString()
      const main = await addEndpoint(scene, `${receiver.url}/main`)
      const gone = await addEndpoint(scene, `${receiver.url}/gone`, CUSTOM_REQUEST)
      await failEndpoints(scene, main, gone)

      const memoryMb = await killRounds(scene, kind)
      receiver.be('accepts')
      await traffic.repeat(servers[0].url)
      await scene.endLeases()
      t.equal((await call('PATCH', gone.path, { status: 'enabled' })).status, 200)
      const faults = await faultsOf(scene)

      const feed = await readFeed(scene)
      await checkFeed(scene, feed)
      for (const endpoint of [main, gone]) await replay(scene, endpoint, since)
      await scene.endLeases()
      for (const endpoint of [main, gone]) await deliverAll(scene, endpoint)
      checkWebhooks(scene, main, { sent: feed, received: receiver.received('/main') })
      const logged = feed.filter(({ type }) => type === 'prospect_log.created')
      const receivedCustom = receiver.received('/gone')
      checkWebhooks(scene, gone, { sent: logged, received: receivedCustom })
      t.strictSame(wrongBodies(logged, receivedCustom), [], 'each custom body is filled in')
      await until('the deliveries of the deleted endpoint are deleted', () => hasTwoEndpoints(scene))

      t.strictSame(faults, [])
      t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB of memory`)
      t.comment(figuresOf(traffic, faults, { 'peak MB': memoryMb }))
      for (const server of servers) t.equal(await server.stop(), 0)
    },
  )
