import assert from 'node:assert/strict'
import fc from 'fast-check'
import { opened, overStores } from '../support/stores.ts'
import { anyJson, anyObject, type Json, type Member, memberName, spelled, spelling } from './json-texts.ts'
import { always, openFuzz } from './scene.ts'

const LOG = '/v0/prospect_logs'

/** The members of an object, of which the last of a name counts. */
const byName = (members: readonly Member[]) => new Map(members)

const sameMembers = (one: readonly Member[], other: readonly Member[]): boolean => {
  const [ours, theirs] = [byName(one), byName(other)]
  return (
    ours.size === theirs.size &&
    [...ours].every(([name, value]) => {
      const its = theirs.get(name)
      return its !== undefined && same(value, its)
    })
  )
}

/** Whether two values are one JSON value: the order of members and the spelling do not count. */
const same = (one: Json, other: Json): boolean => {
  if ('members' in one) return 'members' in other && sameMembers(one.members, other.members)
  if ('elements' in one)
    return (
      'elements' in other &&
      one.elements.length === other.elements.length &&
      one.elements.every((element, i) => same(element, other.elements[i] as Json))
    )
  if ('string' in one) return 'string' in other && one.string === other.string
  if ('literal' in one) return 'literal' in other && one.literal === other.literal
  if ('text' in one) return 'text' in other && one.text === other.text
  if (!('numeral' in other)) return false
  const [ours, theirs] = [one.numeral, other.numeral]
  if (ours.digits === '' || theirs.digits === '') return ours.digits === theirs.digits
  return (
    ours.digits === theirs.digits &&
    ours.exponent === theirs.exponent &&
    ours.isNegative === theirs.isNegative
  )
}

const turned = (json: Json): Json =>
  'members' in json && byName(json.members).size === json.members.length
    ? { members: json.members.toReversed().map(([name, value]) => [name, turned(value)] as const) }
    : 'elements' in json
      ? { elements: json.elements.map(turned) }
      : json

/** The value with another one put somewhere into it. */
const changed = (json: Json, where: number, put: Json): Json => {
  const replaced = <Item>(items: readonly Item[], change: (item: Item) => Item) =>
    items.map((item, i) => (i === where % items.length ? change(item) : item))
  const deeper = Math.floor(where / 7)
  if ('members' in json && json.members.length > 0)
    return {
      members: replaced(json.members, ([name, value]) => [name, changed(value, deeper, put)] as const),
    }
  if ('elements' in json && json.elements.length > 0)
    return { elements: replaced(json.elements, (element) => changed(element, deeper, put)) }
  if ('members' in json) return { members: [['new', put]] }
  if ('numeral' in json && where % 2 === 0)
    return { numeral: { ...json.numeral, digits: `${json.numeral.digits}1` } }
  return put
}
const other = fc.oneof(
  fc.constant((json: Json) => json),
  fc.constant(turned),
  fc.tuple(fc.nat(), anyJson).map(
    ([where, put]) =>
      (json: Json) =>
        changed(json, where, put),
  ),
  fc.tuple(memberName, anyJson).map(
    ([name, value]) =>
      (json: Json): Json =>
        'members' in json ? { members: [...json.members, [name, value]] } : json,
  ),
)

overStores(
  async (t, kind) => {
    const world = await openFuzz(await opened(t, kind))

    t.test(
      'under one key the same payload is a repetition, however it is spelled; another is not',
      async (t) => {
        const counts = { same: 0, other: 0 }
        let keys = 0
        const property = fc.asyncProperty(
          anyObject,
          other,
          spelling,
          spelling,
          async (payload, change, one, two) => {
            const idempotencyKey = `key-${++keys}`
            const then = change(payload)
            const send = (payload: string) =>
              world.ask('POST', LOG, {
                body: Buffer.from(
                  `{"source":"crm","idempotencyKey":"${idempotencyKey}","payload":${payload}}`,
                ),
              })
            const first = await send(spelled(payload, one))
            const second = await send(spelled(then, two))
            if (first.code !== null || second.code === 'invalid_json') {
              // Nested too deep.
              assert.ok([first.code, second.code].includes('invalid_json'))
              return
            }
            if (same(payload, then)) {
              assert.equal(second.headers['idempotent-replayed'], 'true', second.body)
              assert.equal(second.body, first.body)
              counts.same++
            } else {
              assert.equal(second.code, 'idempotency_key_reused')
              assert.equal(second.json['prospectLogId'], first.json['prospectLogId'])
              counts.other++
            }
            await world.stillFine()
          },
        )
        await always(t, property, 500)
        t.comment(JSON.stringify(counts))
        t.ok(counts.same > 100 && counts.other > 100, 'all of it came about')
      },
    )
  },
  ['memory'],
)
