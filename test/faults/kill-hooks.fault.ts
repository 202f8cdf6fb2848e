import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { signatureOf } from '../support/hooks.ts'
import {
  caller,
  type DatabaseKind,
  databaseKinds,
  type Program,
  seed,
  startServer,
  until,
} from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

// A test file has its time limit from the command that runs it.
t.setTimeout(0)

const ROUNDS = timesOf(4)
/** A server is killed after it has accepted more than so many deliveries. */
const DELIVERIES_MIN = 10
const KILL_PAUSE_MS_MAX = 300
const VENDORS = 8
const FORGERS = 4
const ANSWER_MS_MAX = 10_000
const RETRY_PAUSE_MS = 20
/** No answer; accepted; a forgery; unavailable. */
const EXPECTED_STATUSES = [0, 200, 401, 503]
const HOOK = {
  source: 'vendor',
  verify: { hmac: { algorithm: 'sha256', encoding: 'hex', header: 'x-signature' }, secret: 'made up' },
  each: '/items',
  map: { email: ['/email'], idempotencyKey: ['/id'] },
}

/** A hook whose key is the hash of the body: once its logs are a day old, the same bodies are new activities. */
const HOOK_BY_BODY = { ...HOOK, each: null, source: 'another vendor', map: { idempotencyKey: ['sha256'] } }
const BODIES = 5
const LONG_AGO = '2020-01-01T00:00:00.000Z'

type Delivery = {
  readonly fields: Readonly<Record<'id' | 'attempt' | 'email', string>>
  /** Each is an activity. A form has none, and is one activity. */
  readonly items: readonly { readonly email: string }[]
}
type Request = { readonly type: string; readonly body: string }
const asJson = ({ fields, items }: Delivery): Request => ({
  type: 'application/json',
  body: JSON.stringify({ ...fields, items }),
})
const asForm = ({ fields }: Delivery): Request => ({
  type: 'application/x-www-form-urlencoded',
  body: String(new URLSearchParams(fields)),
})
const asMultipartForm = ({ fields }: Delivery): Request => {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--X\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  return { type: 'multipart/form-data; boundary=X', body: `${parts.join('')}--X--\r\n` }
}
/** Every other delivery is JSON. */
const ENCODINGS = [asJson, asForm, asJson, asMultipartForm]

/** The nth delivery of all vendors, on its way for the so manieth time. */
const deliveryOf = (number: number, attempt: number): Delivery => ({
  fields: { id: `d${number}`, attempt: String(attempt), email: `person-${number % 50}@example.com` },
  items: Array.from({ length: number % 3 }, (_, i) => ({ email: `person-${i}@example.com` })),
})

const setUp = async (t: Test, kind: DatabaseKind) => {
  const database = await kind.open(t)
  const { apiKey } = await seed(database.env)
  const start = async (): Promise<Program> => {
    const server = await startServer(t, { ...database.env, RATE_LIMIT_PER_MINUTE: '1000000' })
    return server
  }
  const server = await start()
  const call = caller(server.url, apiKey)
  const { body: hook } = await call('POST', '/v0/hooks', HOOK)
  const { body: hookByBody } = await call('POST', '/v0/hooks', HOOK_BY_BODY)
  const paths = { hookPath: String(hook.path), hookByBodyPath: String(hookByBody.path) }
  return { database, random: faultsRandom(t), start, server, ...paths }
}
type Scene = Awaited<ReturnType<typeof setUp>>

/** Vendors that repeat each delivery until it is accepted, as vendors do, and forgers that never succeed. */
const startTraffic = (t: Test, { hookPath, hookByBodyPath }: Scene, url: () => string) => {
  const statuses = new Map<number, number>()
  /** The ids of the activities that were returned, by the id of the delivery. */
  const accepted = new Map<string, readonly string[]>()
  /** For each body, the ids that were returned since its logs were made a day old, from one such day to the next. */
  const acceptedBodies: Set<string>[][] = [newDay()]
  let deliveries = 0
  let isOver = false

  /** Returns the ids of the activities, or null unless the request was accepted. */
  const post = async (
    { type, body }: Request,
    signature: string,
    path = hookPath,
  ): Promise<readonly string[] | null> => {
    const headers = { 'x-signature': signature, 'content-type': type, connection: 'close' }
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    let status = 0
    let answer: unknown = null
    try {
      const response = await fetch(url() + path, { method: 'POST', headers, body, signal })
      answer = await response.json()
      status = response.status
    } catch {
      // The server was killed.
    }
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    return status === 200 ? (answer as { prospectLogIds: string[] }).prospectLogIds : null
  }
  const deliver = async (number: number): Promise<void> => {
    const encode = ENCODINGS[number % ENCODINGS.length] ?? asJson
    for (let attempt = 1; ; attempt++) {
      const delivery = deliveryOf(number, attempt)
      const request = encode(delivery)
      const ids = await post(request, signatureOf(request.body))
      if (ids !== null) {
        accepted.set(delivery.fields.id, ids)
        return
      }
      await pause(RETRY_PAUSE_MS)
    }
  }
  const repeatBody = async (number: number): Promise<void> => {
    const body = JSON.stringify({ number })
    while (!isOver) {
      const ids = await post({ type: 'application/json', body }, signatureOf(body), hookByBodyPath)
      for (const id of ids ?? []) acceptedBodies.at(-1)?.[number]?.add(id)
      await pause(RETRY_PAUSE_MS)
    }
  }
  const vendor = async () => {
    while (!isOver) await deliver(++deliveries)
  }
  const forger = async () => {
    while (!isOver) {
      const forged = { type: 'text/plain', body: randomUUID() }
      const ids = await post(forged, signatureOf('another'))
      if (ids !== null) t.fail('a forgery was accepted')
    }
  }

  const vendors = Array.from({ length: VENDORS }, vendor)
  const forgers = Array.from({ length: FORGERS }, forger)
  // Two at once send each body.
  const repeaters = Array.from({ length: 2 * BODIES }, (_, i) => repeatBody(i % BODIES))
  return {
    statuses,
    accepted,
    acceptedBodies,
    /** Call it while no server runs. */
    nextDay: () => acceptedBodies.push(newDay()),
    /** Resolves once every delivery is accepted. */
    stop: async (): Promise<void> => {
      isOver = true
      await Promise.all([...vendors, ...forgers, ...repeaters])
    },
  }
}

const newDay = () => Array.from({ length: BODIES }, () => new Set<string>())

for (const kind of databaseKinds())
  t.test(
    `deliveries to a hook are stored once while ${ROUNDS} servers on ${kind.name} are killed`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.setTimeout(0)
      t.teardown(kind.end)
      const scene = await setUp(t, kind)
      let { server } = scene
      const { accepted, acceptedBodies, nextDay, statuses, stop } = startTraffic(t, scene, () => server.url)
      for (let round = 0; round < ROUNDS; round++) {
        const enough = accepted.size + DELIVERIES_MIN
        await until('deliveries are accepted', () => accepted.size > enough, { tries: Infinity, pauseMs: 10 })
        await pause(scene.random.below(KILL_PAUSE_MS_MAX))
        await server.kill()
        await scene.database.rows(
          `update prospect_logs set created_at = '${LONG_AGO}' where source = '${HOOK_BY_BODY.source}'`,
        )
        nextDay()
        server = await scene.start()
      }
      await stop()

      const activities = await scene.database.rows<{ key: string; id: string }>(
        `select idempotency_key as key, prospect_log_id as id from prospect_logs where source = '${HOOK.source}'`,
      )
      const byBody = await scene.database.rows<{ key: string; id: string }>(
        `select idempotency_key as key, prospect_log_id as id from prospect_logs
        where source = '${HOOK_BY_BODY.source}'`,
      )
      await t.test(
        'each activity that was acknowledged is stored with the key of its delivery',
        async (t) => {
          // The nth activity of the delivery `d1` has the key `d1:n`, a form's only one has the key `d1`.
          const deliveryIds = new Map(activities.map(({ key, id }) => [id, key.split(':')[0]]))
          const wrong: string[] = []
          for (const [deliveryId, ids] of accepted)
            for (const id of ids) if (deliveryIds.get(id) !== deliveryId) wrong.push(`${id} of ${deliveryId}`)
          t.strictSame(wrong, [])
        },
      )
      await t.test('nothing else is stored, and nothing twice', async (t) => {
        const keys = new Set(activities.map(({ key }) => key))
        t.equal(activities.length, keys.size, 'each key once')
        t.equal(activities.length, [...accepted.values()].flat().length, 'as many as were acknowledged')
      })
      await t.test('a body whose hash is its key is stored once a day', async (t) => {
        const stored = new Set(byBody.map(({ id }) => id))
        const keys = new Set(byBody.map(({ key }) => key))
        t.equal(keys.size, BODIES)
        for (const key of keys)
          t.ok(byBody.filter((log) => log.key === key).length <= ROUNDS + 1, 'at most once a day')
        const returned = acceptedBodies.flat().flatMap((ids) => [...ids])
        t.ok(
          acceptedBodies.flat().every(({ size }) => size <= 1),
          'one id a day',
        )
        t.equal(new Set(returned).size, returned.length, 'another one each day')
        t.ok(
          returned.every((id) => stored.has(id)),
          'and each is stored',
        )
        t.comment(`${byBody.length} activities of ${BODIES} bodies`)
      })
      await t.test('no vendor is refused because of the forgers', async (t) => {
        const unexpected = [...statuses.keys()].filter((status) => !EXPECTED_STATUSES.includes(status))
        t.strictSame(unexpected, [])
      })
      t.ok(accepted.size > DELIVERIES_MIN * ROUNDS, `${accepted.size} deliveries`)
      t.comment(
        `${kind.name}: ${activities.length} activities; answers by status: ${[...statuses].join('; ')}`,
      )
      t.equal(await server.stop(), 0)
    },
  )
