import { type Random, randomBy } from '../store-contract/random.ts'

/** A template with the values that fill it in, and the value that its result must parse to. */
type TemplateCase = { readonly values: object; readonly template: unknown; readonly expected: unknown }
/** A part of a template, and its result, which is `LEFT_OUT` if an optional place in it has no value. */
type Part = { readonly template: unknown; readonly expected: unknown }
type PartMaker = (random: Random, values: object, depth: number) => Part

const LEFT_OUT = Symbol('left out')
const DEPTH_MAX = 4
const NAMES = ['a', 'b?', '', '~/', '{{/a}}', '"', '0', 'items', 'é\n']
/** A place cannot hold a brace, so no pointer leads to the other names. */
const NAMES_IN_POINTERS = NAMES.filter((name) => !/[{}]/.test(name))
const STRINGS = ['', 'x', '{{/a}}', '"\\\n\u2028', '\ud800']

/**
 * Returns a function that makes random templates over random values, the same ones for the same seed. Their results are
 * computed from parsed values, so that they owe nothing to the code under test.
 */
export const templateCasesBy = (seed: number): (() => TemplateCase) => {
  const random = randomBy(seed)
  return () => {
    const values = objectOf(random, 0)
    const { template, expected } = partOf(random, values, 0)
    return { values, template, expected: expected === LEFT_OUT ? null : expected }
  }
}

const objectOf = (random: Random, depth: number): object =>
  Object.fromEntries(
    Array.from({ length: random.below(4) }, () => [random.oneOf(NAMES), anyValueOf(random, depth + 1)]),
  )

const anyValueOf = (random: Random, depth: number): unknown => {
  const makers: (() => unknown)[] = [
    () => random.below(1_000) / 8,
    () => null,
    () => true,
    () => random.oneOf(STRINGS),
  ]
  if (depth < DEPTH_MAX) {
    makers.push(() => objectOf(random, depth))
    makers.push(() => Array.from({ length: random.below(3) }, () => anyValueOf(random, depth + 1)))
  }
  return random.oneOf(makers)()
}

/** Places inside a string are the most frequent kind, because they are the hardest to fill in. */
const partOf = (random: Random, values: object, depth: number): Part => {
  const makers: PartMaker[] = [wholeStringOf, insideStringOf, insideStringOf, insideStringOf]
  if (depth < DEPTH_MAX) makers.push(fixedTextOf, parentOf)
  return random.oneOf(makers)(random, values, depth)
}

const wholeStringOf = (random: Random, values: object): Part => {
  const { place, value, isLeftOut } = placeOf(random, values)
  return { template: place, expected: isLeftOut ? LEFT_OUT : (value ?? null) }
}

const insideStringOf = (random: Random, values: object): Part => {
  const { place, value, isLeftOut } = placeOf(random, values)
  const text = textOf(value)
  return { template: `"${place}\n${place}`, expected: isLeftOut ? LEFT_OUT : `"${text}\n${text}` }
}

const fixedTextOf = (): Part => ({ template: 'as } { is', expected: 'as } { is' })

const parentOf = (random: Random, values: object, depth: number): Part => {
  const children = Array.from({ length: random.below(4) }, (_, i) => ({
    name: `m${i}{{`,
    ...partOf(random, values, depth + 1),
  }))
  const kept = children.filter(({ expected }) => expected !== LEFT_OUT)
  if (random.onceIn(2))
    return {
      template: children.map(({ template }) => template),
      expected: kept.map(({ expected }) => expected),
    }
  return {
    template: Object.fromEntries(children.map(({ name, template }) => [name, template])),
    expected: Object.fromEntries(kept.map(({ name, expected }) => [name, expected])),
  }
}

const placeOf = (random: Random, values: object) => {
  // A question mark at the end would make the place optional.
  const pointer = pointerOf(random).replace(/\?$/, '')
  const isOptional = random.onceIn(2)
  const value = valueAt(values, pointer)
  return {
    place: `{{${pointer}${isOptional ? '?' : ''}}}`,
    value,
    isLeftOut: isOptional && (value === undefined || value === null),
  }
}

const pointerOf = (random: Random): string =>
  random
    .many(3, () => random.oneOf(NAMES_IN_POINTERS))
    .map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')

/** The value at a JSON Pointer, or undefined. */
const valueAt = (root: object, pointer: string): unknown => {
  let found: unknown = root
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Record<string, unknown>)[name]
  }
  return found
}

/** A value as a place inside a string shows it. */
const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
