import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { openScene } from '../support/api.ts'
import { activityBody } from './bodies.ts'
import { always } from './scene.ts'

const RUNS = 300
const BYTES_MAX = 100_000
const FIRST_PROSPECT = `prospect_${'1'.padStart(26, '0')}`
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

type Scene = Awaited<ReturnType<typeof openScene>>
/** The result of one activity, as a batch lists it. */
type Result = {
  readonly status: number
  readonly prospectLog?: object
  readonly problem?: object
  readonly replayed?: boolean
}
/** What stands around the items of a batch. */
type Envelope = {
  readonly before: string
  readonly name: string
  readonly after: string
  readonly blank: string
}

const envelope: fc.Arbitrary<Envelope> = fc.record({
  // Other members, and earlier ones of the same or a similar name.
  before: fc.constantFrom('', '"a":[1,{"items":[0]}],', '"items":[],', '"it\\"ems":"],{",'),
  name: fc.constantFrom('items', '\\u0069tems'),
  after: fc.constantFrom('', ',"b":{}', ',"item":[{"source":1}]'),
  blank: fc.constantFrom('', ' ', '\n', '\t\r\n  '),
})
const batchBody = (items: readonly string[], { before, name, after, blank }: Envelope): string => {
  const list = items.join(`${blank},${blank}`)
  return `${blank}{${before}${blank}"${name}"${blank}:${blank}[${blank}${list}${blank}]${after}}${blank}`
}

t.test('a batch returns and stores for each item what single requests in turn would', async (t) => {
  const bodies = fc.array(activityBody(FIRST_PROSPECT), { minLength: 1, maxLength: 12 })
  const property = fc.asyncProperty(bodies, envelope, async (bodies, envelope) => {
    const items = bodies.map(jsonText).filter((text) => text !== null)
    fc.pre(items.length > 0)
    const batchScene = await openScene()
    const singleScene = await openScene()

    const batch = await batchScene.call('POST /v0/prospect_logs/batch', {
      body: batchBody(items, envelope),
      bytesMax: BYTES_MAX,
    })
    const singles: Result[] = []
    for (const body of items) singles.push(await logSingle(singleScene, body))

    const results = batch.json['items'] as Result[]
    assert.deepEqual(results.map(withoutIds), singles.map(withoutIds))

    const refused = singles.filter(({ status }) => status !== 201).length
    assert.equal(batch.status, refused === 0 ? 201 : 207)
    assert.equal(batch.headers['items-refused'], String(refused))
    assert.equal(batch.json['accepted'], items.length - refused)
    assert.equal(batch.json['refused'], refused)

    assert.deepEqual(logsIn(batchScene), logsIn(singleScene))
    assert.deepEqual(batchScene.errors, [])
    assert.deepEqual(singleScene.errors, [])
  })
  await always(t, property, RUNS)
})

t.test('any JSON sent as a batch is refused whole, or gets a result for each item', async (t) => {
  const anyBody = fc.oneof(
    fc.json({ maxDepth: 3 }),
    fc.json({ maxDepth: 2 }).map((json) => `{"items":${json}}`),
    fc.array(fc.json({ maxDepth: 2 }), { maxLength: 5 }).map((items) => `{"items":[${items}]}`),
    fc.string().map((text) => `{"items":[${text}`),
  )
  const { call, errors, store } = await openScene()
  const property = fc.asyncProperty(anyBody, async (body) => {
    const logsBefore = store.kept.logs().length
    const { status, json } = await call('POST /v0/prospect_logs/batch', { body })
    if (status === 400) {
      assert.equal(store.kept.logs().length, logsBefore)
      return
    }
    assert.ok(status === 201 || status === 207)
    const { items } = JSON.parse(body)
    assert.equal((json['items'] as Result[]).length, items.length)
    assert.deepEqual(errors, [])
  })
  await always(t, property, RUNS)
})

/** The text of a body that can stand in a list, or null if it is not JSON. */
const jsonText = (body: Uint8Array): string | null => {
  try {
    const text = utf8.decode(body)
    JSON.parse(text)
    return text
  } catch {
    return null
  }
}

/** Logs an activity on its own, and returns its result as a batch would list it. */
const logSingle = async ({ call }: Scene, body: string): Promise<Result> => {
  const { status, headers, json } = await call('POST /v0/prospect_logs', { body, bytesMax: BYTES_MAX })
  if (status !== 201) return { status, problem: json }
  return { status, prospectLog: json, replayed: headers['idempotent-replayed'] === 'true' }
}

/** A result without the ids that differ between two scenes. */
const withoutIds = ({ status, prospectLog, problem, replayed = false }: Result) => ({
  status,
  replayed,
  prospectLog: prospectLog && { ...prospectLog, prospectId: '', prospectLogId: '' },
  problem: problem && { ...problem, instance: '', prospectLogId: '' },
})

const logsIn = ({ store }: Scene) =>
  store.kept.logs().map(({ payload, email, type }) => ({ payload, email, type }))
