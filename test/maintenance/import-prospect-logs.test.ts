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

const logAllOver = (deps: Parameters<typeof logProspectActivity>[0]) =>
  logProspectActivities({ ...deps, logProspectActivity: logProspectActivity(deps) })

const setUp = async () => {
  const deps = { store: memoryStore(), clock: Date.now, newId: createNewId() }
  const { tenantId } = await createTenant(deps)({ name: 'a tenant' })
  const reported: ReportedLine[] = []
  const load = async (text: string, csv: CsvColumns = {}) => {
    async function* chunks() {
      yield Buffer.from(text)
    }
    const { imported, why } = await importProspectLogs(logAllOver(deps))(
      {
        store: deps.store,
        tenantId,
        chunks: chunks(),
        lineBytesMax: 1_000,
        fromLine: 1,
        csv,
        stop: new AbortController().signal,
        onProgress: () => {},
        onReported: (line) => reported.push(line),
      },
      true,
    )
    if (why !== null) throw why
    const { items } = (await listProspectLogs(deps)({ tenantId, limit: 9 })).value
    return { imported, items }
  }
  return { load, reported }
}

t.test('a row of CSV is an activity, and the columns of no member are its payload', async (t) => {
  const { load } = await setUp()
  const text =
    'Source;Occurred at;E-Mail;First name;Last name;Note;Amount\r\n' +
    'crm;2024-05-01 10:00:00Z;ada@x;Ada;Lovelace;"Asked; ""twice""";1,50\r\n;;;;;;\r\n'
  t.match(await load(text), {
    imported: { read: 1, logged: 1, refused: 0 },
    items: [
      {
        source: 'crm',
        type: 'webhook',
        email: 'ada@x',
        name: 'Ada Lovelace',
        occurredAt: '2024-05-01T10:00:00.000Z',
        idempotencyKey: null,
        payload: { rawJson: '{"Note":"Asked; \\"twice\\"","Amount":"1,50"}' },
      },
    ],
  })
})

t.test('a column may hold the payload, and constants stand for columns', async (t) => {
  const { load, reported } = await setUp()
  const columns = { source: '=old-crm', type: '=note', idempotencyKey: 'Id', payload: 'Json' }
  const text = 'Id,Json,Email,Note\n1,"{ ""n"" : 1.0 }",ada@x,\n2,[],bob@x,\n3,nonsense,,\n4,,,\n1,{},,\n'
  const { imported, items } = await load(text, { columns, ignoresOthers: true })
  t.match(imported, { read: 5, logged: 2, refused: 3 })
  t.match(items[1], {
    source: 'old-crm',
    type: 'note',
    idempotencyKey: '1',
    payload: { rawJson: '{ "n" : 1.0 }' },
  })
  t.match(items[0], { idempotencyKey: '4', payload: { rawJson: '{}' } })
  t.match(reported, [
    { line: 3, errors: [{ pointer: '/payload' }] },
    { line: 4, errors: [{ pointer: '/payload' }] },
    { line: 6, code: 'idempotency_key_reused' },
  ])
  for (const [file, message, csv] of [
    [text, /The column "Note" is unknown/, { columns }],
    ['Note\na\n', /add --columns source="=old-crm"/],
    ['source,Note,Note\na,b,c\n', /The column "Note" is unknown or occurs twice/],
    ['source,,Note\na,b,c\n', /The column "" is unknown/],
    ['source,Date\na,b\n', /no column "Day" for occurredAt/, { columns: { occurredAt: 'Day' } }],
  ] as readonly (readonly [string, RegExp, CsvColumns?])[])
    await t.rejects(load(file, csv), { message }, file)
})

t.test('a member that is null counts as left out, and a payload stays byte for byte', async (t) => {
  const deps = { store: memoryStore(), clock: Date.now, newId: createNewId() }
  const { tenantId } = await createTenant(deps)({ name: 'a tenant' })
  const reported: ReportedLine[] = []
  async function* chunks() {
    yield Buffer.from('{"source":"a","email":null,"type": null ,"payload":{"n":1.0,"a": null}}\n')
    yield Buffer.from('{"source":null,"payload":{}}\n{"source":"a","payload":null}\n{"source":null,')
  }
  const { imported } = await importProspectLogs(logAllOver(deps))({
    store: deps.store,
    tenantId,
    chunks: chunks(),
    lineBytesMax: 1_000,
    fromLine: 1,
    stop: new AbortController().signal,
    onReported: (line) => reported.push(line),
    onProgress: () => {},
  })
  t.match(imported, { read: 4, logged: 1, refused: 3 })
  t.match(reported, [
    { line: 2, errors: [{ detail: 'is required', pointer: '/source' }] },
    { line: 3, errors: [{ detail: 'is required', pointer: '/payload' }] },
    { line: 4, code: 'invalid_json' },
  ])
  const { value: list } = await listProspectLogs(deps)({ tenantId, limit: 9 })
  t.match(list, { items: [{ email: null, type: 'webhook', payload: { rawJson: '{"n":1.0,"a": null}' } }] })
})
