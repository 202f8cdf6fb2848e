import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { signatureOf } from '../support/hooks.ts'
import { caller, databaseKinds, seed, startServer } from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

// Each test has its time limit from the command that runs it.
t.setTimeout(0)

const ROUNDS = timesOf(4)
const VENDORS = 8
const FORGERS = 4

type Fields = Readonly<Record<'id' | 'attempt' | 'email', string>>
/** A delivery as JSON with items, and as browsers and vendors encode a form. */
type Encode = (fields: Fields, items: readonly object[]) => readonly [type: string, body: string]
const ENCODED: readonly [Encode, ...Encode[]] = [
  (fields, items) => ['application/json', JSON.stringify({ ...fields, items })],
  (fields) => ['application/x-www-form-urlencoded', String(new URLSearchParams(fields))],
  (fields) => [
    'multipart/form-data; boundary=X',
    `${Object.entries(fields)
      .map(([name, value]) => `--X\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
      .join('')}--X--\r\n`,
  ],
]

/** A vendor tries until it is answered 200, as vendors do, over servers that are killed in the midst of it. */
for (const kind of databaseKinds())
  t.test(
    `${ROUNDS} servers killed under deliveries on ${kind.name}`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.setTimeout(0)
      t.teardown(kind.end)
      const database = await kind.open(t)
      const { apiKey } = await seed(database.env)
      const random = faultsRandom(t)
      const start = async () => {
        const server = await startServer(t, { ...database.env, RATE_LIMIT_PER_MINUTE: '1000000' })
        return server
      }
      let server = await start()
      const hmac = { algorithm: 'sha256', encoding: 'hex', header: 'x-signature' }
      const hook = {
        source: 'vendor',
        verify: { hmac, secret: 'made up' },
        each: '/items',
        map: { email: ['/email'], idempotencyKey: ['/id'] },
      }
      const { body: created } = await caller(server.url, apiKey)('POST', '/v0/hooks', hook)
      const statuses = new Map<number, number>()
      /** The ids that were answered, by the key of each delivery. */
      const told = new Map<string, readonly string[]>()
      let sent = 0
      let isOver = false

      const post = async (body: string, signature: string, type = 'text/plain') => {
        const { status, json } = await fetch(server.url + created.path, {
          method: 'POST',
          headers: { 'x-signature': signature, 'content-type': type, connection: 'close' },
          body,
          signal: AbortSignal.timeout(10_000),
        }).then(
          async (response) => ({ status: response.status, json: await response.json() }),
          () => ({ status: 0, json: null }),
        )
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        return status === 200 ? (json as { prospectLogIds: string[] }).prospectLogIds : null
      }
      const vendor = async () => {
        while (!isOver) {
          const id = `d${++sent}`
          const items = Array.from({ length: sent % 3 }, (_, i) => ({ email: `person-${i}@example.com` }))
          const encode = ENCODED[sent % 4] ?? ENCODED[0]
          for (let attempt = 1; !told.has(id); attempt++) {
            const fields = { id, attempt: `${attempt}`, email: `person-${sent % 50}@example.com` }
            const [type, body] = encode(fields, items)
            const ids = await post(body, signatureOf(body), type)
            if (ids !== null) told.set(id, ids)
            else await pause(20)
          }
        }
      }
      const forger = async () => {
        while (!isOver)
          if ((await post(randomUUID(), signatureOf('another'))) !== null) t.fail('a forgery is stored')
      }
      const all = [...Array.from({ length: VENDORS }, vendor), ...Array.from({ length: FORGERS }, forger)]
      for (let round = 0; round < ROUNDS; round++) {
        const before = told.size
        while (told.size <= before + 10) await pause(10)
        await pause(random.below(300))
        await server.kill()
        server = await start()
      }
      isOver = true
      await Promise.all(all)

      type Row = { key: string; id: string }
      const rows = await database.rows<Row>(
        'select idempotency_key as key, prospect_log_id as id from prospect_logs',
      )
      const keyOf = new Map(rows.map(({ key, id }) => [id, key]))
      const wrong = [...told].filter(([key, ids]) => ids.some((id) => keyOf.get(id)?.split(':')[0] !== key))
      t.strictSame(wrong, [], 'every id that was answered is stored, under the key of its delivery')
      t.equal(new Set(rows.map(({ key }) => key)).size, rows.length, 'nothing is stored twice')
      t.equal(rows.length, [...told.values()].flat().length, 'and nothing else')
      t.ok(told.size > 10 * ROUNDS, `${told.size} deliveries`)
      t.strictSame(
        [...statuses.keys()].filter((status) => ![0, 200, 401, 503].includes(status)),
        [],
        'no vendor is refused for the forgers',
      )
      t.comment(
        `${kind.name}: ${told.size} deliveries, ${rows.length} activities; ${[...statuses].join('; ')}`,
      )
      t.equal(await server.stop(), 0)
    },
  )
