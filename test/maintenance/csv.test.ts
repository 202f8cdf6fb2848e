import t from 'tap'
import { csvFieldsOf, csvLine, csvLinesOf } from '../../src/maintenance/csv.ts'

const BYTES_MAX = 100
/** The records of a text that comes in pieces of this size: where each begins, and its text; null if it is too long. */
const recordsOf = async (text: string, size = 1_000) => {
  const bytes = Buffer.from(text)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const found: [number, string | null][] = []
  for await (const { number, bytes } of csvLinesOf(chunks(), BYTES_MAX))
    found.push([number, bytes && Buffer.from(bytes).toString()])
  return found
}

const TEXTS: Readonly<Record<string, [text: string, records: [number, string | null][]]>> = {
  nothing: ['', []],
  'line ends of either kind': [
    'a\r\nb\nc',
    [
      [1, 'a\r'],
      [2, 'b'],
      [3, 'c'],
    ],
  ],
  'line ends in quotes': [
    'a,"b\n\r\nc",d\ne',
    [
      [1, 'a,"b\n\r\nc",d'],
      [4, 'e'],
    ],
  ],
  'doubled quotes': [
    '"a""\n""b"\n"""\n"""\nc',
    [
      [1, '"a""\n""b"'],
      [3, '"""\n"""'],
      [5, 'c'],
    ],
  ],
  'an empty field in quotes': [
    '"",""\na',
    [
      [1, '"",""'],
      [2, 'a'],
    ],
  ],
  'a quote within a field opens nothing': [
    'a"b,c\nd',
    [
      [1, 'a"b,c'],
      [2, 'd'],
    ],
  ],
  'text behind a quote': [
    '"a"b\nc',
    [
      [1, '"a"b'],
      [2, 'c'],
    ],
  ],
  'a record that is too long': [
    `"a\n${'x'.repeat(99)}"\nb`,
    [
      [1, null],
      [3, 'b'],
    ],
  ],
  'characters of many bytes': [
    'é,"😀\n"\nü',
    [
      [1, 'é,"😀\n"'],
      [3, 'ü'],
    ],
  ],
}
for (const [what, [text, records]] of Object.entries(TEXTS))
  t.test(`records end where they do: ${what}`, async (t) => {
    for (const size of [1, 2, 3, 7, 1_000])
      t.strictSame(await recordsOf(text, size), records, `pieces of ${size}`)
  })

t.test('a quote that is not closed ends the file, and its line is named', async (t) => {
  for (const text of ['a\nb,"c\nd\n', 'a\n"b""c","""', `a\n"b""\n""${'\nx,y'.repeat(99)}"\nb`])
    for (const size of [1, 7, 1_000])
      await t.rejects(recordsOf(text, size), {
        kind: 'invalid_request',
        message: 'The quote that opens in line 2 is not closed.',
      } as object as Error)
})

t.test('the fields of a record', async (t) => {
  for (const [record, fields] of [
    ['', ['']],
    [',', ['', '']],
    ['a, b ,"c"', ['a', ' b ', 'c']],
    ['"a,b","c""d",""', ['a,b', 'c"d', '']],
    ['"a\r\nb"\r', ['a\r\nb']],
    ['"""",x', ['"', 'x']],
    ['="00042",b', ['00042', 'b']],
    ['"=""00042""", ="1E5" ,=""', ['00042', '1E5', '']],
    ['" =""a, """"b"""""" "', ['a, "b"']],
    ['=00042,="+49 170"', ['=00042', '+49 170']],
    ['"=""a""&""b""","=SUM(""a"")"', ['="a"&"b"', '=SUM("a")']],
  ] as const)
    t.strictSame(csvFieldsOf(record), fields, record)
  for (const record of ['a"b', '"a', '"a"b', ' "a"', '"a""', 'x,"'])
    t.throws(() => csvFieldsOf(record), { kind: 'invalid_request' } as object as Error, record)
  t.equal(csvFieldsOf(`"${'""'.repeat(1e6)}"`)[0]?.length, 1e6, 'however long it is')
})

t.test('a formula that is a text ends where its field does', async (t) => {
  t.strictSame(csvFieldsOf('="a,b";="c"', ';'), ['a,b', 'c'])
  t.throws(() => csvFieldsOf('="a,b"', ','), { kind: 'invalid_request' } as object as Error)
})

t.test('what is written is read again', async (t) => {
  const fields = ['', 'a', '"', '""', ',', '\n', '\r\n', ' a ', 'é😀', '=1+1', '\ufeffa', "'"]
  t.strictSame(csvFieldsOf(csvLine(fields)), fields)
  t.equal(csvLine([null, 'a']), ',a')
})
