import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { openScene } from '../support/api.ts'
import { activityBody } from './bodies.ts'
import { always } from './scene.ts'

const RUNS = 300
const BYTES_MAX = 100_000
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
type Item = { status: number; prospectLog?: object; problem?: object; replayed?: boolean }

/** Undefined unless the bytes are JSON that can stand in a list. */
const textOf = (body: Uint8Array): string | undefined => {
  try {
    const text = utf8.decode(body)
    JSON.parse(text)
    return text
  } catch {
    return undefined
  }
}
const blanks = fc.constantFrom('', ' ', '\n', '\t\r\n  ')
/** Text that may surround the items: other members, an earlier member of the same name, an escaped name. */
const envelope = fc
  .record({
    before: fc.constantFrom('', '"a":[1,{"items":[0]}],', '"items":[],', '"it\\"ems":"],{",'),
    name: fc.constantFrom('items', '\\u0069tems'),
    after: fc.constantFrom('', ',"b":{}', ',"item":[{"source":1}]'),
    blank: blanks,
  })
  .map(
    ({ before, name, after, blank }) =>
      (items: readonly string[]) =>
        `${blank}{${before}${blank}"${name}"${blank}:${blank}[${blank}${items.join(`${blank},${blank}`)}${blank}]${after}}${blank}`,
  )

/** The same in both, where the ids of requests and entries may differ. */
const comparable = ({ status, prospectLog, problem, replayed = false }: Item) => ({
  status,
  replayed,
  ...(prospectLog && { ...prospectLog, prospectId: '', prospectLogId: '' }),
  ...(problem && { ...problem, instance: '', prospectLogId: '' }),
})

t.test(
  'a batch answers and stores for each item what single requests would, one after the other',
  async (t) => {
    const bodies = fc.array(activityBody(`prospect_${'1'.padStart(26, '0')}`), {
      minLength: 1,
      maxLength: 12,
    })
    const property = fc.asyncProperty(bodies, envelope, async (given, around) => {
      const items = given.flatMap((body) => textOf(body) ?? [])
      fc.pre(items.length > 0)
      const together = await openScene()
      const apart = await openScene()
      const sent = { body: around(items), bytesMax: BYTES_MAX }
      const answer = await together.call('POST /v0/prospect_logs/batch', sent)
      const singles: Item[] = []
      for (const body of items) {
        const single = await apart.call('POST /v0/prospect_logs', { body, bytesMax: BYTES_MAX })
        const { status, json } = single
        const replayed = single.headers['idempotent-replayed'] === 'true'
        singles.push(status === 201 ? { status, prospectLog: json, replayed } : { status, problem: json })
      }
      const results = answer.json['items'] as Item[]
      assert.deepEqual(results.map(comparable), singles.map(comparable))
      const refused = singles.filter(({ status }) => status !== 201).length
      assert.deepEqual(
        [answer.status, answer.headers['items-refused'], answer.json['accepted'], answer.json['refused']],
        [refused === 0 ? 201 : 207, String(refused), items.length - refused, refused],
      )
      const keptIn = (scene: typeof apart) =>
        scene.store.kept.logs().map(({ payload, email, type }) => [payload, email, type])
      assert.deepEqual(keptIn(together), keptIn(apart))
      assert.deepEqual([together.errors, apart.errors], [[], []])
    })
    await always(t, property, RUNS)
  },
)

t.test('whatever the envelope is, it is refused as a whole or answered for each item', async (t) => {
  const anything = fc.oneof(
    fc.json({ maxDepth: 3 }),
    fc.json({ maxDepth: 2 }).map((json) => `{"items":${json}}`),
    fc.array(fc.json({ maxDepth: 2 }), { maxLength: 5 }).map((items) => `{"items":[${items}]}`),
    fc.string().map((text) => `{"items":[${text}`),
  )
  const { call, errors, store } = await openScene()
  const property = fc.asyncProperty(anything, async (body) => {
    const before = store.kept.logs().length
    const { status, json } = await call('POST /v0/prospect_logs/batch', { body })
    if (status === 400) return assert.equal(store.kept.logs().length, before)
    const { items } = JSON.parse(body)
    assert.ok(status === 201 || status === 207)
    assert.equal((json['items'] as Item[]).length, items.length)
    assert.deepEqual(errors, [])
  })
  await always(t, property, RUNS)
})
