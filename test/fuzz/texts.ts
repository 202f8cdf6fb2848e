import fc from 'fast-check'
import { AWKWARD_TEXTS } from '../support/rows.ts'

/** Names that every JavaScript object has already. */
export const PROTOTYPE_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'toJSON',
  'rawJson',
] as const

const PLAIN_CHARACTERS = [
  'a',
  'Z',
  '0',
  '_',
  '-',
  '.',
  ' ',
  '/',
  '"',
  '\\',
  "'",
  '{',
  '}',
  '[',
  ':',
  ',',
  '%',
]
const ODD_CHARACTERS = [
  ...['\u0001', '\t', '\n', '\r', '\u001f', '\u007f', '\u0085', '\u00a0', '\u00ad', '\u200b', '\u200d'],
  ...['\u0300', '\u0323', '\u0345', '\u1160', '\u2028', '\u2029', '\u202e', '\u3000', '\ufb03', '\ufdfa'],
  ...[
    '\ufeff',
    '\ufffd',
    '\ufffe',
    '\uffff',
    'é',
    'İ',
    'ß',
    'Σ',
    '😀',
    '\u{1f3fb}',
    '\u{e0001}',
    '\u{10ffff}',
  ],
]
const UNSTORABLE_CHARACTERS = ['\0', '\ud800', '\udbff', '\udc00', '\udfff']
const characterOf = (codePoint: number) => String.fromCodePoint(codePoint)

/** One code point that every store can keep. */
const storable = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...PLAIN_CHARACTERS) },
  { weight: 3, arbitrary: fc.constantFrom(...ODD_CHARACTERS) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 0xd7ff }).map(characterOf) },
  { weight: 1, arbitrary: fc.integer({ min: 0xe000, max: 0x10ffff }).map(characterOf) },
)
/** One code point, or half of one. */
export const anyCharacter = fc.oneof(
  { weight: 9, arbitrary: storable },
  { weight: 1, arbitrary: fc.constantFrom(...UNSTORABLE_CHARACTERS) },
)

const joined = (characters: readonly string[]) => characters.join('')
const shortText = fc.array(storable, { minLength: 1, maxLength: 8 }).map(joined)

/** A text of exactly so many code points. */
const textOf = (length: number) =>
  fc
    .array(storable, { minLength: 1, maxLength: 6 })
    .map((characters) => Array.from({ length }, (_, i) => characters[i % characters.length]).join(''))

/** Texts of the lengths about which a bound may err: in code points, in UTF-16 units, in bytes. */
const textAround = (bound: number) =>
  fc
    .constantFrom(0, 1, 2, bound - 1, bound, bound, bound + 1, Math.ceil(bound / 2), bound * 2, bound * 4)
    .chain(textOf)

/** Any text: short, awkward, or with what cannot be stored. */
export const anyText = fc.oneof(
  { weight: 4, arbitrary: shortText },
  { weight: 2, arbitrary: fc.constantFrom(...AWKWARD_TEXTS, ...PROTOTYPE_NAMES) },
  { weight: 1, arbitrary: fc.array(anyCharacter, { maxLength: 8 }).map(joined) },
  {
    weight: 1,
    arbitrary: fc.tuple(shortText, fc.constantFrom(...UNSTORABLE_CHARACTERS), shortText).map(joined),
  },
  { weight: 1, arbitrary: textAround(3_000) },
)

/** Texts for a field of 1 to `max` code points: most of them fit. */
export const textUpTo = (max: number) =>
  fc.oneof(
    { weight: 12, arbitrary: shortText },
    { weight: 4, arbitrary: fc.constantFrom(1, max - 1, max).chain(textOf) },
    { weight: 1, arbitrary: textAround(max) },
    { weight: 1, arbitrary: anyText },
  )
