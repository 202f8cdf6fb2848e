import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { addressIn } from '../../../src/core/prospects/email-address.ts'
import { normalizedTexts } from '../../../src/core/prospects/identifiers.ts'
import { isPlaceholderId } from '../../../src/core/prospects/placeholders.ts'

const tableIn = (file: string) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))
const nobody = tableIn('leftovers.json')
const people = tableIn('people.json')

const emailOf = (email: string) => normalizedTexts({ email }).email
const externalIdOf = (externalId: string) => normalizedTexts({ externalId }).externalId

/** Each form with each text in its place. */
const filled = (forms: string[], texts: string[]): string[] =>
  forms.flatMap((form) => texts.map((text) => form.replaceAll('¤', text.replaceAll('$', '$$$$'))))

const dumps: string[] = Object.values<string[]>(nobody.dumps).flat()
const words: string[] = Object.values<string[]>(nobody.words).flat()
const wordSpellings = filled(nobody.spellings, words)
const upper = (text: string) => text.toUpperCase()
const LEFTOVERS = [
  ...Object.values<string[]>(nobody.templates).flatMap((forms) =>
    filled(forms, [...nobody.fields, ...nobody.free]),
  ),
  ...filled(nobody.aroundFields, nobody.plainFields),
  ...dumps,
  ...dumps.map((dump) => ` ${dump}\n`),
  ...wordSpellings,
  ...wordSpellings.map(upper),
  ...nobody.values,
]
const { words: local, tops, typed } = nobody.addresses
const NOBODYS_ADDRESSES: string[] = [
  ...filled(
    tops.map((top: string) => `¤.${top}`),
    local,
  ).flatMap((domain) => local.map((word: string) => `${word}@${domain}`)),
  ...typed,
].filter((address) => !/^x+@(?!x)|@x+\./.test(address) || /^x+@x+\./.test(address))

const NUMBERS = Array.from({ length: 40 }, (_, i) => String(7 * (i + 1) ** 5 + 11))
const uuidOf = (text: string) =>
  createHash('sha256')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5')
const fullNames: string[][] = people.names.flatMap((name: string) =>
  people.surnames.map((surname: string) => [name, surname]),
)
/** `test.none` is no name. */
const namedPeople = fullNames.filter((name) => !name.every((part) => people.words.includes(part)))
const IDS: string[] = [
  ...people.ids,
  ...people.idForms.flatMap((form: string) =>
    NUMBERS.map((number) => form.replaceAll('#', number).replaceAll('%', uuidOf(number))),
  ),
  ...namedPeople.flatMap(([name, surname]) => [
    `${name} ${surname}`,
    `${surname}, ${name}`.toUpperCase(),
    `${name}.${surname}`,
    `${name}-${surname}-7`,
  ]),
]
const ADDRESSES: string[] = [
  ...people.addresses,
  ...fullNames.flatMap(([name, surname], i) => [
    `${name}.${surname}@${people.domains[i % people.domains.length]}`,
    `${name}${surname}${i}@${people.domains[(i + 3) % people.domains.length]}`,
  ]),
  ...people.names.flatMap((name: string) => people.domains.map((domain: string) => `${name}@${domain}`)),
]

t.test('leftovers of templates, dumps and words of twenty languages identify nobody', async (t) => {
  t.ok(LEFTOVERS.length > 2_000, String(LEFTOVERS.length))
  t.strictSame(
    LEFTOVERS.filter((id) => externalIdOf(id) !== null),
    [],
  )
  t.strictSame(
    LEFTOVERS.filter((email) => emailOf(email) !== null),
    [],
  )
})

t.test(
  'an address whose two sides say that there is none, or whose domain cannot exist, identifies nobody',
  async (t) => {
    t.ok(NOBODYS_ADDRESSES.length > 2_000, String(NOBODYS_ADDRESSES.length))
    t.strictSame(
      NOBODYS_ADDRESSES.filter((email) => emailOf(email) !== null),
      [],
    )
    t.strictSame(
      NOBODYS_ADDRESSES.filter((id) => /^\w[\w./-]*@/.test(id) && externalIdOf(id) !== null),
      [],
      'as an external id it identifies nobody either',
    )
  },
)

t.test('ids and addresses that look like words stay people, each unchanged', async (t) => {
  t.ok(IDS.length > 1_000 && ADDRESSES.length > 700, `${IDS.length} and ${ADDRESSES.length}`)
  t.ok(IDS.length + ADDRESSES.length > 2_000)
  t.strictSame(
    IDS.filter((id) => externalIdOf(id) !== id),
    [],
  )
  t.strictSame(
    ADDRESSES.filter((email) => emailOf(email) !== email),
    [],
  )
})

t.test('what is accepted quickly is accepted unchanged by the full check', async (t) => {
  const sent = [...LEFTOVERS, ...NOBODYS_ADDRESSES, ...IDS, ...ADDRESSES]
  const fullEmail = (email: string) => addressIn(email.trim().toLowerCase())
  const differsInEmail = (text: string) => emailOf(text) !== fullEmail(text)
  const differsInId = (text: string) =>
    externalIdOf(text) !== (text === '' || isPlaceholderId(text) ? null : text)
  t.strictSame(sent.filter(differsInEmail), [])
  t.strictSame(sent.filter(differsInId), [])
  const word = fc.constantFrom(...words, 'x', 'xx', 'asdf', 'ada', 'localhost', 'invalid', 'com', '7')
  const piece = fc.oneof(
    word,
    fc.stringMatching(/^[a-z\d_:.e-]{0,6}$/),
    fc.constantFrom('1970-01-01', 'T00:00', '@', '-', '.', ':'),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 5 }), (pieces) => {
      const text = pieces.join('')
      return !differsInEmail(text) && !differsInId(text)
    }),
    { numRuns: 5_000 },
  )
})
