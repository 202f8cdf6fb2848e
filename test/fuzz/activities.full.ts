import assert from 'node:assert/strict'
import fc from 'fast-check'
import { opened, overStores } from '../support/stores.ts'
import { activityBody } from './bodies.ts'
import { ACTIVITY, type Verdict, verdictOn } from './expected.ts'
import { always, type Heard, openFuzz } from './scene.ts'

const RUNS = 300
const TOGETHER_MAX = 5
const LOG = '/v0/prospect_logs'

overStores(async (t, kind) => {
  const world = await openFuzz(await opened(t, kind))
  const plain = { body: Buffer.from('{"source":"crm","payload":{}}') }
  const { prospectId } = (await world.ask('POST', LOG, plain)).json as { prospectId: string }

  t.test('an activity is accepted exactly when its body is as specified, and kept as sent', async (t) => {
    const keys = new Set<string>()
    const accepted = new Map<string, object>()
    const counts = { accepted: 0, refused: 0, unreadable: 0 }

    const look = ({ status, code, faults, json, headers }: Heard, verdict: Verdict, mayBeAgain: boolean) => {
      if (verdict.code === 'invalid_json') {
        counts.unreadable++
        return assert.equal(code, 'invalid_json')
      }
      if (verdict.code === 'invalid_request') {
        counts.refused++
        assert.equal(code, 'invalid_request')
        return assert.deepEqual(faults, [...verdict.pointers].sort())
      }
      const { fields, texts } = verdict
      if (mayBeAgain && (code === 'idempotency_key_reused' || headers['idempotent-replayed'])) return
      if (fields['prospectId'] !== undefined && fields['prospectId'] !== prospectId)
        return assert.equal(code, 'prospect_not_found')
      assert.equal(status, 201, code ?? '')
      counts.accepted++
      const { source, type = 'webhook', email = null, name = null, idempotencyKey = null } = fields
      assert.deepEqual([json['source'], json['type']], [source, type])
      if (fields['prospectId'] !== undefined)
        assert.deepEqual([json['prospectId'], json['createdProspect']], [prospectId, false])
      if (fields['prospectId'] === undefined && !String(email).includes('@'))
        assert.equal(json['createdProspect'], true)
      const payload = { rawJson: texts.get('payload') }
      accepted.set(String(json['prospectLogId']), { source, type, payload, email, name, idempotencyKey })
    }

    const together = fc.array(activityBody(prospectId), { minLength: 1, maxLength: TOGETHER_MAX })
    const property = fc.asyncProperty(together, async (bodies) => {
      const verdicts = bodies.map((body) => verdictOn(ACTIVITY, body))
      const names = verdicts.map(keyOf)
      const [, ...answers] = await Promise.all([
        world.stillFine(),
        ...bodies.map((body) => world.ask('POST', LOG, { body })),
      ])
      for (const [i, answer] of answers.entries()) {
        const name = names[i] ?? null
        const isTwice = names.indexOf(name) !== names.lastIndexOf(name)
        look(answer, verdicts[i] as Verdict, name !== null && (keys.has(name) || isTwice))
      }
      for (const name of names) if (name !== null) keys.add(name)
    })
    await always(t, property, RUNS)

    const { logs } = await world.kept()
    const kept = logs.map(({ source, type, payload, email, name, idempotencyKey }) => ({
      source,
      type,
      payload,
      email,
      name,
      idempotencyKey,
    }))
    for (const [i, { prospectLogId }] of logs.entries()) {
      const sent = accepted.get(prospectLogId)
      if (sent !== undefined) assert.deepEqual(kept[i], sent)
      accepted.delete(prospectLogId)
    }
    t.strictSame([...accepted.keys()], [], 'every accepted activity is there')
    t.equal(logs.length, counts.accepted + 1, 'and nothing else')
    t.comment(JSON.stringify(counts))
    t.ok(counts.accepted > RUNS / 2 && counts.refused > 20 && counts.unreadable > 20, 'all of it came about')
  })
})

/** Names the idempotency key within its source; null where there is none. */
const keyOf = (verdict: Verdict): string | null => {
  const { source, idempotencyKey } = verdict.code === null ? verdict.fields : {}
  return idempotencyKey === undefined ? null : JSON.stringify([source, idempotencyKey])
}
