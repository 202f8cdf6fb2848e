import t from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { requestErasure } from '../../src/core/erasures/request-erasure.ts'
import { createProspect } from '../../src/core/prospects/create-prospect.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import type { CsvColumns } from '../../src/maintenance/csv.ts'
import { exportProspects } from '../../src/maintenance/export.ts'
import type { ReportedLine } from '../../src/maintenance/import-lines.ts'
import { importProspects } from '../../src/maintenance/import-prospects.ts'

const setUp = async () => {
  const deps = { store: memoryStore(), clock: Date.now, newId: createNewId() }
  const newTenant = async () => (await createTenant(deps)({ name: 'a tenant' })).tenantId
  const tenantId = await newTenant()
  const refused: ReportedLine[] = []
  const load = async (
    text: string | Buffer | AsyncIterable<Buffer>,
    isCsv = true,
    {
      fromLine = 1,
      to = tenantId,
      onProgress = (_: { nextLine: number }) => {},
      csv = {} as CsvColumns,
      size = 1_000,
    } = {},
  ) => {
    const bytes = Buffer.isBuffer(text) ? text : Buffer.from(String(text))
    async function* chunks() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    const isText = typeof text === 'string' || Buffer.isBuffer(text)
    const { imported, why } = await importProspects(createProspect(deps))(
      {
        store: deps.store,
        tenantId: to,
        fromLine,
        lineBytesMax: 1_000,
        onProgress,
        chunks: isText ? chunks() : text,
        csv,
        stop: new AbortController().signal,
        onReported: (line) => refused.push(line),
      },
      isCsv,
    )
    if (why !== null) throw why
    return imported
  }
  const exported = async (isCsv = true, from = tenantId) => {
    let text = ''
    for await (const { rawJson } of exportProspects(deps.store, from, isCsv)) text += `${rawJson}\n`
    return text
  }
  return { ...deps, tenantId, newTenant, load, exported, refused }
}

t.test('columns stand in any order, and an empty field counts as left out', async (t) => {
  const { load, exported } = await setUp()
  const text =
    '\ufeffname,email,externalId\r\n"Lovelace, ""Ada""",ADA@x ,crm-1\r\n\r\n,bob@x,\r\nEve\n,,crm-2'
  t.strictSame(await load(text.replace('Eve\n', '"Eve\nSmith"')), {
    read: 3,
    created: 3,
    found: 0,
    conflicts: 0,
    refused: 0,
    nextLine: 6,
  })
  t.equal(
    await exported(),
    'externalId,email,name\ncrm-1,ada@x,"Lovelace, ""Ada"""\n,bob@x,\ncrm-2,,"Eve\nSmith"\n',
  )
})

t.test('again, nothing changes; blanks are filled, and nothing is overwritten', async (t) => {
  const { load, exported } = await setUp()
  const text = 'externalId,email,name\n1,ada@x,\n2,bob@x,Bob\n'
  await load(text)
  const before = await exported(false)
  t.match(await load(text), { created: 0, found: 2, refused: 0 })
  t.equal(await exported(false), before)
  t.match(await load('externalId,name\n1,Ada\n2,Robert\n'), { created: 0, found: 2 })
  t.equal(await exported(), 'externalId,email,name\n1,ada@x,Ada\n2,bob@x,Bob\n')
})

t.test('refused lines are reported, and the others imported', async (t) => {
  const { load, refused } = await setUp()
  const long = 'x'.repeat(256)
  const lines = ['ada@x', 'bob@x,1', 'n/a', '"a', `"x\n${'x'.repeat(1_000)}"`, `,${long}`]
  const text = `email,externalId\n${lines.map((line) => (/,/.test(line) ? line : `${line},`)).join('\n')}\n`
  const wrong = text.replace('"a,\n', 'a"b,\n').replace('bob@x,1', 'bob@x,1,2')
  t.match(await load(wrong), { read: 6, created: 1, refused: 5 })
  t.match(
    refused.map(({ line, code, errors }) => [line, code, errors?.[0]?.pointer]),
    [
      [3, 'invalid_request', undefined],
      [4, 'invalid_request', '/email'],
      [5, 'invalid_request', undefined],
      [6, 'payload_too_large', undefined],
      [8, 'invalid_request', '/externalId'],
    ],
  )
  t.match(refused[0]?.detail, 'The line has 3 fields, and the header 2.')
})

t.test(
  'an email of another prospect is a conflict: the line is stored without it, and reported',
  async (t) => {
    const { load, exported, refused } = await setUp()
    const header = 'externalId,email,name\n'
    const text = `${header}1,ada@x,\n2,<ADA@x>,Eve\n3,[object Object],\n4,Berlin,\n1,mailto:ada@x,\n`
    t.match(await load(text), { read: 5, created: 4, found: 1, conflicts: 1, refused: 0 })
    t.match(refused, [
      { line: 3, code: 'email_taken', detail: /^The email belongs to prospect_\w+\. The rest is / },
    ])
    // The second one waited for the first, whose email it names.
    t.equal(await exported(), `${header}1,ada@x,\n3,,\n4,,\n2,,Eve\n`)
  },
)

t.test('a header that names another column, or none to find a prospect by, is refused', async (t) => {
  const { load, exported } = await setUp()
  for (const [header, detail] of [
    ['email,phone', 'The column "phone" is unknown or occurs twice.'],
    ['email,E-Mail', 'The column "E-Mail" is unknown or occurs twice.'],
    ['email,,name', 'The column "" is unknown or occurs twice.'],
    ['email,email', 'The column "email" is unknown or occurs twice.'],
    ['name', 'one of the first two at least.'],
    ['', 'one of the first two at least.'],
  ] as const)
    await t.rejects(load(`${header}\nada@x,1\n`), { message: new RegExp(detail) }, header)
  t.equal(await exported(), 'externalId,email,name\n')
})

t.test('JSON lines: other members count for nothing, and null as left out', async (t) => {
  const { load, exported, refused, newTenant } = await setUp()
  const lines = [
    '{"email":"ada@x","name":null,"createdAt":"x"}',
    'null',
    '[]',
    '{"name":1}',
    '',
    '{"externalId":"1"}',
  ]
  t.match(await load(lines.join('\n'), false), { read: 5, created: 2, refused: 3 })
  t.strictSame(
    refused.map(({ line }) => line),
    [2, 3, 4],
  )
  const to = await newTenant()
  t.match(await load(await exported(false), false, { to }), { created: 2, refused: 0 })
  t.equal(await exported(true, to), await exported())
})

t.test('an import goes on at a line, with its header', async (t) => {
  const { load, exported } = await setUp()
  t.match(await load('email\n"a\nb"\nc@x\nd@x\n', true, { fromLine: 3 }), { read: 2, created: 2 })
  t.equal(await exported(), 'externalId,email,name\n,c@x,\n,d@x,\n')
})

t.test('who is erased is not exported, and not brought back', async (t) => {
  const { load, exported, refused, tenantId, ...deps } = await setUp()
  await load('email\nada@x\nbob@x\n')
  await requestErasure(deps)({ tenantId, email: 'ada@x', blockDays: 1 })
  t.equal(await exported(), 'externalId,email,name\n,bob@x,\n')
  t.match(await load('email\nada@x\nbob@x\n'), { found: 1, refused: 1 })
  t.match(refused, [{ line: 2, code: 'prospect_erased' }])
})

t.test('a file is read no faster than it is imported, and an export page by page', async (t) => {
  const { load, exported } = await setUp()
  let read = 1
  let done = 0
  let ahead = 0
  async function* chunks() {
    yield Buffer.from('externalId,name\n')
    for (let n = 0; n < 5_000; n += 10) {
      yield Buffer.from(Array.from({ length: 10 }, (_, i) => `c${n + i},"a\nb"\n`).join(''))
      read += 20
      ahead = Math.max(ahead, read - done)
    }
  }
  const onProgress = ({ nextLine }: { nextLine: number }) => {
    done = nextLine
  }
  t.match(await load(chunks(), true, { onProgress }), { read: 5_000, created: 5_000 })
  t.ok(ahead < 500, String(ahead))
  t.equal((await exported()).length, (await exported()).trimEnd().length + 1)
  t.equal((await exported(false)).split('\n').length, 5_001)
})

const ADA = 'externalId,email,name\ncrm-1,ada@x,Ada Lovelace\n'
const utf16 = (text: string) => Buffer.from(text, 'utf16le')
/** Files of one person as programs write them, and how they are read. */
const FILES: Readonly<Record<string, readonly [file: string | Buffer, csv?: CsvColumns]>> = {
  semicolons: ['externalId;email;name\ncrm-1;ada@x;Ada Lovelace\n'],
  tabs: ['externalId\temail\tname\r\ncrm-1\tada@x\tAda Lovelace\r\n'],
  bars: ['externalId|email|name\ncrm-1|ada@x|Ada Lovelace'],
  'a first line sep=': ['\ufeffsep=;\r\nexternalId;email;name\r\ncrm-1;ada@x;Ada Lovelace\r\n'],
  'a first line sep= of another kind': ['SEP=:\nexternalId:email:name\ncrm-1:ada@x:Ada Lovelace\n'],
  'quotes around everything': ['"externalId";"email";"name"\n"crm-1";"ada@x";"Ada Lovelace"\n'],
  'a comma in a name of a column': [
    'externalId;email;"Name, all of it"\ncrm-1;ada@x;Ada Lovelace\n',
    { columns: { name: 'Name, all of it' } },
  ],
  'more commas than semicolons': [
    'externalId;email;name, first, last, all\ncrm-1;ada@x;Ada Lovelace\n',
    { columns: { name: 'name, first, last, all' } },
  ],
  'other spellings': ['External ID,E-Mail,NAME\ncrm-1,ada@x,Ada Lovelace\n'],
  'other words': ['Contact ID,Email Address,Full name\ncrm-1,ada@x,Ada Lovelace\n'],
  'two names': ['contact_id,EMAIL,First Name,Last Name\ncrm-1,ada@x, Ada ,Lovelace\n'],
  'a name that is missing': ['External-ID,email,Last Name,First Name\ncrm-1,ada@x,N/A,Ada Lovelace\n'],
  'columns by name': [
    'Record,Work email,Given,Family,Phone\ncrm-1,ada@x,Ada,Lovelace,7\n',
    {
      columns: { externalId: 'record', email: 'Work email', name: 'Given + Family' },
      ignoresOthers: true,
    },
  ],
  'a constant': [
    'id,email,Family\ncrm-1,ada@x,Lovelace\n',
    { columns: { externalId: 'id', name: '=Ada + Family' } },
  ],
  'a column that is called like a sum': [
    'externalId,email,A + B\ncrm-1,ada@x,Ada Lovelace\n',
    { columns: { name: 'A + B' } },
  ],
  'further columns': [
    'phone,externalId,email,,name\n7,crm-1,ada@x,8,Ada Lovelace\n',
    { ignoresOthers: true },
  ],
  'a comma at the end': ['externalId,email,name,\ncrm-1,ada@x,Ada Lovelace,\n'],
  'commas at the end': ['externalId,email,name,,\ncrm-1,ada@x,Ada Lovelace\n'],
  'commas at the end of rows': ['externalId,email,name\ncrm-1,ada@x,Ada Lovelace,, ,\n'],
  'UTF-16 as Excel writes it': [utf16('\ufeffexternalId\temail\tname\r\ncrm-1\tada@x\tAda Lovelace\r\n')],
  'UTF-16, the other way around': [utf16('\ufeffexternalId,email,name\ncrm-1,ada@x,Ada Lovelace\n').swap16()],
  'UTF-16 without a mark': [utf16('externalId,email,name\ncrm-1,ada@x,Ada Lovelace')],
  'carriage returns': ['externalId,email,name\rcrm-1,ada@x,Ada Lovelace\r'],
  'carriage returns behind quotes': ['"externalId",email,"name"\r"crm-1",ada@x,"Ada Lovelace"\r'],
  'a mark before a quote': ['\ufeff"externalId",email,"na\nme"\ncrm-1,ada@x,Ada Lovelace\n'],
  'empty rows': [',,\n\nexternalId,email,name\n,,\n , ,\n"","",""\n;;\ncrm-1,ada@x,Ada Lovelace\n,,\r\n,\n'],
  'empty rows with semicolons': ['externalId;email;name\n;;\ncrm-1;ada@x;Ada Lovelace\n;;\n'],
}
for (const [what, [file, csv = {}]] of Object.entries(FILES))
  t.test(`a file is read as programs write it: ${what}`, async (t) => {
    for (const size of [1, 7, 1_000]) {
      const { load, exported, refused } = await setUp()
      t.match(await load(file, true, { csv, size }), { created: 1, refused: what === 'empty rows' ? 1 : 0 })
      t.equal(await exported(), ADA)
      // Semicolons between commas are a text.
      if (what === 'empty rows')
        t.match(refused, [{ line: 7, detail: 'The line has 1 fields, and the header 3.' }])
    }
  })

t.test('only the mark of the file is dropped: an id may begin with that character', async (t) => {
  for (const isCsv of [true, false]) {
    const { load, exported } = await setUp()
    await load('\ufeffexternalId,email,name\n\ufeffcrm-1,,Ada\ncrm-1,,Bob\n', true)
    const before = await exported(isCsv)
    t.equal(before.split('\n').filter((line) => line.includes('\ufeffcrm-1')).length, 1)
    t.match(await load(before, isCsv), { created: 0, found: 2, refused: 0 }, 'it finds the same two people')
  }
})

t.test('what cannot be read refuses the file, with its line and the remedy', async (t) => {
  const { load, exported } = await setUp()
  const rows = Array.from({ length: 50 }, (_, i) => `${i}@x,\n`).join('')
  const latin = Buffer.from('email,name\nzoe@x,Zo\xeb\nbob@x,Bob\n', 'latin1')
  for (const [file, message, csv = {}] of [
    [latin, 'Line 2 is not UTF-8. Save the file as CSV UTF-8.'],
    [Buffer.concat([Buffer.from(`email,name\n${rows}`), latin]), 'Line 53 is not UTF-8.'],
    [Buffer.from('email;Na\xefve\n', 'latin1'), 'Line 1 is not UTF-8.'],
    [
      utf16('\ufeffemail\na@x\n\ud800').subarray(0, -1),
      'The file is not well-formed UTF-16. Save the file as CSV UTF-8.',
    ],
    ['email,name\nada@x,"Ada\n', 'The quote that opens in line 2 is not closed.'],
    ['a"b,email\n', 'not well-formed CSV'],
    [
      'name,email\nAda,ada@x',
      '--columns can name externalId, email, name, but not phone.',
      { columns: { phone: 'p' } },
    ],
    ['name,email\nAda,ada@x', 'There is no column "Work" for email.', { columns: { email: 'Work' } }],
    [
      'name,email\nAda,ada@x',
      'There is no column "name + Last" for name.',
      { columns: { name: 'name + Last' } },
    ],
    [
      'Work,email\na@x,b@x',
      'The column "email" is unknown or occurs twice. Name it with --columns',
      { columns: { email: 'Work' } },
    ],
    ['', 'one of the first two at least.'],
    ['sep=;\n', 'one of the first two at least.'],
  ] as readonly (readonly [string | Buffer, string, CsvColumns?])[])
    await t.rejects(
      load(file, true, { csv }),
      { message: new RegExp(message.replaceAll('+', '\\+')) },
      String(file),
    )
  t.equal(await exported(), 'externalId,email,name\n')
})
