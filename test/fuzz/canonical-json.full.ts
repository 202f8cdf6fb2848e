import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { canonicalJson } from '../../src/json/canonical-json.ts'
import { isJson } from '../../src/json/is-json.ts'
import { anyJson, type Json, shallowJson, spelled, spelling } from './json-texts.ts'

const RUNS = 3_000

/** The same with numbers as texts: they are compared as they are written. */
const withoutNumbers = (json: Json): Json => {
  if ('numeral' in json) return { string: JSON.stringify(json.numeral) }
  if ('elements' in json) return { elements: json.elements.map(withoutNumbers) }
  if ('members' in json)
    return { members: json.members.map(([name, value]) => [name, withoutNumbers(value)] as const) }
  return json
}
const value = shallowJson.map(withoutNumbers)

t.test('two spellings of a value have one canonical text', async () => {
  const property = fc.property(value, spelling, spelling, (json, one, other) => {
    assert.equal(canonicalJson(spelled(json, one)), canonicalJson(spelled(json, other)))
  })
  fc.assert(property, { numRuns: RUNS })
})

t.test('two texts have one canonical text exactly if they have the same value', async (t) => {
  let equal = 0
  // Small values are often equal.
  const small = fc.oneof(
    value,
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y')), { maxLength: 3 })
      .map((members): Json => ({ members: members.map(([name, string]) => [name, { string }] as const) })),
  )
  const property = fc.property(small, small, spelling, spelling, (one, other, way, otherWay) => {
    const texts = [spelled(one, way), spelled(other, otherWay)] as const
    const areEqual = isDeepStrictEqual(JSON.parse(texts[0]), JSON.parse(texts[1]))
    if (areEqual) equal++
    assert.equal(canonicalJson(texts[0]) === canonicalJson(texts[1]), areEqual, texts.join('\n'))
  })
  fc.assert(property, { numRuns: RUNS })
  t.ok(equal > 50, `${equal} pairs were equal`)
})

t.test('a canonical text is well-formed, has the same value, and is its own canonical text', async () => {
  const property = fc.property(anyJson, spelling, (json, way) => {
    const text = spelled(json, way)
    const canonical = canonicalJson(text)
    assert.equal(canonicalJson(canonical), canonical)
    assert.equal(isJson(canonical), isJson(text))
    if (!('text' in json)) assert.deepEqual(JSON.parse(canonical), JSON.parse(text))
  })
  fc.assert(property, { numRuns: RUNS / 10 })
})
