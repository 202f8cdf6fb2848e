import assert from 'node:assert/strict'
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

/**
 * The canonical text, written from the value.
 *
 * `JSON.parse` cannot tell which texts have the same value. V8 guesses a name from the objects it has parsed, and compares
 * without undoing escapes: in Node 24, once `{"a":1,"\\":2}` was parsed, `{"a":1,"\n":2}` has the name `\`, too.
 */
const canonicalOf = (json: Json): string => {
  if ('literal' in json) return json.literal
  if ('string' in json) return JSON.stringify(json.string)
  if ('elements' in json) return `[${json.elements.map(canonicalOf).join(',')}]`
  assert('members' in json)
  const members = new Map(json.members.map(([name, value]) => [JSON.stringify(name), canonicalOf(value)]))
  const names = [...members.keys()].sort()
  return `{${names.map((name) => `${name}:${members.get(name)}`).join(',')}}`
}

t.test('all spellings of a value have the canonical text of the value', async () => {
  const property = fc.property(value, spelling, (json, way) => {
    assert.equal(canonicalJson(spelled(json, way)), canonicalOf(json))
  })
  fc.assert(property, { numRuns: 2 * RUNS })
})

t.test('a canonical text is well-formed, and is its own canonical text', async () => {
  const property = fc.property(anyJson, spelling, (json, way) => {
    const text = spelled(json, way)
    const canonical = canonicalJson(text)
    assert.equal(canonicalJson(canonical), canonical)
    assert.equal(isJson(canonical), isJson(text))
  })
  fc.assert(property, { numRuns: RUNS / 10 })
})
