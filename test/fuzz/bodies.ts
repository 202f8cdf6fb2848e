import fc from 'fast-check'
import { randomBy } from '../support/random.ts'
import { anyJson, anyObject, type Json, type Member, memberName, spelled, spelling } from './json-texts.ts'
import { anyCharacter, anyText, textUpTo } from './texts.ts'

const string = (text: fc.Arbitrary<string>): fc.Arbitrary<Json> => text.map((string) => ({ string }))
/** Mostly what the field takes. */
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

/** The members of an activity; `prospectId` is one that exists. */
const activityMembers = (prospectId: string) =>
  fc.record(
    {
      source: mostly(string(textUpTo(100))),
      payload: mostly(anyObject),
      type: mostly(string(textUpTo(100))),
      prospectId: mostly(
        string(
          fc.oneof(
            { weight: 8, arbitrary: fc.constant(prospectId) },
            { weight: 2, arbitrary: fc.constant(UNKNOWN_PROSPECT) },
            { weight: 1, arbitrary: fc.constantFrom(...WRONG_IDS) },
          ),
        ),
      ),
      email: mostly(string(fc.oneof(anyText, fc.constantFrom(...EMAILS)))),
      idempotencyKey: mostly(string(textUpTo(255))),
      name: mostly(string(textUpTo(255))),
    },
    { requiredKeys: ['source', 'payload'] },
  )
const pageMembers = fc.record(
  { supplementaryContext: mostly(string(anyText)), customName: mostly(string(anyText)) },
  { requiredKeys: [] },
)

const MORE_MEMBERS: fc.Arbitrary<Member[]> = fc.array(fc.tuple(memberName, anyJson), { maxLength: 2 })
/** Unknown members, and members that come again or are gone. */
const shuffled = (
  wanted: Readonly<Partial<Record<string, Json>>>,
  more: readonly Member[],
  again: readonly Member[],
  lost: string | null,
  way: number,
): Json => {
  const chance = randomBy(way)
  const members = Object.entries(wanted).filter((member): member is [string, Json] => member[0] !== lost)
  const known = again.filter(([name]) => name in wanted)
  const all: Member[] = [...known]
  for (const member of [...members, ...more]) all.splice(chance.below(all.length + 1), 0, member)
  return { members: all }
}
/** `unknown`: more members than these. */
const objectOf = (
  members: fc.Arbitrary<Readonly<Partial<Record<string, Json>>>>,
  names: readonly string[],
  unknown: fc.Arbitrary<Member[]> = MORE_MEMBERS,
) =>
  fc
    .tuple(
      members,
      unknown,
      fc.oneof(
        { weight: 4, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(fc.tuple(fc.constantFrom(...names), anyJson), { maxLength: 2 }) },
      ),
      fc.oneof(
        { weight: 12, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.constantFrom(...names) },
      ),
      fc.nat(),
    )
    .map((parts) => shuffled(...parts))

const NOT_UTF8 = ['ff', '80', 'c0af', 'c1bf', 'e28228', 'eda080', 'f4908080', 'f8888080', 'fe']
const whereIn = (text: Buffer, where: number) => where % (text.length + 1)
const inserted = (text: Buffer, where: number, more: Buffer): Buffer => {
  const at = whereIn(text, where)
  return Buffer.concat([text.subarray(0, at), more, text.subarray(at)])
}

/** Ways in which the bytes of a body may be changed in transit. */
const damage: fc.Arbitrary<(body: Buffer) => Buffer> = fc.oneof(
  fc.tuple(fc.nat(), fc.constantFrom(...NOT_UTF8)).map(
    ([where, hex]) =>
      (body: Buffer) =>
        inserted(body, where, Buffer.from(hex, 'hex')),
  ),
  fc.tuple(fc.nat(), anyCharacter).map(
    ([where, character]) =>
      (body: Buffer) =>
        inserted(body, where, Buffer.from(character)),
  ),
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 3 })).map(
    ([where, length]) =>
      (body: Buffer) =>
        Buffer.concat([body.subarray(0, whereIn(body, where)), body.subarray(whereIn(body, where) + length)]),
  ),
  fc.nat().map((where) => (body: Buffer) => body.subarray(0, whereIn(body, where))),
  fc
    .constantFrom('x', '{}', ',', '\0', '\ufeff', '//', ' \n')
    .map((end) => (body: Buffer) => Buffer.concat([body, Buffer.from(end)])),
  fc
    .constantFrom('\ufeff', '\ufeff\ufeff', ' \ufeff', ")]}',\n", '\0')
    .map((begin) => (body: Buffer) => Buffer.concat([Buffer.from(begin), body])),
  fc
    .constantFrom('utf16le', 'latin1')
    .map((encoding) => (body: Buffer) => Buffer.from(body.toString(), encoding as 'utf16le')),
)

/** The bytes of a body, most of them whole. */
const bytesOf = (json: fc.Arbitrary<Json>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      fc.oneof({ weight: 30, arbitrary: json }, { weight: 1, arbitrary: anyJson }),
      spelling,
      fc.oneof(
        { weight: 6, arbitrary: fc.constant((body: Buffer) => body) },
        { weight: 1, arbitrary: damage },
      ),
    )
    .map(([json, way, damaged]) => damaged(Buffer.from(spelled(json, way))))

export const activityBody = (prospectId: string) =>
  bytesOf(
    objectOf(activityMembers(prospectId), [
      'source',
      'payload',
      'type',
      'prospectId',
      'email',
      'idempotencyKey',
      'name',
    ]),
  )
/** An unknown member is refused, so that few have one. */
const NO_MEMBERS: Member[] = []
const RARELY_MORE: fc.Arbitrary<Member[]> = fc.oneof(
  { weight: 8, arbitrary: fc.constant(NO_MEMBERS) },
  { weight: 1, arbitrary: MORE_MEMBERS },
)
export const pageBody = bytesOf(objectOf(pageMembers, ['supplementaryContext', 'customName'], RARELY_MORE))
