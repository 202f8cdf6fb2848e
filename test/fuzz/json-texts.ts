import fc from 'fast-check'
import { type Random, randomBy } from '../support/random.ts'
import { anyText, PROTOTYPE_NAMES } from './texts.ts'

/** A JSON value that can be spelled in many ways. */
export type Json =
  | { readonly literal: 'true' | 'false' | 'null' }
  | { readonly numeral: Numeral }
  | { readonly string: string }
  | { readonly elements: readonly Json[] }
  | { readonly members: readonly Member[] }
  /** Text of JSON as it stands. */
  | { readonly text: string }
export type Member = readonly [name: string, value: Json]
/** `digits` × 10 ^ `exponent`, without zeros at either end of the digits; zero has none. */
type Numeral = { readonly isNegative: boolean; readonly digits: string; readonly exponent: number }

const digits = fc
  .oneof(
    fc.nat(1_000).map(String),
    fc.constantFrom('9007199254740993', '12345678901234567891', '1'.repeat(400)),
    fc.bigInt({ min: 0n, max: 10n ** 40n }).map(String),
  )
  .map((written) => written.replace(/^0+/, '').replace(/0+$/, ''))
const exponent = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: -25, max: 25 }) },
  { weight: 1, arbitrary: fc.constantFrom(-400, 308, 309, 131_071, -131_071, 999_999_999, -999_999_999) },
)
const numeral = fc.record({ isNegative: fc.boolean(), digits, exponent })

/** Brackets in brackets; about as deep as may be, and much deeper. */
const deep = fc
  .tuple(
    fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 505, max: 511 }) },
      { weight: 1, arbitrary: fc.constantFrom(512, 513, 514, 5_000, 60_000) },
    ),
    fc.constantFrom(['[', ']'], ['{"a":', '}'], ['[{"]":', '}]'], ['[0,', ',{}]']),
  )
  .map(([depth, [open = '', close = '']]): Json => {
    const pairs = Math.floor(depth / (open.startsWith('[{') ? 2 : 1)) - 1
    return { text: `${open.repeat(pairs)}[]${close.repeat(pairs)}` }
  })

export const memberName = fc.oneof(
  { weight: 3, arbitrary: fc.string({ minLength: 1, maxLength: 3 }) },
  { weight: 2, arbitrary: fc.constantFrom(...PROTOTYPE_NAMES, '', '0', '00', '-1', 'a', 'b') },
  { weight: 1, arbitrary: anyText },
)
const scalar: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom('true', 'false', 'null').map((literal) => ({ literal }) as Json),
  numeral.map((numeral) => ({ numeral })),
  anyText.map((string) => ({ string })),
)
const { shallow } = fc.letrec<{ shallow: Json }>((tie) => ({
  shallow: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'json' },
    scalar,
    fc
      .array(tie('shallow'), { maxLength: 4, depthIdentifier: 'json' })
      .map((elements): Json => ({ elements })),
    fc
      .array(fc.tuple(memberName, tie('shallow')), { maxLength: 4, depthIdentifier: 'json' })
      .map((members): Json => ({ members })),
  ),
}))
export const shallowJson: fc.Arbitrary<Json> = shallow
export const anyJson: fc.Arbitrary<Json> = fc.oneof(
  { weight: 30, arbitrary: shallow },
  { weight: 1, arbitrary: deep },
)
export const anyObject: fc.Arbitrary<Json> = fc
  .array(fc.tuple(memberName, anyJson), { maxLength: 5 })
  .map((members) => ({ members }))

/** How a value is spelled: 0 is the usual way, each other number an unusual one. */
export const spelling = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2 ** 31 - 1 }))
export const spelled = (json: Json, way: number): string => write(json, way === 0 ? null : randomBy(way))

const write = (json: Json, chance: Random | null): string => {
  const blank = () => (chance?.onceIn(3) ? chance.oneOf([' ', '\n', '\r\n', '\t', '   ']) : '')
  const around = (text: string) => blank() + text + blank()
  if ('text' in json) return json.text
  if ('literal' in json) return json.literal
  if ('numeral' in json) return writeNumeral(json.numeral, chance)
  if ('string' in json) return writeString(json.string, chance)
  if ('elements' in json)
    return `[${json.elements.map((element) => around(write(element, chance))).join(',') || blank()}]`
  const members = json.members.map(
    ([name, value]) => `${around(writeString(name, chance))}:${around(write(value, chance))}`,
  )
  return `{${members.join(',') || blank()}}`
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}
const writeString = (string: string, chance: Random | null): string => {
  if (chance === null) return JSON.stringify(string)
  let text = ''
  for (const character of string) {
    const short = SHORT_ESCAPES[character]
    const isPlain = character >= ' ' && character !== '"' && character !== '\\' && character.isWellFormed()
    if (isPlain && !chance.onceIn(4)) text += character
    else if (short !== undefined && chance.onceIn(2)) text += short
    else for (let i = 0; i < character.length; i++) text += escaped(character.charCodeAt(i), chance)
  }
  return `"${text}"`
}
const escaped = (unit: number, chance: Random): string => {
  const digits = unit.toString(16).padStart(4, '0')
  return `\\u${chance.onceIn(2) ? digits : digits.toUpperCase()}`
}

const writeNumeral = ({ isNegative, digits, exponent }: Numeral, chance: Random | null): string => {
  const zeros = chance?.below(3) ?? 0
  // Zero itself has no zeros before it.
  const written = digits === '' ? '' : digits + '0'.repeat(zeros)
  const places = chance?.below(written.length + 3) ?? 0
  const padded = written.padStart(places + 1, '0')
  const whole = padded.slice(0, padded.length - places)
  const fraction = places === 0 ? '' : `.${padded.slice(-places)}`
  const rest = exponent - zeros + places
  const power = digits === '' ? (chance?.below(5) ?? 0) : rest
  const sign = power < 0 ? '-' : chance?.onceIn(2) ? '+' : ''
  const marked = `${chance?.onceIn(2) ? 'E' : 'e'}${sign}${'0'.repeat(chance?.below(3) ?? 0)}${Math.abs(power)}`
  return (isNegative ? '-' : '') + whole + fraction + (power === 0 && !chance?.onceIn(4) ? '' : marked)
}
