import t from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { requestErasure } from '../../src/core/erasures/request-erasure.ts'
import { createProspect } from '../../src/core/prospects/create-prospect.ts'
import { createProspects } from '../../src/core/prospects/create-prospects.ts'
import { mergeProspect } from '../../src/core/prospects/merge-prospect.ts'
import { updateProspect } from '../../src/core/prospects/update-prospect.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import type { CsvColumns } from '../../src/maintenance/csv.ts'
import { exportProspects } from '../../src/maintenance/export.ts'
import type { ReportedLine } from '../../src/maintenance/import-lines.ts'
import { importProspects } from '../../src/maintenance/import-prospects.ts'

const LINE_BYTES_MAX = 1_000
const CSV_HEADER = 'externalId,email,name\n'

type ImportOptions = {
  readonly isCsv?: boolean
  readonly csv?: CsvColumns | undefined
  readonly fromLine?: number
  readonly tenantId?: string
  /** How many bytes of the file are read at a time. */
  readonly chunkBytes?: number
  readonly onProgress?: (progress: { nextLine: number }) => void
}

/** A memory store with a tenant, into which files are imported and from which they are exported. */
const openScene = async () => {
  const deps = { store: memoryStore(), clock: Date.now, newId: createNewId() }
  const newTenant = async () => (await createTenant(deps)({ name: 'a tenant' })).tenantId
  const ownTenantId = await newTenant()
  /** The lines that were reported: refused, or stored without their email. */
  const reported: ReportedLine[] = []
  const warnings: string[] = []

  const importChunks = async (
    chunks: AsyncIterable<Buffer>,
    {
      isCsv = true,
      csv = {},
      fromLine = 1,
      tenantId = ownTenantId,
      onProgress = () => {},
    }: ImportOptions = {},
  ) => {
    const { imported, why } = await importProspects(createProspects(deps))(
      {
        store: deps.store,
        tenantId,
        fromLine,
        lineBytesMax: LINE_BYTES_MAX,
        onProgress,
        chunks,
        csv,
        stop: new AbortController().signal,
        onReported: (line) => reported.push(line),
        onWarning: (warning) => warnings.push(warning),
      },
      isCsv,
    )
    if (why !== null) throw why
    return imported
  }
  const importFile = (file: string | Buffer, options: ImportOptions = {}) =>
    importChunks(chunksOf(Buffer.from(file), options.chunkBytes ?? 1_000), options)

  const exportFile = async ({ isCsv = true, tenantId = ownTenantId } = {}) => {
    let text = ''
    for await (const { rawJson } of exportProspects(deps.store, tenantId, isCsv)) text += `${rawJson}\n`
    return text
  }
  return {
    ...deps,
    tenantId: ownTenantId,
    newTenant,
    importFile,
    importChunks,
    exportFile,
    reported,
    warnings,
  }
}

async function* chunksOf(bytes: Buffer, chunkBytes: number) {
  for (let start = 0; start < bytes.length; start += chunkBytes)
    yield bytes.subarray(start, start + chunkBytes)
}

t.test('columns stand in any order, and an empty field counts as left out', async (t) => {
  const { importFile, exportFile } = await openScene()
  const file = [
    '\ufeffname,email,externalId\r\n',
    '"Lovelace, ""Ada""",ADA@x ,crm-1\r\n',
    '\r\n',
    ',bob@x,\r\n',
    '"Eve\nSmith",,crm-2',
  ].join('')
  t.strictSame(await importFile(file), {
    read: 3,
    created: 3,
    found: 0,
    conflicts: 0,
    refused: 0,
    nextLine: 6,
  })
  t.equal(await exportFile(), `${CSV_HEADER}crm-1,ada@x,"Lovelace, ""Ada"""\n,bob@x,\ncrm-2,,"Eve\nSmith"\n`)
})

t.test('importing a file again changes nothing', async (t) => {
  const { importFile, exportFile } = await openScene()
  const file = `${CSV_HEADER}1,ada@x,\n2,bob@x,Bob\n`
  await importFile(file)
  const before = await exportFile({ isCsv: false })
  t.match(await importFile(file), { created: 0, found: 2, refused: 0 })
  t.equal(await exportFile({ isCsv: false }), before)
})

t.test('an import fills blanks of known prospects, and overwrites nothing', async (t) => {
  const { importFile, exportFile } = await openScene()
  await importFile(`${CSV_HEADER}1,ada@x,\n2,bob@x,Bob\n`)
  t.match(await importFile('externalId,name\n1,Ada\n2,Robert\n'), { created: 0, found: 2 })
  t.equal(await exportFile(), `${CSV_HEADER}1,ada@x,Ada\n2,bob@x,Bob\n`)
})

t.test('refused lines are reported, and the others imported', async (t) => {
  const { importFile, reported } = await openScene()
  const file = [
    'email,externalId',
    'ada@x,',
    'bob@x,1,2',
    'n/a,',
    'a"b,',
    `"x\n${'x'.repeat(LINE_BYTES_MAX)}",`,
    `,${'x'.repeat(256)}`,
    '',
  ].join('\n')
  t.match(await importFile(file), { read: 6, created: 1, refused: 5 })
  t.equal(reported.length, 5)
  t.match(reported, [
    { line: 3, code: 'invalid_request', detail: 'The line has 3 fields, and the header 2.' },
    { line: 4, code: 'invalid_request', errors: [{ pointer: '/email' }] },
    { line: 5, code: 'invalid_request' },
    { line: 6, code: 'payload_too_large' },
    { line: 8, code: 'invalid_request', errors: [{ pointer: '/externalId' }] },
  ])
})

t.test('a line whose email or external id is not taken is stored without it, and reported', async (t) => {
  const { importFile, exportFile, reported } = await openScene()
  const lines = [
    '1,ada@x,',
    '2,<ADA@x>,Eve',
    '3,[object Object],',
    '4,Berlin,',
    '1,mailto:ada@x,',
    '1,ada@new,',
    '1, ,',
    'null,ada@x,',
    '2,bob@x,',
  ]
  const file = `${CSV_HEADER}${lines.join('\n')}\n`
  t.match(await importFile(file), { read: 9, created: 4, found: 5, conflicts: 5, refused: 0 })
  t.equal(reported.length, 5)
  const rest = /The rest is stored with prospect_\w+\.$/
  for (const { code, detail } of reported) t.match({ code, detail }, { code: 'conflict', detail: rest })
  t.match(reported, [
    { line: 3, detail: /^The email belongs to prospect_\w+\. /, conflicts: [{ reason: 'taken' }] },
    { line: 4, detail: /^The email is not an email address\. / },
    { line: 5, conflicts: [{ field: 'email', reason: 'unusable' }] },
    { line: 7, detail: /^The prospect has another email\. / },
    { line: 9, detail: /^The external id is blank or a placeholder\. / },
  ])
  t.equal(
    await exportFile(),
    `${CSV_HEADER}1,ada@x,\n3,,\n4,,\n2,bob@x,Eve\n`,
    'the second line waited for the first, whose email it names',
  )
})

t.test('a header with an unknown column, or none to find a prospect by, is refused', async (t) => {
  const { importFile, exportFile } = await openScene()
  const refusals = {
    'email,,name': /The column "" is unknown./,
    name: /one of the first two at least./,
    '': /one of the first two at least./,
  }
  for (const [header, message] of Object.entries(refusals))
    await t.rejects(importFile(`${header}\nada@x,1\n`), { message }, header)
  t.equal(await exportFile(), CSV_HEADER)
})

t.test('JSON lines are imported: other members are ignored, and null counts as left out', async (t) => {
  const { importFile, reported } = await openScene()
  const lines = [
    '{"email":"ada@x","name":null,"createdAt":"x"}',
    'null',
    '[]',
    '{"name":1}',
    '',
    '{"externalId":"1"}',
  ]
  const imported = await importFile(lines.join('\n'), { isCsv: false })
  t.match(imported, { read: 5, created: 2, refused: 3 })
  t.equal(reported.length, 3)
  t.match(reported, [{ line: 2 }, { line: 3 }, { line: 4 }])
})

t.test('an export as JSON lines can be imported for another tenant', async (t) => {
  const { importFile, exportFile, newTenant } = await openScene()
  await importFile(`${CSV_HEADER},ada@x,\n1,,\n`)
  const tenantId = await newTenant()
  const copied = await importFile(await exportFile({ isCsv: false }), { isCsv: false, tenantId })
  t.match(copied, { created: 2, refused: 0 })
  t.equal(await exportFile({ tenantId }), await exportFile())
})

t.test('an import resumes at a line, with the header of the file', async (t) => {
  const { importFile, exportFile } = await openScene()
  const file = 'email\n"a\nb"\nc@x\nd@x\n'
  t.match(await importFile(file, { fromLine: 3 }), { read: 2, created: 2 })
  t.equal(await exportFile(), `${CSV_HEADER},c@x,\n,d@x,\n`)
})

t.test('an erased prospect is neither exported nor imported again', async (t) => {
  const { importFile, exportFile, reported, tenantId, store, clock, newId } = await openScene()
  await importFile('email\nada@x\nbob@x\n')
  await requestErasure({ store, clock, newId })({ tenantId, email: 'ada@x', blockDays: 1 })
  t.equal(await exportFile(), `${CSV_HEADER},bob@x,\n`)
  t.match(await importFile('email\nada@x\nbob@x\n'), { found: 1, refused: 1 })
  t.match(reported, [{ line: 2, code: 'prospect_erased' }])
})

t.test('a list with everything that an erased person ever had brings nobody back', async (t) => {
  const { importFile, exportFile, reported, tenantId, ...deps } = await openScene()
  const create = async (prospect: object) =>
    (await createProspect(deps)({ tenantId, ...prospect })).value.prospectId
  const correct = (prospectId: string, changes: object) =>
    updateProspect(deps)({ tenantId, prospectId, ...changes })
  const ada = await create({ email: 'ada@x', externalId: 'crm 1' })
  // More than are kept as texts.
  for (let i = 0; i < 25; i++) await correct(ada, { email: `ada@${i}` })
  await correct(ada, { email: 'ada@kept' })
  await correct(ada, { email: 'ada@last', keepFormerEmail: true, externalId: 'crm 2' })
  await correct(ada, { email: 'ada@new', forgetEmail: 'ada@last' })
  const eve = await create({ email: 'eve@x', externalId: 'crm 3' })
  await correct(eve, { email: 'eve@new', externalId: 'crm 4' })
  await mergeProspect(deps)({ tenantId, prospectId: eve, into: ada })

  const byOldest = await requestErasure(deps)({ tenantId, email: 'ada@x', blockDays: 1 })
  t.strictSame(byOldest.value.formerlyOf, [ada])
  await requestErasure(deps)({ tenantId, prospectId: ada, blockDays: 1 })
  const numbered = Array.from({ length: 25 }, (_, i) => `ada@${i}`)
  const emails = ['ada@x', ...numbered, 'ada@kept', 'ada@new', 'eve@x', 'eve@new']
  const externalIds = ['crm 1', 'crm 2', 'crm 3', 'crm 4']
  const file = [
    'email,externalId',
    ...emails.map((email) => `${email},`),
    ...externalIds.map((id) => `,${id}`),
  ]
  // Each alone, and beside something new.
  t.match(await importFile(file.join('\n')), { created: 0, found: 0, refused: 34 })
  t.match(await importFile('email,externalId\nada@3,new 1\nnew@x,crm 3\n'), { created: 0, refused: 2 })
  t.ok(reported.every(({ code }) => code === 'prospect_erased'))
  t.equal(await exportFile(), CSV_HEADER)
  // Dropped, so that it never was hers.
  t.match(await importFile('email\nada@last\n'), { created: 1 })
})

t.test('a file is read no faster than it is imported', async (t) => {
  const { importChunks, exportFile } = await openScene()
  const rows = 5_000
  const linesAheadMax = 500
  let linesRead = 1
  let linesImported = 0
  let linesAhead = 0
  async function* chunks() {
    yield Buffer.from('externalId,name\n')
    for (let row = 0; row < rows; row += 10) {
      const tenRows = Array.from({ length: 10 }, (_, i) => `c${row + i},"a\nb"\n`)
      yield Buffer.from(tenRows.join(''))
      linesRead += 2 * tenRows.length
      linesAhead = Math.max(linesAhead, linesRead - linesImported)
    }
  }
  const onProgress = ({ nextLine }: { nextLine: number }) => {
    linesImported = nextLine
  }
  t.match(await importChunks(chunks(), { onProgress }), { read: rows, created: rows })
  t.ok(linesAhead < linesAheadMax, `${linesAhead} lines`)
  t.match(await exportFile(), /[^\s]\n$/, 'an export of several pages ends with one line break')
  t.equal((await exportFile({ isCsv: false })).split('\n').length, rows + 1)
})

/** The sizes of the chunks in which each file is read: any place in it may be a border. */
const CHUNK_BYTES = [1, 7, 1_000]
const ADA = `${CSV_HEADER}crm-1,ada@x,Ada Lovelace\n`
const utf16 = (text: string) => Buffer.from(text, 'utf16le')
/** Files of one person as programs write them, and the options that read them. */
const FILES: Readonly<Record<string, { readonly file: string | Buffer; readonly csv?: CsvColumns }>> = {
  semicolons: { file: 'externalId;email;name\ncrm-1;ada@x;Ada Lovelace\n' },
  tabs: { file: 'externalId\temail\tname\r\ncrm-1\tada@x\tAda Lovelace\r\n' },
  bars: { file: 'externalId|email|name\ncrm-1|ada@x|Ada Lovelace' },
  'a first line sep=': { file: '\ufeffsep=;\r\nexternalId;email;name\r\ncrm-1;ada@x;Ada Lovelace\r\n' },
  'a first line sep= of another kind': { file: 'SEP=:\nexternalId:email:name\ncrm-1:ada@x:Ada Lovelace\n' },
  'quotes around everything': { file: '"externalId";"email";"name"\n"crm-1";"ada@x";"Ada Lovelace"\n' },
  'a comma in a name of a column': {
    file: 'externalId;email;"Name, all of it"\ncrm-1;ada@x;Ada Lovelace\n',
    csv: { columns: { name: 'Name, all of it' } },
  },
  'more commas than semicolons': {
    file: 'externalId;email;name, first, last, all\ncrm-1;ada@x;Ada Lovelace\n',
    csv: { columns: { name: 'name, first, last, all' } },
  },
  'other spellings': { file: 'External ID,E-Mail,NAME\ncrm-1,ada@x,Ada Lovelace\n' },
  'other words': { file: 'Contact ID,Email Address,Full name\ncrm-1,ada@x,Ada Lovelace\n' },
  'two names': { file: 'contact_id,EMAIL,First Name,Last Name\ncrm-1,ada@x, Ada ,Lovelace\n' },
  'a name that is missing': {
    file: 'External-ID,email,Last Name,First Name\ncrm-1,ada@x,N/A,Ada Lovelace\n',
  },
  'columns by name': {
    file: 'Record,Work email,Given,Family,Phone\ncrm-1,ada@x,Ada,Lovelace,7\n',
    csv: {
      columns: { externalId: 'record', email: 'Work email', name: 'Given + Family' },
      ignoresOthers: true,
    },
  },
  'a constant': {
    file: 'id,email,Family\ncrm-1,ada@x,Lovelace\n',
    csv: { columns: { externalId: 'id', name: '=Ada + Family' } },
  },
  'a column that is called like a sum': {
    file: 'externalId,email,A + B\ncrm-1,ada@x,Ada Lovelace\n',
    csv: { columns: { name: 'A + B' } },
  },
  'further columns': {
    file: 'phone,externalId,email,,name\n7,crm-1,ada@x,8,Ada Lovelace\n',
    csv: { ignoresOthers: true },
  },
  'a comma at the end': { file: 'externalId,email,name,\ncrm-1,ada@x,Ada Lovelace,\n' },
  'commas at the end': { file: 'externalId,email,name,,\ncrm-1,ada@x,Ada Lovelace\n' },
  'commas at the end of rows': { file: 'externalId,email,name\ncrm-1,ada@x,Ada Lovelace,, ,\n' },
  'UTF-16 as Excel writes it': {
    file: utf16('\ufeffexternalId\temail\tname\r\ncrm-1\tada@x\tAda Lovelace\r\n'),
  },
  'UTF-16, the other way around': {
    file: utf16('\ufeffexternalId,email,name\ncrm-1,ada@x,Ada Lovelace\n').swap16(),
  },
  'UTF-16 without a mark': { file: utf16('externalId,email,name\ncrm-1,ada@x,Ada Lovelace') },
  'carriage returns': { file: 'externalId,email,name\rcrm-1,ada@x,Ada Lovelace\r' },
  'carriage returns behind quotes': { file: '"externalId",email,"name"\r"crm-1",ada@x,"Ada Lovelace"\r' },
  'a mark before a quote': { file: '\ufeff"externalId",email,"na\nme"\ncrm-1,ada@x,Ada Lovelace\n' },
  'empty rows with semicolons': { file: 'externalId;email;name\n;;\ncrm-1;ada@x;Ada Lovelace\n;;\n' },
}
for (const [what, { file, csv }] of Object.entries(FILES))
  t.test(`a file is read as programs write it: ${what}`, async (t) => {
    for (const chunkBytes of CHUNK_BYTES) {
      const { importFile, exportFile } = await openScene()
      t.match(await importFile(file, { csv, chunkBytes }), { created: 1, refused: 0 })
      t.equal(await exportFile(), ADA)
    }
  })

t.test('empty rows are skipped, but a row of another separator is a text, and refused', async (t) => {
  const file = ',,\n\nexternalId,email,name\n,,\n , ,\n"","",""\n;;\ncrm-1,ada@x,Ada Lovelace\n,,\r\n,\n'
  for (const chunkBytes of CHUNK_BYTES) {
    const { importFile, exportFile, reported } = await openScene()
    t.match(await importFile(file, { chunkBytes }), { created: 1, refused: 1 })
    t.equal(await exportFile(), ADA)
    t.match(reported, [{ line: 7, detail: 'The line has 1 fields, and the header 3.' }])
  }
})

for (const isCsv of [true, false])
  t.test(`an id may begin with a byte order mark, exported as ${isCsv ? 'CSV' : 'JSON lines'}`, async (t) => {
    const { importFile, exportFile } = await openScene()
    await importFile('\ufeffexternalId,email,name\n\ufeffcrm-1,,Ada\ncrm-1,,Bob\n')
    const exported = await exportFile({ isCsv })
    const markedLines = exported.split('\n').filter((line) => line.includes('\ufeffcrm-1'))
    t.equal(markedLines.length, 1, 'only the mark of the file was dropped')
    const importedAgain = await importFile(exported, { isCsv })
    t.match(importedAgain, { created: 0, found: 2, refused: 0 }, 'it finds the same two people')
  })

t.test('an id keeps its byte order mark in every encoding of a file, and behind its separator', async (t) => {
  for (const file of [
    utf16('\ufeffexternalId,name\n\ufeffcrm-1,Ada\ncrm-1,Bob\n'),
    utf16('\ufeffexternalId,name\n\ufeffcrm-1,Ada\ncrm-1,Bob\n').swap16(),
    '\ufeffsep=;\n\ufeffexternalId;name\n\ufeffcrm-1;Ada\n"\ufeffcrm-1";Ada\ncrm-1;Bob\n',
  ]) {
    const { importFile, exportFile } = await openScene()
    t.match(await importFile(file), { created: 2, refused: 0 })
    t.equal((await exportFile()).split('\n').filter((line) => line.includes('\ufeffcrm-1')).length, 1)
  }
  const { importFile } = await openScene()
  const marked = '{"externalId":"\ufeffcrm-1"}\n'
  const joined = `\ufeff${marked}\ufeff${marked}{"externalId":"crm-1"}\n`
  t.match(await importFile(joined, { isCsv: false }), { created: 2, found: 1, refused: 0 })
})

const FIFTY_ROWS = Array.from({ length: 50 }, (_, i) => `${i}@x,\n`).join('')
const REPEATED: readonly { file: string; csv?: CsvColumns; warnings: readonly string[] }[] = [
  {
    file: 'Email,Name,Email\nada@x,Ada,other@x\n',
    warnings: ['Column 3, "Email", is ignored: column 1 has the same name.'],
  },
  {
    file: 'E-Mail;name;e mail;\nada@x;Ada;other@x;\n',
    warnings: ['Column 3, "e mail", is ignored: column 1 has the same name.'],
  },
  {
    file: 'First Name,Last Name,First Name,email\nAda,,Eve,ada@x\n',
    warnings: ['Column 3, "First Name", is ignored: column 1 has the same name.'],
  },
  {
    file: 'Work,name,Work,Phone,Phone\nada@x,Ada,other@x,1,2\n',
    csv: { columns: { email: 'Work' }, ignoresOthers: true },
    warnings: ['Column 3, "Work", is ignored: column 1 has the same name.'],
  },
]
for (const { file, csv, warnings: expected } of REPEATED)
  t.test(`of several columns with one name the first is read: ${file.split('\n')[0]}`, async (t) => {
    const { importFile, exportFile, reported, warnings } = await openScene()
    t.match(await importFile(file, { csv }), { created: 1 })
    t.equal(await exportFile(), `${CSV_HEADER},ada@x,Ada\n`)
    t.strictSame(warnings, expected)
    t.strictSame(reported, [])
  })

t.test('lines before the header are skipped, whatever is in them', async (t) => {
  const { importFile, exportFile, reported } = await openScene()
  const before = Buffer.from('Report of "2026\n"Zo\xeb\n\n', 'latin1')
  const file = Buffer.concat([before, Buffer.from('email;name\nada@x;Ada\n\nbob@x;Bob;x;y\n')])
  t.match(await importFile(file, { csv: { headerLine: 4 } }), { created: 1, refused: 1, nextLine: 8 })
  t.match(reported, [{ line: 7 }])
  t.equal(await exportFile(), `${CSV_HEADER},ada@x,Ada\n`)
  t.match(await importFile(file, { csv: { headerLine: 3 } }), { found: 1 }, 'an empty line is no header')
  const hinted = 'sep=|\nA report\nemail|name\ncarol@x|Carol\n'
  t.match(await importFile(hinted, { csv: { headerLine: 3 } }), { created: 1 })
})

t.test('a number that is a formula of a text is that text', async (t) => {
  const { importFile, exportFile } = await openScene()
  await importFile('externalId,name\n="00042",Ada\n"=""00043""","=""Eve"""\n')
  t.equal(await exportFile(), `${CSV_HEADER}00042,,Ada\n00043,,Eve\n`)
})

const LATIN_1 = Buffer.from('email,name\nzoe@x,Zo\xeb\nbob@x,Bob\n', 'latin1')
const UNREADABLE: readonly { file: string | Buffer; csv?: CsvColumns; message: string }[] = [
  { file: LATIN_1, message: 'Line 2 is not UTF-8. Save the file as CSV UTF-8.' },
  {
    file: Buffer.concat([Buffer.from(`email,name\n${FIFTY_ROWS}`), LATIN_1]),
    message: 'Line 53 is not UTF-8.',
  },
  { file: Buffer.from('email;Na\xefve\n', 'latin1'), message: 'Line 1 is not UTF-8.' },
  {
    file: utf16('\ufeffemail\na@x\n\ud800').subarray(0, -1),
    message: 'The file is not well-formed UTF-16. Save the file as CSV UTF-8.',
  },
  { file: 'email,name\nada@x,"Ada\n', message: 'The quote that opens in line 2 is not closed.' },
  { file: 'a"b,email\n', message: 'not well-formed CSV' },
  {
    file: 'name,email\nAda,ada@x',
    csv: { columns: { phone: 'p' } },
    message: '--columns can name externalId, email, name, but not phone.',
  },
  {
    file: 'name,email\nAda,ada@x',
    csv: { columns: { email: 'Work' } },
    message: 'There is no column "Work" for email.',
  },
  {
    file: 'name,email\nAda,ada@x',
    csv: { columns: { name: 'name + Last' } },
    message: 'There is no column "name + Last" for name.',
  },
  {
    file: 'Work,email\na@x,b@x',
    csv: { columns: { email: 'Work' } },
    message: 'The column "email" is unknown. Name it with --columns',
  },
  { file: '', message: 'one of the first two at least.' },
  {
    file: 'a report\nemail\nada@x\n',
    csv: { headerLine: 4 },
    message: 'The file has no header in line 4 or after it.',
  },
  {
    file: 'a report\nemail\nada@x\n',
    csv: { headerLine: 3 },
    message: 'one of the first two at least.',
  },
  { file: 'sep=;\n', message: 'one of the first two at least.' },
]
t.test('a file that cannot be read is refused, with its line and the remedy', async (t) => {
  const { importFile, exportFile } = await openScene()
  for (const { file, csv, message } of UNREADABLE) {
    const failure = await importFile(file, { csv }).catch((error: Error) => error)
    t.ok(failure instanceof Error && failure.message.includes(message), message)
  }
  t.equal(await exportFile(), CSV_HEADER)
})
