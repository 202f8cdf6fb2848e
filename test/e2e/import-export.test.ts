import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  answerOf,
  BIN,
  caller,
  type DatabaseKind,
  databaseKinds,
  inherited,
  linesOf,
  NODE,
  newFolder,
  runCommand,
  seed,
  startServer,
  until,
} from '../support/program.ts'

t.setTimeout(0)

/** An import stores this many lines at once. */
const LINES_AT_ONCE = 200
const MAX_PATIENCE = { tries: 12_000, pauseMs: 10 }

type Refused = { readonly line: number; readonly code: string }
type Exported = Readonly<Record<string, unknown>> & { readonly payload: { readonly n: number } }

const activity = (n: number, more: object = {}) => ({ source: 'crm', payload: { n }, ...more })
const activities = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, n) => activity(n, more))
const jsonLines = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('')
const numbersFrom0To = (end: number) => Array.from({ length: end }, (_, n) => n)
const numbersOf = (logs: readonly Exported[]) => logs.map(({ payload }) => payload.n)

/** A database with a tenant, and the commands that the tests run on it. */
const openScene = async (t: Test, kind: DatabaseKind) => {
  const { env, rows } = await kind.open(t)
  const { tenantId, apiKey } = await seed(env)
  const countOf = async (table: 'prospects' | 'prospect_logs', tenant: string) => {
    const [row] = await rows<{ count: number }>(
      `select count(*) as count from ${table} where tenant_id = '${tenant}'`,
    )
    return Number(row?.count)
  }
  return {
    env,
    rows,
    apiKey,
    tenantId,
    countOf,
    newTenant: async (): Promise<string> =>
      (await answerOf(['tenants', 'create', '--name', 'x'], env)).tenantId,
    /** Imports activities from stdin. */
    importLogs: (tenant: string, input: string, ...options: string[]) =>
      runCommand(['prospect-logs', 'import', '--tenant', tenant, '--file', '-', ...options], env, input),
    exportLogs: async (tenant: string, ...options: string[]) => {
      const command = ['prospect-logs', 'export', '--tenant', tenant, ...options]
      const { code, stdout, stderr } = await runCommand(command, env)
      t.equal(code, 0)
      t.equal(stderr, '')
      return { stdout, logs: linesOf<Exported>(stdout) }
    },
  }
}

/** A command in a separate process, which a test stops halfway. */
const startCommand = (args: readonly string[], env: object) => {
  const child = spawn(NODE, [BIN, ...args], { env: { ...inherited(), ...env } })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (text) => {
    output.stdout += text
  })
  child.stderr.on('data', (text) => {
    output.stderr += text
  })
  const closed = once(child, 'close')
  const ended = async (): Promise<number | null> => (await closed)[0]
  return { child, output, ended }
}

for (const kind of databaseKinds())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false }, async (t) => {
    t.teardown(kind.end)
    const scene = await openScene(t, kind)
    await testActivities(t, kind, scene)
    await testProspects(t, scene)
  })

type Scene = Awaited<ReturnType<typeof openScene>>

const testActivities = async (t: Test, kind: DatabaseKind, scene: Scene) => {
  const { env, rows, apiKey, tenantId, countOf, newTenant, importLogs, exportLogs } = scene

  t.test('lines are logged in order while a server runs, and exported as they were sent', async (t) => {
    const server = await startServer(t, env)
    const lines = [
      '{"source":"crm","payload":{ "n":12345678901234567890,\t"n":1.0 },"email":"Ada@example.com","name":"Ada"}',
      String.raw`{"source":"shop","type":"ordered","payload":{"text":"\u0000 \ud800 \n"},"email":" ada@example.com "}`,
      '{"source":"crm","payload":{},"idempotencyKey":"1","occurredAt":"2024-05-01T09:00:00+02:00"}',
    ]
    // As other systems write a file: with a byte order mark, CRLF and blank lines, and without a line end at the end.
    const input = `\ufeff${lines.join('\r\n\n \n')}`

    t.strictSame(await importLogs(tenantId, input), {
      code: 0,
      stderr: '',
      stdout: '{"read":3,"logged":3,"replayed":0,"refused":0}\n',
    })
    const onSeveralLines = '{"source":"crm","payload":{\n "a" : [\r\n1] }}'
    const call = caller(server.url, apiKey)
    t.equal((await call('POST', '/v0/prospect_logs', onSeveralLines)).status, 201)

    const { stdout, logs } = await exportLogs(tenantId)
    t.match(stdout, '"payload":{ "n":12345678901234567890,\t"n":1.0 },"email":"Ada@example.com"')
    t.match(stdout, String.raw`"payload":{"text":"\u0000 \ud800 \n"},`)
    t.match(stdout, '"payload":{  "a" : [  1] },', 'line ends become spaces')
    t.strictSame(Object.keys(logs[0] ?? {}), [
      'prospectLogId',
      'prospectId',
      'tenantId',
      'source',
      'type',
      'payload',
      'email',
      'name',
      'externalId',
      'idempotencyKey',
      'occurredAt',
      'createdAt',
      'createdProspect',
    ])
    t.equal(logs.length, 4)
    const [first, ofSamePerson, withTime, throughServer] = logs
    t.match(first, {
      tenantId,
      createdProspect: true,
      email: 'Ada@example.com',
      name: 'Ada',
      idempotencyKey: null,
    })
    t.match(ofSamePerson, {
      createdProspect: false,
      prospectId: first?.['prospectId'],
      type: 'ordered',
      name: null,
    })
    t.match(withTime, {
      createdProspect: true,
      idempotencyKey: '1',
      occurredAt: '2024-05-01T07:00:00.000Z',
      type: 'webhook',
    })
    t.match(throughServer, { createdProspect: true })
    t.equal(await server.stop(), 0)
  })

  t.test('refused lines are reported and skipped, and an import can be repeated', async (t) => {
    const tenant = await newTenant()
    const file = join(newFolder(t), 'lines.jsonl')
    const first = JSON.stringify(activity(1, { idempotencyKey: '1' }))
    const second = JSON.stringify(activity(2, { idempotencyKey: '2' }))
    const largerThan1KiB = JSON.stringify(activity(3, { email: `${'x'.repeat(988)}@example.com` }))
    const firstChanged = JSON.stringify(activity(1, { idempotencyKey: '1', type: 'x' }))
    const lines = [first, '{"source":""}', 'nonsense', largerThan1KiB, '[]', second, firstChanged]
    const notUtf8 = Buffer.from([0xff, 0x0a])
    writeFileSync(file, Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), notUtf8]))
    const importFile = (settings: object) =>
      runCommand(['prospect-logs', 'import', '--tenant', tenant, '--file', file], { ...env, ...settings })

    const { code, stdout, stderr } = await importFile({ BODY_BYTES_MAX: '1024' })

    t.equal(code, 1)
    t.strictSame(JSON.parse(stdout), { read: 8, logged: 2, replayed: 0, refused: 6 })
    const refused = linesOf<Refused>(stderr)
    t.strictSame(
      refused.map(({ line, code }) => `line ${line}: ${code}`),
      [
        'line 2: invalid_request',
        'line 3: invalid_json',
        'line 4: payload_too_large',
        'line 5: invalid_request',
        'line 7: idempotency_key_reused',
        'line 8: invalid_json',
      ],
    )
    t.match(refused[0], {
      errors: [{ pointer: '/source' }, { detail: 'is required', pointer: '/payload' }],
    })

    const repeated = await importFile({ BODY_BYTES_MAX: '1024' })
    t.match(JSON.parse(repeated.stdout), { read: 8, logged: 0, replayed: 2, refused: 6 })
    t.equal((await exportLogs(tenant)).logs.length, 2)

    const withIdentity = await importFile({ REQUIRE_IDENTITY: 'true' })
    t.match(JSON.parse(withIdentity.stdout), { logged: 1, replayed: 2 }, 'only the large one has an email')
  })

  t.test('Ctrl-C stops an import, which prints the line it continues from', async (t) => {
    const tenant = await newTenant()
    const lines = jsonLines(activities(1_000))
    const sent = jsonLines(activities(650))
    const complete = 3 * LINES_AT_ONCE
    const command = ['prospect-logs', 'import', '--tenant', tenant, '--file', '-']
    const { child, output, ended } = startCommand(command, env)
    // Its stdin stays open, so it waits for more lines.
    child.stdin.write(sent)
    await until('all complete batches are stored', async () => {
      return (await countOf('prospect_logs', tenant)) >= complete
    })

    child.kill('SIGINT')

    t.equal(await ended(), 130)
    const summary = JSON.parse(output.stdout)
    t.strictSame(summary, { read: 600, logged: 600, replayed: 0, refused: 0, nextLine: 601 })
    const rest = await importLogs(tenant, lines, '--from-line', String(summary.nextLine))
    t.match(JSON.parse(rest.stdout), { read: 400, logged: 400 })
    const { logs } = await exportLogs(tenant)
    t.strictSame(numbersOf(logs), numbersFrom0To(1_000), 'each once, in order')
  })

  t.test('an export is complete and in order, and can be limited to a time of arrival', async (t) => {
    const tenant = await newTenant()
    await importLogs(tenant, jsonLines(activities(700)))
    t.strictSame(numbersOf((await exportLogs(tenant)).logs), numbersFrom0To(700))

    const time = new Date(Date.now() + 50).toISOString()
    await until('the time has passed', () => new Date().toISOString() > time)
    await importLogs(tenant, jsonLines(activities(30)))

    const exportedBy = async (...options: string[]) => (await exportLogs(tenant, ...options)).logs.length
    t.equal(await exportedBy('--until', time), 700)
    t.equal(await exportedBy('--since', time), 30)
    t.equal(await exportedBy('--since', time.replace('Z', '+00:00')), 30, 'with an offset')
    t.equal(await exportedBy('--since', time, '--until', time), 0)
  })

  t.test('an export whose reader leaves ends quietly', async (t) => {
    const tenant = await newTenant()
    // More than a pipe holds.
    const text = 'x'.repeat(900_000)
    const imported = await importLogs(tenant, jsonLines(activities(12, { payload: { text } })))
    t.match(JSON.parse(imported.stdout), { logged: 12 })
    const { child, output, ended } = startCommand(['prospect-logs', 'export', '--tenant', tenant], env)
    await once(child.stdout, 'data')

    child.stdout.destroy()

    t.equal(await ended(), 0)
    t.equal(output.stderr, '')
  })

  t.test('an unknown tenant is refused', async (t) => {
    for (const command of [
      ['prospect-logs', 'import', '--tenant', 'nobody', '--file', '-'],
      ['prospect-logs', 'export', '--tenant', 'nobody'],
    ]) {
      const { code, stdout, stderr } = await runCommand(command, env, '{}')
      t.match({ code, stdout }, { code: 1, stdout: '' })
      t.match(JSON.parse(stderr), { detail: 'Tenant not found.' })
    }
  })

  t.test('a missing file is refused', async (t) => {
    const file = join(newFolder(t), 'none.jsonl')
    const command = ['prospect-logs', 'import', '--tenant', tenantId, '--file', file]
    const { code, stdout, stderr } = await runCommand(command, env)
    t.match({ code, stdout }, { code: 1, stdout: '' })
    t.match(JSON.parse(stderr), { detail: `${file}: no such file or directory.` })
  })

  t.test('a database that fails ends an import, which prints the line it continues from', async (t) => {
    const tenant = await newTenant()
    await rows(
      kind.name === 'sqlite'
        ? `create trigger faulty before insert on prospect_logs when new.source = 'faulty' begin select raise(abort, 'no such thing'); end`
        : `alter table prospect_logs add constraint faulty check (source <> 'faulty')`,
    )
    const beforeFaulty = activities(250)
    const lines = jsonLines([...beforeFaulty, activity(250, { source: 'faulty' }), ...activities(249)])

    const { code, stdout, stderr } = await importLogs(tenant, lines)

    t.equal(code, 1)
    t.match(JSON.parse(stdout), { read: 250, logged: 250, refused: 0, nextLine: 251 })
    t.match(JSON.parse(stderr), { code: 'refused', database: String })
  })

  t.test('everything about a person is printed by api, line by line', async (t) => {
    const tenant = await newTenant()
    await importLogs(tenant, jsonLines(activities(150, { email: 'ada@example.com' })))
    const { logs } = await exportLogs(tenant)
    const path = `/v0/prospects/${logs[0]?.['prospectId']}/export`

    const { code, stdout } = await runCommand(['api', 'GET', path, '--tenant', tenant], env)

    t.equal(code, 0)
    const lines = linesOf<Exported>(stdout)
    t.match(lines[0], { prospect: { email: 'ada@example.com' } })
    t.strictSame(lines.at(-1), { done: true, logs: 150 })
    const sortedTexts = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value)).sort()
    const printed = lines.slice(1, -1).map((line) => line['prospectLog'])
    t.strictSame(sortedTexts(printed), sortedTexts(logs))
  })
}

const testProspects = async (t: Test, scene: Scene) => {
  const { env, countOf, newTenant, exportLogs } = scene

  const PEOPLE = 3_000
  /** The name of each contains a line end, so that a person takes two lines. */
  const peopleCsv = () => {
    const lines = numbersFrom0To(PEOPLE).map((n) => `crm-${n},${n}@example.com,"Person\n""${n}"""\n`)
    return `externalId,email,name\n${lines.join('')}`
  }
  const importPeople = async (tenant: string, file: string, ...options: string[]) => {
    const command = ['prospects', 'import', '--tenant', tenant, '--file', file, ...options]
    return JSON.parse((await runCommand(command, env)).stdout)
  }

  t.test('an import of prospects that is killed can be repeated without doubles', async (t) => {
    const tenant = await newTenant()
    const file = join(newFolder(t), 'people.CSV')
    writeFileSync(file, peopleCsv())
    const command = ['prospects', 'import', '--tenant', tenant, '--file', file]
    const { child, ended } = startCommand(command, env)
    await until('some are stored', async () => (await countOf('prospects', tenant)) > 0, MAX_PATIENCE)
    child.kill('SIGKILL')
    await ended()
    const stored = await countOf('prospects', tenant)

    const repeated = await importPeople(tenant, file)

    t.match(repeated, { read: PEOPLE, created: PEOPLE - stored, found: stored, refused: 0 })
    // Line 1 is the header, and each person takes two lines: line 5,002 begins the last 500 of them.
    const lastOnes = await importPeople(tenant, file, '--from-line', '5002')
    t.match(lastOnes, { read: 500, found: 500 })
  })

  t.test(
    'lines with conflicts are counted and reported up to a thousand, and the exit code is 1',
    async (t) => {
      const tenant = await newTenant()
      const command = ['prospects', 'import', '--tenant', tenant, '--file', '-', '--format', 'csv']
      const importCsv = (rows: string) => runCommand(command, env, `externalId,email\n${rows}`)
      t.equal((await importCsv('1,ada@example.com\n2,bob@example.com\n')).code, 0)

      const few = await importCsv('1,new@example.com\n2,ada@example.com\n3,4.1E+11\n')
      t.equal(few.code, 1)
      t.match(JSON.parse(few.stdout), { read: 3, created: 1, found: 2, conflicts: 3, refused: 0 })
      t.match(linesOf(few.stderr), [
        { line: 2, code: 'conflict', conflicts: [{ field: 'email', reason: 'different' }] },
        { line: 3, code: 'conflict', conflicts: [{ field: 'email', reason: 'taken' }] },
        { line: 4, code: 'conflict', conflicts: [{ field: 'email', reason: 'unusable' }] },
      ])

      const many = await importCsv('1,new@example.com\n'.repeat(1_002))
      t.match(JSON.parse(many.stdout), { found: 1_002, conflicts: 1_002 })
      const reports = linesOf<object>(many.stderr)
      t.equal(reports.length, 1_001)
      t.strictSame(reports.at(-1), { conflictsUnreported: 2 })
    },
  )

  t.test('prospects are exported as the CSV or the lines that an import takes', async (t) => {
    const tenant = await newTenant()
    const file = join(newFolder(t), 'people.CSV')
    writeFileSync(file, peopleCsv())
    t.match(await importPeople(tenant, file), { read: PEOPLE, created: PEOPLE, refused: 0 })
    const exportPeople = ['prospects', 'export', '--tenant', tenant]

    const csv = await runCommand([...exportPeople, '--format', 'csv'], env)
    t.ok(csv.stdout === peopleCsv(), 'the CSV is unchanged')

    const lines = await runCommand(exportPeople, env)
    const command = ['prospects', 'import', '--tenant', await newTenant(), '--file', '-']
    const imported = await runCommand(command, env, lines.stdout)
    t.match(JSON.parse(imported.stdout), { created: PEOPLE, refused: 0 })
  })

  const HEADER = 'sep=;\r\nId;Given, Family;Work email;Remark\r\n'
  const SHEET_ROWS = 700
  const sheetRows = numbersFrom0To(SHEET_ROWS).map((n) => `${n};Ada, Bob;${n}@example.com;note ${n}\r\n`)
  const COLUMNS = ['--columns', 'email=Work email,name=Given, Family,externalId=Id']

  t.test('nothing of a file that is not UTF-8 is imported', async (t) => {
    const tenant = await newTenant()
    const file = join(newFolder(t), 'excel.csv')
    writeFileSync(file, Buffer.from(`${HEADER}${sheetRows.join('')}7;Zo\xeb;;\r\n`, 'latin1'))
    const command = ['prospects', 'import', '--tenant', tenant, '--file', file, ...COLUMNS]

    const { code, stdout, stderr } = await runCommand([...command, '--ignore-other-columns'], env)

    t.equal(code, 1)
    t.match(JSON.parse(stdout), { read: 0, created: 0 })
    t.match(stderr, 'Line 703 is not UTF-8. Save the file as CSV UTF-8.')
  })

  t.test('a workbook is refused by what it is, whatever its name', async (t) => {
    const tenant = await newTenant()
    for (const name of ['people.xlsx', 'people.csv']) {
      const file = join(newFolder(t), name)
      writeFileSync(file, Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), Buffer.alloc(5_000, 7)]))
      for (const verb of ['prospects', 'prospect-logs']) {
        const command = [verb, 'import', '--tenant', tenant, '--file', file]
        const { code, stderr } = await runCommand(command, env)
        t.equal(code, 1)
        t.match(stderr, 'This is an Excel workbook. Save it as CSV UTF-8.')
      }
    }
  })

  t.test(
    'a report with a title, numbers as texts and a column twice is imported, with a warning',
    async (t) => {
      const tenant = await newTenant()
      const file = join(newFolder(t), 'report.csv')
      writeFileSync(
        file,
        'People of "2026\n\nExternal ID,Email,Email\n="00042",ada@x.example,other@x.example\n',
      )
      const { code, stdout, stderr } = await runCommand(
        ['prospects', 'import', '--tenant', tenant, '--file', file, '--header-line', '3'],
        env,
      )
      t.equal(code, 0)
      t.match(JSON.parse(stdout), { read: 1, created: 1, refused: 0 })
      t.match(stderr, 'is ignored: column 2 has the same name.')
      const exported = await runCommand(['prospects', 'export', '--tenant', tenant, '--format', 'csv'], env)
      t.equal(exported.stdout, 'externalId,email,name\n00042,ada@x.example,\n')
    },
  )

  t.test('the columns of a spreadsheet are named, for prospects and for activities', async (t) => {
    const tenant = await newTenant()
    const file = join(newFolder(t), 'excel.csv')
    const emptyRow = ';;;\r\n'
    writeFileSync(file, `\ufeff${HEADER}${sheetRows.join('')}${emptyRow}`)
    const importAs = (verb: string, ...options: string[]) =>
      runCommand([verb, 'import', '--tenant', tenant, '--file', file, ...options], env)

    const people = await importAs('prospects', ...COLUMNS, '--ignore-other-columns')
    t.match(JSON.parse(people.stdout), { read: SHEET_ROWS, created: SHEET_ROWS, refused: 0 })
    const withRemarks = await importAs('prospects', ...COLUMNS)
    t.match(JSON.parse(withRemarks.stdout), { read: SHEET_ROWS, created: 0, refused: 0 })

    const logColumns = ['--columns', 'source==excel,email=Work email,idempotencyKey=Id']
    const logs = await importAs('prospect-logs', ...logColumns)
    t.match(JSON.parse(logs.stdout), { read: SHEET_ROWS, logged: SHEET_ROWS })
    const repeated = await importAs('prospect-logs', ...logColumns)
    t.match(JSON.parse(repeated.stdout), { replayed: SHEET_ROWS })
    t.match((await exportLogs(tenant)).logs[0], {
      source: 'excel',
      email: '0@example.com',
      idempotencyKey: '0',
      createdProspect: false,
      payload: { 'Given, Family': 'Ada, Bob', Remark: 'note 0' },
    })
  })
}
