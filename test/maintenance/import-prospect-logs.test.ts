import t from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { listProspectLogs } from '../../src/core/activities/list-prospect-logs.ts'
import { logProspectActivities } from '../../src/core/activities/log-prospect-activities.ts'
import { logProspectActivity } from '../../src/core/activities/log-prospect-activity.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import type { CsvColumns } from '../../src/maintenance/csv.ts'
import type { ReportedLine } from '../../src/maintenance/import-lines.ts'
import { importProspectLogs } from '../../src/maintenance/import-prospect-logs.ts'

/** How many bytes of a file are read at a time: few, so that a chunk may end anywhere in a line. */
const CHUNK_BYTES = 10

/** A memory store with a tenant, into which files are imported. */
const openScene = async () => {
  const deps = { store: memoryStore(), clock: Date.now, newId: createNewId() }
  const { tenantId } = await createTenant(deps)({ name: 'a tenant' })
  const logAll = logProspectActivities({ ...deps, logProspectActivity: logProspectActivity(deps) })
  /** The lines that were refused. */
  const reported: ReportedLine[] = []
  const warnings: string[] = []

  const importFile = async (file: string, isCsv: boolean, csv: CsvColumns = {}) => {
    const { imported, why } = await importProspectLogs(logAll)(
      {
        store: deps.store,
        tenantId,
        chunks: chunksOf(file),
        lineBytesMax: 1_000,
        fromLine: 1,
        csv,
        stop: new AbortController().signal,
        onProgress: () => {},
        onReported: (line) => reported.push(line),
        onWarning: (warning) => warnings.push(warning),
      },
      isCsv,
    )
    if (why !== null) throw why
    return imported
  }
  const importCsv = (file: string, csv?: CsvColumns) => importFile(file, true, csv)
  const importJsonLines = (file: string) => importFile(file, false)
  /** The logs of the tenant, newest first. */
  const listLogs = async () => (await listProspectLogs(deps)({ tenantId, limit: 9 })).value.items
  return { importCsv, importJsonLines, listLogs, reported, warnings }
}

async function* chunksOf(file: string) {
  const bytes = Buffer.from(file)
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES)
    yield bytes.subarray(start, start + CHUNK_BYTES)
}

t.test('a row of CSV is an activity, and the columns of no member are its payload', async (t) => {
  const { importCsv, listLogs } = await openScene()
  const file = [
    'Source;Occurred at;E-Mail;First name;Last name;Note;Amount\r\n',
    'crm;2024-05-01 10:00:00Z;ada@x;Ada;Lovelace;"Asked; ""twice""";1,50\r\n',
    ';;;;;;\r\n',
  ].join('')
  t.match(await importCsv(file), { read: 1, logged: 1, refused: 0 }, 'the empty row is skipped')
  t.match(await listLogs(), [
    {
      source: 'crm',
      type: 'webhook',
      email: 'ada@x',
      name: 'Ada Lovelace',
      occurredAt: '2024-05-01T10:00:00.000Z',
      idempotencyKey: null,
      payload: { rawJson: '{"Note":"Asked; \\"twice\\"","Amount":"1,50"}' },
    },
  ])
})

t.test('a constant stands for a column', async (t) => {
  const { importCsv, listLogs } = await openScene()
  const columns = { source: '=old-crm', type: '=note' }
  t.match(await importCsv('Email\nada@x\n', { columns }), { logged: 1, refused: 0 })
  t.match(await listLogs(), [{ source: 'old-crm', type: 'note', email: 'ada@x' }])
})

t.test(
  'columns of any name can be the payload, which stays byte for byte, and the idempotency key',
  async (t) => {
    const { importCsv, listLogs } = await openScene()
    const columns = { idempotencyKey: 'Id', payload: 'Json' }
    const file = 'source,Id,Json\ncrm,1,"{ ""n"" : 1.0 }"\n'
    t.match(await importCsv(file, { columns }), { logged: 1, refused: 0 })
    t.match(await listLogs(), [{ idempotencyKey: '1', payload: { rawJson: '{ "n" : 1.0 }' } }])
  },
)

t.test('columns of no member can be ignored: without a payload, a row has an empty one', async (t) => {
  const { importCsv, listLogs } = await openScene()
  const file = 'source,payload,Note\ncrm,,ignored\n'
  t.match(await importCsv(file, { ignoresOthers: true }), { logged: 1, refused: 0 })
  t.match(await listLogs(), [{ payload: { rawJson: '{}' } }])
})

t.test('a row whose payload is no JSON object is refused, and the rows after it are logged', async (t) => {
  const { importCsv, listLogs, reported } = await openScene()
  const file = [
    'source,email,payload\n', // line 1
    'crm,ada@x,[]\n', // line 2
    'crm,bob@x,nonsense\n', // line 3
    'crm,eve@x,{}\n', // line 4
  ].join('')
  t.match(await importCsv(file), { read: 3, logged: 1, refused: 2 })
  t.match(reported, [
    { line: 2, errors: [{ pointer: '/payload' }] },
    { line: 3, errors: [{ pointer: '/payload' }] },
  ])
  t.match(await listLogs(), [{ email: 'eve@x' }])
})

t.test('a row with the idempotency key of another activity is refused', async (t) => {
  const { importCsv, reported } = await openScene()
  const file = [
    'source,idempotencyKey,email,payload\n', // line 1
    'crm,1,ada@x,"{ ""n"" : 1.0 }"\n', // line 2
    'crm,1,,{}\n', // line 3
  ].join('')
  t.match(await importCsv(file), { read: 2, logged: 1, refused: 1 })
  t.match(reported, [{ line: 3, code: 'idempotency_key_reused' }])
})

t.test('of several columns with one name the payload has the first', async (t) => {
  const { importCsv, listLogs, warnings } = await openScene()
  await importCsv('source,Note,Note,note,Source\na,b,c,d,e\n')
  t.match(await listLogs(), [{ source: 'a', payload: { rawJson: '{"Note":"b","note":"d"}' } }])
  t.strictSame(warnings, [
    'Column 3, "Note", is ignored: column 2 has the same name.',
    'Column 5, "Source", is ignored: column 1 has the same name.',
  ])
})

type RefusedHeader = {
  readonly fault: string
  readonly file: string
  readonly csv?: CsvColumns
  readonly message: RegExp
}
const REFUSED_HEADERS: readonly RefusedHeader[] = [
  {
    fault: 'a column of no member, although another column is the payload',
    file: 'Json,Note\n{},a\n',
    csv: { columns: { source: '=old-crm', payload: 'Json' } },
    message: /The column "Note" is unknown/,
  },
  {
    fault: 'no source',
    file: 'Note\na\n',
    message: /add --columns source="=old-crm"/,
  },
  {
    fault: 'a column without a name',
    file: 'source,,Note\na,b,c\n',
    message: /The column "" is unknown/,
  },
  {
    fault: 'an option that names a missing column',
    file: 'source,Date\na,b\n',
    csv: { columns: { occurredAt: 'Day' } },
    message: /no column "Day" for occurredAt/,
  },
]
for (const { fault, file, csv, message } of REFUSED_HEADERS)
  t.test(`CSV is refused, and nothing of it logged: ${fault}`, async (t) => {
    const { importCsv, listLogs } = await openScene()
    await t.rejects(importCsv(file, csv), { message })
    t.strictSame(await listLogs(), [])
  })

t.test('a member that is null in a JSON line counts as left out', async (t) => {
  const { importJsonLines, listLogs } = await openScene()
  const file = '{"source":"a","email":null,"type": null ,"payload":{}}\n'
  t.match(await importJsonLines(file), { read: 1, logged: 1, refused: 0 })
  t.match(await listLogs(), [{ email: null, type: 'webhook' }])
})

t.test('the payload of a JSON line stays byte for byte, its own null included', async (t) => {
  const { importJsonLines, listLogs } = await openScene()
  const file = '{"source":"a","email":null,"type": null ,"payload":{"n":1.0,"a": null}}\n'
  t.match(await importJsonLines(file), { read: 1, logged: 1, refused: 0 })
  t.match(await listLogs(), [{ payload: { rawJson: '{"n":1.0,"a": null}' } }])
})

t.test('a JSON line is refused if a required member is null, or if it is cut off', async (t) => {
  const { importJsonLines, listLogs, reported } = await openScene()
  const file = [
    '{"source":"a","payload":{}}\n', // line 1
    '{"source":null,"payload":{}}\n', // line 2
    '{"source":"a","payload":null}\n', // line 3
    '{"source":null,', // line 4
  ].join('')
  t.match(await importJsonLines(file), { read: 4, logged: 1, refused: 3 })
  t.match(reported, [
    { line: 2, errors: [{ detail: 'is required', pointer: '/source' }] },
    { line: 3, errors: [{ detail: 'is required', pointer: '/payload' }] },
    { line: 4, code: 'invalid_json' },
  ])
  t.equal((await listLogs()).length, 1)
})
