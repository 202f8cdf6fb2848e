import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  answerOf,
  BIN,
  caller,
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
type Refused = { readonly line: number; readonly code: string }
type Exported = Readonly<Record<string, unknown>>
const activity = (n: number, more: object = {}) => ({ source: 'crm', payload: { n }, ...more })
const linesFor = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('')

for (const kind of databaseKinds())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false }, async (t) => {
    t.teardown(kind.end)
    const database = await kind.open(t)
    const { env, rows } = database
    const { tenantId, apiKey } = await seed(env)
    const newTenant = async () => (await answerOf(['tenants', 'create', '--name', 'x'], env)).tenantId
    const run = (verb: string, more: readonly string[], input = '', settings = {}) =>
      runCommand(['prospect-logs', verb, ...more], { ...env, ...settings }, input)
    const exported = async (tenant: string, ...more: string[]) => {
      const { code, stdout, stderr } = await run('export', ['--tenant', tenant, ...more])
      t.strictSame([code, stderr], [0, ''])
      return { stdout, logs: linesOf<Exported>(stdout) }
    }

    t.test('lines are logged in order while a server runs, and exported as they were sent', async (t) => {
      const server = await startServer(t, env)
      const lines = [
        '{"source":"crm","payload":{ "n":12345678901234567890,\t"n":1.0 },"email":"Ada@example.com","name":"Ada"}',
        String.raw`{"source":"shop","type":"ordered","payload":{"text":"\u0000 \ud800 \n"},"email":" ada@example.com "}`,
        '{"source":"crm","payload":{},"idempotencyKey":"1","occurredAt":"2024-05-01T09:00:00+02:00"}',
      ]
      // Without a line end at the end; with the line ends of other systems, a mark and blank lines before it.
      const imported = await run(
        'import',
        ['--tenant', tenantId, '--file', '-'],
        `\ufeff${lines.join('\r\n\n \n')}`,
      )
      t.strictSame(imported, {
        code: 0,
        stderr: '',
        stdout: '{"read":3,"logged":3,"replayed":0,"refused":0}\n',
      })
      const call = caller(server.url, apiKey)
      const broken = '{"source":"crm","payload":{\n "a" : [\r\n1] }}'
      t.equal((await call('POST', '/v0/prospect_logs', broken)).status, 201)
      const { stdout, logs } = await exported(tenantId)
      t.match(stdout, '"payload":{ "n":12345678901234567890,\t"n":1.0 },"email":"Ada@example.com"')
      t.match(stdout, String.raw`"payload":{"text":"\u0000 \ud800 \n"},`)
      t.match(stdout, '"payload":{  "a" : [  1] },')
      t.strictSame(Object.keys(logs[0] ?? {}), [
        ...['prospectLogId', 'prospectId', 'tenantId', 'source', 'type', 'payload', 'email', 'name'],
        ...['externalId', 'idempotencyKey', 'occurredAt', 'createdAt', 'createdProspect'],
      ])
      t.match(logs, [
        { tenantId, createdProspect: true, email: 'Ada@example.com', name: 'Ada', idempotencyKey: null },
        { createdProspect: false, prospectId: logs[0]?.['prospectId'], type: 'ordered', name: null },
        {
          createdProspect: true,
          idempotencyKey: '1',
          occurredAt: '2024-05-01T07:00:00.000Z',
          type: 'webhook',
        },
        { createdProspect: true },
      ])
      t.equal(await server.stop(), 0)
    })

    t.test('refused lines are reported and skipped, and an import can be repeated', async (t) => {
      const tenant = await newTenant()
      const file = join(newFolder(t), 'lines.jsonl')
      const good = [activity(1, { idempotencyKey: '1' }), activity(2, { idempotencyKey: '2' })]
      const [first = '', second = ''] = good.map((one) => JSON.stringify(one))
      const large = JSON.stringify(activity(3, { email: `${'x'.repeat(988)}@example.com` }))
      const lines = [
        first,
        '{"source":""}',
        'nonsense',
        large,
        '[]',
        second,
        `${first.slice(0, -1)},"type":"x"}`,
      ]
      writeFileSync(file, Buffer.concat([Buffer.from(`${lines.join('\n')}\n`), Buffer.from([0xff, 10])]))
      const again = () => run('import', ['--tenant', tenant, '--file', file], '', { BODY_BYTES_MAX: '1024' })
      const { code, stdout, stderr } = await again()
      t.strictSame([code, JSON.parse(stdout)], [1, { read: 8, logged: 2, replayed: 0, refused: 6 }])
      const refused = linesOf<Refused>(stderr)
      t.strictSame(
        refused.map(({ line, code }) => [line, code]),
        [
          [2, 'invalid_request'],
          [3, 'invalid_json'],
          [4, 'payload_too_large'],
          [5, 'invalid_request'],
          [7, 'idempotency_key_reused'],
          [8, 'invalid_json'],
        ],
      )
      t.match(refused[0], {
        errors: [{ pointer: '/source' }, { detail: 'is required', pointer: '/payload' }],
      })
      t.match(JSON.parse((await again()).stdout), { read: 8, logged: 0, replayed: 2, refused: 6 })
      t.equal((await exported(tenant)).logs.length, 2)
      const identity = await run('import', ['--tenant', tenant, '--file', file], '', {
        REQUIRE_IDENTITY: 'true',
      })
      t.match(JSON.parse(identity.stdout), { logged: 1, replayed: 2 }, 'only the large one has an email')
    })

    t.test('Ctrl-C stops an import, which says where it goes on', async (t) => {
      const tenant = await newTenant()
      const args = ['prospect-logs', 'import', '--tenant', tenant, '--file', '-']
      const child = spawn(NODE, [BIN, ...args], { env: { ...inherited(), ...env } })
      let stdout = ''
      child.stdout.on('data', (text) => {
        stdout += text
      })
      const lines = Array.from({ length: 1_000 }, (_, n) => JSON.stringify(activity(n)))
      // Its input does not end: it waits for more.
      child.stdin.write(`${lines.slice(0, 650).join('\n')}\n`)
      const count = async () =>
        Number(
          (
            await rows<{ n: number }>(`select count(*) as n from prospect_logs where tenant_id = '${tenant}'`)
          )[0]?.n,
        )
      await until('some are stored', async () => (await count()) >= 600)
      child.kill('SIGINT')
      const [code] = await once(child, 'close')
      t.equal(code, 130)
      t.strictSame(JSON.parse(stdout), { read: 600, logged: 600, replayed: 0, refused: 0, nextLine: 601 })
      const rest = await run(
        'import',
        ['--tenant', tenant, '--file', '-', '--from-line', '601'],
        lines.join('\n'),
      )
      t.match(JSON.parse(rest.stdout), { read: 400, logged: 400 })
      const { logs } = await exported(tenant)
      t.strictSame(
        logs.map(({ payload }) => (payload as { n: number }).n),
        lines.map((_, n) => n),
        'each once, in order',
      )
    })

    t.test('an export takes what arrived between two times, page by page', async (t) => {
      const tenant = await newTenant()
      const import_ = (from: number, count: number) =>
        run(
          'import',
          ['--tenant', tenant, '--file', '-'],
          linesFor(Array.from({ length: count }, (_, n) => activity(from + n))),
        )
      await import_(0, 700)
      const { logs } = await exported(tenant)
      t.strictSame(
        logs.map(({ payload }) => (payload as { n: number }).n),
        Array.from({ length: 700 }, (_, n) => n),
      )
      const later = new Date(Date.now() + 50).toISOString()
      await until('it is later', () => new Date().toISOString() > later)
      await import_(700, 30)
      t.equal((await exported(tenant, '--since', later)).logs.length, 30)
      t.equal((await exported(tenant, '--until', later)).logs.length, 700)
      t.equal((await exported(tenant, '--since', later, '--until', later)).logs.length, 0)
      const offset = later.replace('Z', '+00:00')
      t.equal((await exported(tenant, '--since', offset)).logs.length, 30)
    })

    t.test('an export whose reader leaves ends quietly', async (t) => {
      const tenant = await newTenant()
      const text = 'x'.repeat(900_000)
      const large = Array.from({ length: 12 }, (_, n) => activity(n, { payload: { text } }))
      t.match(
        JSON.parse((await run('import', ['--tenant', tenant, '--file', '-'], linesFor(large))).stdout),
        { logged: 12 },
      )
      const child = spawn(NODE, [BIN, 'prospect-logs', 'export', '--tenant', tenant], {
        env: { ...inherited(), ...env },
      })
      let stderr = ''
      child.stderr.on('data', (more) => {
        stderr += more
      })
      await once(child.stdout, 'data')
      child.stdout.destroy()
      const [code] = await once(child, 'close')
      t.strictSame([code, stderr], [0, ''])
    })

    t.test(
      'prospects are imported from CSV, killed and resumed without doubles, and exported again',
      async (t) => {
        const tenant = await newTenant()
        const file = join(newFolder(t), 'people.CSV')
        const people = Array.from(
          { length: 3_000 },
          (_, n) => `crm-${n},${n}@example.com,"Person\n""${n}"""\n`,
        )
        writeFileSync(file, `externalId,email,name\n${people.join('')}`)
        const args = ['prospects', 'import', '--tenant', tenant, '--file', file]
        const child = spawn(NODE, [BIN, ...args], { env: { ...inherited(), ...env } })
        const closed = once(child, 'close')
        const query = `select count(*) as n from prospects where tenant_id = '${tenant}'`
        const count = async () => Number((await rows<{ n: number }>(query))[0]?.n)
        await until('some are stored', async () => (await count()) > 0, { tries: 12_000, pauseMs: 10 })
        child.kill('SIGKILL')
        await closed
        const stored = await count()
        const again = await runCommand(args, env)
        t.match(JSON.parse(again.stdout), { read: 3_000, created: 3_000 - stored, found: stored, refused: 0 })
        const rest = JSON.parse((await runCommand([...args, '--from-line', '5002'], env)).stdout)
        t.match(rest, { read: 500, found: 500 }, 'each has two lines')
        const csv = await runCommand(['prospects', 'export', '--tenant', tenant, '--format', 'csv'], env)
        t.ok(csv.stdout === `externalId,email,name\n${people.join('')}`, 'as it was')
        const lines = await runCommand(['prospects', 'export', '--tenant', tenant], env)
        const to = ['prospects', 'import', '--tenant', await newTenant(), '--file', '-']
        t.match(JSON.parse((await runCommand(to, env, lines.stdout)).stdout), { created: 3_000, refused: 0 })
      },
    )

    t.test('nothing of a file that cannot be read is imported, and columns are named', async (t) => {
      const tenant = await newTenant()
      const file = join(newFolder(t), 'excel.csv')
      const rows = Array.from({ length: 700 }, (_, n) => `${n};Ada, Bob;${n}@example.com;note ${n}\r\n`)
      const header = 'sep=;\r\nId;Given, Family;Work email;Remark\r\n'
      const args = (verb: string) => [verb, 'import', '--tenant', tenant, '--file', file, '--columns']
      const people = [...args('prospects'), 'email=Work email,name=Given, Family,externalId=Id']
      const all = [...people, '--ignore-other-columns']
      writeFileSync(file, Buffer.from(`${header}${rows.join('')}7;Zo\xeb;;\r\n`, 'latin1'))
      const { code, stdout, stderr } = await runCommand(all, env)
      t.equal(code, 1)
      t.match(JSON.parse(stdout), { read: 0, created: 0 })
      t.match(stderr, 'Line 703 is not UTF-8. Save the file as CSV UTF-8.')
      writeFileSync(file, `\ufeff${header}${rows.join('')};;;\r\n`)
      t.match(await runCommand(people, env), {
        code: 1,
        stderr: /Remark.* is unknown .*--ignore-other-columns/,
      })
      t.match(JSON.parse((await runCommand(all, env)).stdout), { read: 700, created: 700, refused: 0 })
      const logs = [...args('prospect-logs'), 'source==excel,email=Work email,idempotencyKey=Id']
      t.match(JSON.parse((await runCommand(logs, env)).stdout), { read: 700, logged: 700 })
      t.match(JSON.parse((await runCommand(logs, env)).stdout), { replayed: 700 })
      t.match((await exported(tenant)).logs[0], {
        source: 'excel',
        email: '0@example.com',
        idempotencyKey: '0',
        createdProspect: false,
        payload: { 'Given, Family': 'Ada, Bob', Remark: 'note 0' },
      })
    })

    t.test('api prints everything about a person, line by line', async (t) => {
      const tenant = await newTenant()
      const logs = Array.from({ length: 150 }, (_, n) => activity(n, { email: 'ada@example.com' }))
      await run('import', ['--tenant', tenant, '--file', '-'], linesFor(logs))
      const { logs: stored } = await exported(tenant)
      const path = `/v0/prospects/${stored[0]?.['prospectId']}/export`
      const { code, stdout } = await runCommand(['api', 'GET', path, '--tenant', tenant], env)
      t.equal(code, 0)
      const [first, ...lines] = linesOf<Exported>(stdout)
      t.match(first, { prospect: { email: 'ada@example.com' } })
      t.strictSame(lines.pop(), { done: true, logs: 150 })
      const texts = (found: readonly unknown[]) => found.map((one) => JSON.stringify(one)).sort()
      t.strictSame(texts(lines.map((line) => line['prospectLog'])), texts(stored))
    })

    t.test('an unknown tenant, a missing file and a missing database are refused', async (t) => {
      const file = join(newFolder(t), 'none.jsonl')
      for (const [args, detail] of [
        [['import', '--tenant', 'nobody', '--file', '-'], 'Tenant not found.'],
        [['export', '--tenant', 'nobody'], 'Tenant not found.'],
        [['import', '--tenant', tenantId, '--file', file], `${file}: no such file or directory.`],
      ] as const) {
        const { code, stdout, stderr } = await runCommand(['prospect-logs', ...args], env, '{}')
        t.match({ ...JSON.parse(stderr), code, stdout }, { code: 1, stdout: '', detail })
      }
    })

    t.test('a database that goes away ends an import, which says where it goes on', async (t) => {
      const tenant = await newTenant()
      await database.rows(
        kind.name === 'sqlite'
          ? `create trigger faulty before insert on prospect_logs when new.source = 'faulty' begin select raise(abort, 'no such thing'); end`
          : `alter table prospect_logs add constraint faulty check (source <> 'faulty')`,
      )
      const lines = Array.from({ length: 500 }, (_, n) => activity(n, n === 250 ? { source: 'faulty' } : {}))
      const { code, stdout, stderr } = await run(
        'import',
        ['--tenant', tenant, '--file', '-'],
        linesFor(lines),
      )
      t.match([code, JSON.parse(stdout)], [1, { read: 250, logged: 250, refused: 0, nextLine: 251 }])
      t.match(JSON.parse(stderr), { code: 'refused', database: String })
    })
  })
