import assert from 'node:assert/strict'
import fc from 'fast-check'
import { HOUR_MS, MAP, openHooks } from '../contract/hook-scene.ts'
import { SECRET, signatureOf } from '../support/hooks.ts'
import { overStores } from '../support/stores.ts'

const RUNS = 60
const DAY_MS = 24 * HOUR_MS

/** Spellings of the same people; the last is nobody. */
const PEOPLE = [
  ['ada@x.example', ' ADA@x.example'],
  ['bob@x.example', '<bob@X.example>'],
  ['n/a', ''],
]
const step = fc.record({
  hook: fc.nat(3),
  id: fc.nat(2),
  type: fc.constantFrom('paid', 'created'),
  person: fc.nat(PEOPLE.length - 1),
  spelling: fc.nat(1),
  attempt: fc.nat(2),
  pauseMs: fc.constantFrom(0, 0, 0, 1, HOUR_MS, DAY_MS - HOUR_MS, DAY_MS),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

overStores(async (t, kind) => {
  t.test('a delivery is a replay exactly if its key says so', async (t) => {
    const scene = await openHooks(t, kind)
    const { clock, create, send, call } = scene
    const byHand = [await create({ map: MAP }), await create({ map: MAP })]
    const byBody = await create({ map: { ...MAP, idempotencyKey: ['sha256'] } })
    const byEvent = await create({
      verify: { preset: 'github', secret: SECRET },
      map: { email: ['/email'], type: ['/type'] },
    })
    const hooks = [...byHand, byBody, byEvent]
    /** The log that has each key, and since when. */
    const known = new Map<string, { readonly id: string; readonly at: number }>()
    const counts = { logged: 0, replayed: 0, expired: 0 }
    let run = 0

    const keyOf = (sent: Step, body: string): string => {
      const { hook, id, type, person } = sent
      if (hook === 3) return JSON.stringify([run, 'event', id])
      if (hook === 2) return JSON.stringify(['body', body])
      return JSON.stringify([run, hook, id, type, person])
    }
    const deliver = async (sent: Step): Promise<void> => {
      clock.advance(sent.pauseMs)
      const { hook, type, person } = sent
      // Few different bodies, so that they come again.
      const [spelling, attempt] = hook === 2 ? [0, 0] : [sent.spelling, sent.attempt]
      const id = `${run}-${sent.id}`
      const body = JSON.stringify({ id, type, email: PEOPLE[person]?.[spelling], attempt })
      const signature = signatureOf(body)
      const headers = {
        'x-signature': signature,
        'x-hub-signature-256': `sha256=${signature}`,
        'x-github-delivery': id,
      }
      const { status, json } = await send(hooks[hook]?.path ?? '', body, headers)
      assert.equal(status, 200)
      const key = keyOf(sent, body)
      const first = known.get(key)
      const isExpired = hook === 2 && first !== undefined && clock() - first.at >= DAY_MS
      const isReplay = first !== undefined && !isExpired
      assert.equal(json.replayed, isReplay, `${key} ${JSON.stringify(first)} at ${clock()}`)
      const [logged = ''] = json.prospectLogIds ?? []
      if (isReplay) assert.equal(logged, first.id)
      else known.set(key, { id: logged, at: clock() })
      counts[isReplay ? 'replayed' : isExpired ? 'expired' : 'logged']++
    }
    const steps = fc.array(step, { minLength: 10, maxLength: 40 })
    const property = fc.asyncProperty(steps, async (sent) => {
      run++
      for (const one of sent) await deliver(one)
    })
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true })

    // Every log of a text is found by it.
    const found = await call(`GET /v0/prospect_logs?source=vendor&limit=100&idempotencyKey=${run}-0`)
    const expected = [...known]
      .filter(([key]) => {
        const [ofRun, , id] = JSON.parse(key)
        return ofRun === run && id === 0
      })
      .map(([, { id }]) => id)
    const items = found.json['items'] as unknown as { prospectLogId: string }[]
    t.strictSame(items.map(({ prospectLogId }) => prospectLogId).toSorted(), expected.toSorted())
    t.comment(JSON.stringify(counts))
    t.ok(counts.logged > 100 && counts.replayed > 100 && counts.expired > 5, JSON.stringify(counts))
  })
})
