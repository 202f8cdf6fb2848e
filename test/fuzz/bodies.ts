import fc from 'fast-check'
import { randomBy } from '../support/random.ts'
import { anyJson, anyObject, type Json, type Member, memberName, spelled, spelling } from './json-texts.ts'
import { anyCharacter, anyText, textUpTo } from './texts.ts'

type Fields = Readonly<Record<string, fc.Arbitrary<Json>>>

const string = (text: fc.Arbitrary<string>): fc.Arbitrary<Json> => text.map((string) => ({ string }))
/** Usually a fitting value. */
const mostly = (fitting: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc.oneof({ weight: 24, arbitrary: fitting }, { weight: 1, arbitrary: anyJson })

const EMAILS = [
  'a@x',
  '<a@x>',
  '[object Object]',
  '{{a@x}}',
  ' A@X ',
  'é@x',
  'e\u0301@x',
  'null',
  '-1',
  '000',
  '',
  ' ',
  `${'long'.repeat(2_500)}@x`,
]
const UNKNOWN_PROSPECT = `prospect_${'z'.repeat(26)}`
const WRONG_IDS = ['', 'prospect_', 'page_00000000000000000000000001', `${UNKNOWN_PROSPECT}\n`, 'PROSPECT_0']

/** The fields of an activity. `prospectId` is one that exists. */
const activityFields = (prospectId: string): Fields => ({
  source: mostly(string(textUpTo(100))),
  payload: mostly(anyObject),
  type: mostly(string(textUpTo(100))),
  prospectId: mostly(string(prospectIdLike(prospectId))),
  email: mostly(string(fc.oneof(anyText, fc.constantFrom(...EMAILS)))),
  idempotencyKey: mostly(string(textUpTo(255))),
  name: mostly(string(textUpTo(255))),
})
const prospectIdLike = (existing: string) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(existing) },
    { weight: 2, arbitrary: fc.constant(UNKNOWN_PROSPECT) },
    { weight: 1, arbitrary: fc.constantFrom(...WRONG_IDS) },
  )
const PAGE_FIELDS: Fields = {
  supplementaryContext: mostly(string(anyText)),
  customName: mostly(string(anyText)),
}

type Parts = {
  /** Fitting members by name. */
  readonly members: Readonly<Partial<Record<string, Json>>>
  readonly unknown: readonly Member[]
  /** Second values for fields. Those for fields that are absent are left out. */
  readonly repeated: readonly Member[]
  /** The field to leave out. */
  readonly missingName: string | null
  /** Decides the order of the members. */
  readonly seed: number
}

/** Adds unknown and repeated members in any order, or leaves one out. */
const shuffled = ({ members, unknown, repeated, missingName, seed }: Parts): Json => {
  const random = randomBy(seed)
  const shuffledMembers = repeated.filter(([name]) => name in members)
  const present = Object.entries(members)
    .filter(isMember)
    .filter(([name]) => name !== missingName)
  for (const member of [...present, ...unknown]) {
    const position = random.below(shuffledMembers.length + 1)
    shuffledMembers.splice(position, 0, member)
  }
  return { members: shuffledMembers }
}
const isMember = (entry: [string, Json | undefined]): entry is [string, Json] => entry[1] !== undefined

const NO_MEMBERS: Member[] = []
const unknownMembers: fc.Arbitrary<Member[]> = fc.array(fc.tuple(memberName, anyJson), { maxLength: 2 })
/** A page with an unknown member is refused, so few have one. */
const fewUnknownMembers: fc.Arbitrary<Member[]> = fc.oneof(
  { weight: 8, arbitrary: fc.constant(NO_MEMBERS) },
  { weight: 1, arbitrary: unknownMembers },
)

type Options = { readonly requiredKeys: string[]; readonly unknown: fc.Arbitrary<Member[]> }
const objectOf = (fields: Fields, { requiredKeys, unknown }: Options): fc.Arbitrary<Json> => {
  const fieldName = fc.constantFrom(...Object.keys(fields))
  const repeatedMembers = fc.array(fc.tuple(fieldName, anyJson), { maxLength: 2 })
  const repeated = fc.oneof(
    { weight: 4, arbitrary: fc.constant(NO_MEMBERS) },
    { weight: 1, arbitrary: repeatedMembers },
  )
  const missingName = fc.oneof(
    { weight: 12, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fieldName },
  )
  const members = fc.record({ ...fields }, { requiredKeys })
  return fc.record({ members, unknown, repeated, missingName, seed: fc.nat() }).map(shuffled)
}

type Damage = (body: Buffer) => Buffer
const NOT_UTF8 = ['ff', '80', 'c0af', 'c1bf', 'e28228', 'eda080', 'f4908080', 'f8888080', 'fe']

/** Turns any whole number into a position in a body. */
const positionIn = (body: Buffer, number: number) => number % (body.length + 1)

const insertBytes =
  (number: number, bytes: Buffer): Damage =>
  (body) => {
    const position = positionIn(body, number)
    return Buffer.concat([body.subarray(0, position), bytes, body.subarray(position)])
  }
const removeBytes =
  (number: number, length: number): Damage =>
  (body) => {
    const position = positionIn(body, number)
    return Buffer.concat([body.subarray(0, position), body.subarray(position + length)])
  }
const truncate =
  (number: number): Damage =>
  (body) =>
    body.subarray(0, positionIn(body, number))
const append =
  (end: string): Damage =>
  (body) =>
    Buffer.concat([body, Buffer.from(end)])
const prepend =
  (beginning: string): Damage =>
  (body) =>
    Buffer.concat([Buffer.from(beginning), body])
const encodeAs =
  (encoding: 'utf16le' | 'latin1'): Damage =>
  (body) =>
    Buffer.from(body.toString(), encoding)
const leaveWhole: Damage = (body) => body

/** Ways in which the bytes of a body may be changed in transit. */
const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc
    .tuple(fc.nat(), fc.constantFrom(...NOT_UTF8))
    .map(([number, hex]) => insertBytes(number, Buffer.from(hex, 'hex'))),
  fc.tuple(fc.nat(), anyCharacter).map(([number, character]) => insertBytes(number, Buffer.from(character))),
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 3 })).map(([number, length]) => removeBytes(number, length)),
  fc.nat().map(truncate),
  fc.constantFrom('x', '{}', ',', '\0', '\ufeff', '//', ' \n').map(append),
  fc.constantFrom('\ufeff', '\ufeff\ufeff', ' \ufeff', ")]}',\n", '\0').map(prepend),
  fc.constantFrom('utf16le' as const, 'latin1' as const).map(encodeAs),
)

/** The bytes of a body, most of them undamaged. */
const bytesOf = (fitting: fc.Arbitrary<Json>): fc.Arbitrary<Buffer> => {
  const json = fc.oneof({ weight: 30, arbitrary: fitting }, { weight: 1, arbitrary: anyJson })
  const change = fc.oneof({ weight: 6, arbitrary: fc.constant(leaveWhole) }, { weight: 1, arbitrary: damage })
  return fc
    .record({ json, spelling, change })
    .map(({ json, spelling, change }) => change(Buffer.from(spelled(json, spelling))))
}

export const activityBody = (prospectId: string) =>
  bytesOf(
    objectOf(activityFields(prospectId), { requiredKeys: ['source', 'payload'], unknown: unknownMembers }),
  )
export const pageBody = bytesOf(objectOf(PAGE_FIELDS, { requiredKeys: [], unknown: fewUnknownMembers }))
