import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import t from 'tap'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { COMMANDS } from '../../src/cli/main.ts'
import { settingsHelp } from '../../src/config/settings.ts'
import { newApiKeyText } from '../../src/core/tenants/api-key-text.ts'
import type { ListedApiKey } from '../../src/core/tenants/issue-api-key.ts'
import {
  answerOf,
  BIN,
  caller,
  databaseKinds,
  inherited,
  linesOf,
  NODE,
  newFolder,
  openServer,
  runCommand,
  runProcess,
  seed,
  type TestedDatabase,
  until,
} from '../support/program.ts'

t.setTimeout(0)

type Refusal = { readonly code: string; readonly database?: string; readonly remedy?: string }
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const SCOPES = ['prospect_logs:write', 'page_groups:read', 'pages:read', 'pages:write']
/** A number that no double holds, and spellings that parsing and writing again would change. */
const EXACT = '[12345678901234567890, 1.0,  {"b":1,"a":"\\u0041"}]'

const msBetween = (from: string, to: string) => Date.parse(to) - Date.parse(from)
const unknown = (prefix: string) => `${prefix}_${'0'.repeat(26)}`

for (const kind of databaseKinds())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false, buffered: true }, async (t) => {
    t.teardown(kind.end)
    const database = await kind.open(t)
    const { env } = database
    const answer = (args: string, ...more: string[]) => answerOf([...args.split(' '), ...more], env)

    t.test('only migrate creates a database; other commands refuse and name it', async (t) => {
      const folder = newFolder(t)
      const missing = join(folder, 'not', 'there.db')
      const url =
        kind.name === 'sqlite' ? `sqlite:${missing}` : String((await kind.open(t)).env['DATABASE_URL'])
      const lines = ['tenants create --name x', 'keys list --tenant t', 'api GET /v0/events --tenant t']
      await inFours(lines, async (line) => {
        const { code, stdout, stderr } = await runCommand(line.split(' '), { DATABASE_URL: url })
        const refusal = linesOf<Refusal>(stderr).at(-1)
        t.match({ code, stdout, refusal }, { code: 1, stdout: '', refusal: { database: url } }, line)
        t.match(refusal?.remedy, /prospect-pages migrate/)
      })
      t.strictSame(readdirSync(folder), [], 'not even a folder appears')
    })

    t.test('migrations that start together on a new database all succeed; one applies them', async (t) => {
      const { env } = await kind.open(t)
      const answers = await Promise.all([1, 2, 3, 4].map(() => answerOf(['migrate'], env)))
      t.strictSame(
        answers.flatMap(({ applied }) => applied),
        readMigrations(kind.name).map(({ name }) => name),
      )
      const idle = { database: env['DATABASE_URL'], applied: [], detail: /^nothing to do/ }
      t.match(await answerOf(['migrate'], env), idle)
    })

    await answer('migrate')

    const { tenantId, brandId } = await answer('tenants create --name', 'A tenant')
    t.match({ tenantId, brandId }, { tenantId: /^tenant_[a-z0-9]{26}$/, brandId: /^brand_[a-z0-9]{26}$/ })
    const rowsOf = async <Row>(args: string) => linesOf<Row>((await runCommand(args.split(' '), env)).stdout)

    t.test('tenants are listed, one on each line, and renamed', async (t) => {
      const second = await answer('tenants create --name Second')
      const renamed = await answer(`tenants update ${second.tenantId} --name Third`)
      t.match(renamed, { tenantId: second.tenantId, name: 'Third', createdAt: /Z$/ })
      t.match(await rowsOf('tenants list'), [{ tenantId, name: 'A tenant' }, renamed])
    })

    t.test('the retention of a tenant is set, and set back to the default', async (t) => {
      const { tenantId } = await answer('tenants create --name kept')
      const setRetention = (days: string) => answer(`tenants update ${tenantId} --retention-days ${days}`)
      t.match(await setRetention('365'), { name: 'kept', retentionDays: 365 })
      t.match(await setRetention('0'), { name: 'kept', retentionDays: 0 })
      t.match(await setRetention('default'), { name: 'kept', retentionDays: null })
    })

    t.test(
      'emails and domains of a tenant identify no one, and who was joined by them is named',
      async (t) => {
        const { tenantId } = await answer('tenants create --name listing')
        const log = async (email: string) => {
          const body = JSON.stringify({ source: 'crm', payload: {}, email })
          const args = ['api', 'POST', '/v0/prospect_logs', body, '--tenant', tenantId]
          return (await answerOf(args, env)).prospectId
        }
        const update = (args: string) => answer(`tenants update ${tenantId} ${args}`)
        const joined = await log('noreply@shop.example')
        t.equal(await log('noreply@shop.example'), joined)
        const list = '--identifies-nobody NoReply@shop.example --identifies-nobody @pos.example --name listed'
        t.match(await update(list), {
          name: 'listed',
          identifiesNobody: ['@pos.example', 'noreply@shop.example'],
          joined: [joined],
        })
        for (const email of ['noreply@shop.example', 'till@pos.example'])
          t.not(await log(email), await log(email))
        t.match(await update('--identifies-nobody @pos.example --remove'), {
          identifiesNobody: ['noreply@shop.example'],
        })
        t.equal(await log('till@pos.example'), await log('till@pos.example'))
      },
    )

    t.test('a key is shown once, and is not stored', async (t) => {
      const issued = await answer(`keys create --tenant ${tenantId} --name`, 'of the shop')
      t.match(issued, {
        apiKeyId: /^apikey_[a-z0-9]{26}$/,
        apiKey: /^pp_[0-9A-Za-z]{36}$/,
        name: 'of the shop',
      })
      t.match(issued, { tenantId, scopes: SCOPES, expiresAt: null, revokedAt: null })
      const { apiKey, ...rest } = issued
      const listed = await rowsOf(`keys list --tenant ${tenantId}`)
      t.strictSame(listed, [rest], 'the list has everything but the key')
      const shownMax = 12
      t.ok(apiKey.startsWith(rest.start), 'but for its start')
      t.ok(rest.start.length < shownMax)
      for (const bytes of await storedBytes(database)) t.notOk(bytes.includes(apiKey.slice(shownMax)))
    })

    t.test('a key has the requested scopes and lifetime', async (t) => {
      const scopes = ['--scope', 'pages:read', '--scope', 'pages:write']
      const issued = await answer(`keys create --tenant ${tenantId} --expires 90d`, ...scopes)
      t.strictSame(issued.scopes, ['pages:read', 'pages:write'])
      t.equal(msBetween(issued.createdAt, issued.expiresAt), 90 * DAY_MS)
    })

    t.test('a link to the console has a key that reads for eight hours', async (t) => {
      const { tenantId } = await answer('tenants create --name reader')
      const link = /^http:\/\/127\.0\.0\.1:8080\/console\/#key=pp_[0-9A-Za-z]{36}$/
      t.match(await answer(`console --tenant ${tenantId}`), { link, apiKeyId: /^apikey_/ })
      const [key] = await rowsOf<ListedApiKey>(`keys list --tenant ${tenantId}`)
      t.ok(key?.scopes.every((scope) => scope.endsWith(':read')))
      t.equal(msBetween(String(key?.createdAt), String(key?.expiresAt)), 8 * HOUR_MS)
    })

    t.test('a link to the console can also write, for as long as is asked for', async (t) => {
      const { tenantId } = await answer('tenants create --name writer')
      await answer(`console --tenant ${tenantId} --write --for 30m`)
      const [key] = await rowsOf<ListedApiKey>(`keys list --tenant ${tenantId}`)
      t.ok(key?.scopes.includes('hooks:write'))
      t.ok(key?.scopes.includes('prospects:erase'))
      t.equal(msBetween(String(key?.createdAt), String(key?.expiresAt)), 30 * MINUTE_MS)
    })

    const findKey = (input: string, ...options: string[]) =>
      runCommand(['keys', 'find', ...options], env, input)

    t.test('a key is found in the line it was pasted with, and revoked', async (t) => {
      const { apiKey, ...listed } = await answer(`keys create --tenant ${tenantId} --name`, 'leaked')
      const lineOfLog = ` 2026-01-01 x-api-key: "${apiKey}",\n`
      t.strictSame(linesOf((await findKey(lineOfLog)).stdout), [{ tenantName: 'A tenant', ...listed }])

      const revoked = await findKey(apiKey, '--revoke')
      t.match(JSON.parse(revoked.stdout), { apiKeyId: listed.apiKeyId, tenantId, revokedAt: /Z$/ })
      t.equal((await findKey(lineOfLog)).stdout, revoked.stdout)
    })

    t.test('a key that is mistyped, cut off, unknown or missing is not found', async (t) => {
      const { apiKey } = await answer(`keys create --tenant ${tenantId}`)
      const isNotFound = async (input: string, detail: RegExp) => {
        const { code, stdout, stderr } = await findKey(input)
        t.match({ code, stdout }, { code: 1, stdout: '' })
        t.match(JSON.parse(stderr), { code: 'not_found', detail })
      }
      const allButLast = apiKey.slice(0, -1)
      const otherLast = apiKey.endsWith('A') ? 'B' : 'A'
      await isNotFound(allButLast + otherLast, /^The checksum of the API key is wrong/)
      await isNotFound(allButLast, /^The checksum of the API key is wrong/)
      await isNotFound(newApiKeyText(), /^Unknown API key/)
      await isNotFound('sk_live', /^The input contains no API key/)
    })

    t.test('any operation is run on the database, with unchanged input and output', async (t) => {
      const { tenantId } = await answer('tenants create --name operated')
      const api = (method: string, target: string, body?: string, stdin?: string) => {
        const command = ['api', method, target, ...(body === undefined ? [] : [body])]
        return runCommand([...command, '--tenant', tenantId], env, stdin)
      }
      const created = await api('POST', '/v0/page_groups', `{"name":"n","title":"t","actions":${EXACT}}`)
      t.match(created, { code: 0, stderr: '' })
      t.ok(created.stdout.includes(`"actions":${EXACT}`), 'digit by digit')
      const { pageGroupId } = JSON.parse(created.stdout)
      const groupPath = `/v0/page_groups/${pageGroupId}`

      const changed = await api('patch', groupPath, '-', '{"title":"New"}')
      t.match(JSON.parse(changed.stdout), { title: 'New' }, 'with a body from stdin')
      const listed = await api('GET', '/v0/page_groups?limit=1')
      t.match(JSON.parse(listed.stdout), { items: [{ pageGroupId, title: 'New' }], limit: 1 })
      const withoutBody = await api('POST', `${groupPath}/pages`)
      t.match(withoutBody, { code: 0, stdout: /"status":"processing"/ })
      t.match(await api('DELETE', groupPath), { code: 0, stdout: '', stderr: '' })

      const missing = await api('GET', groupPath)
      t.match(missing, { code: 1, stdout: '' })
      t.match(JSON.parse(missing.stderr), { status: 404 })
      const invalid = await api('POST', '/v0/page_groups', '{"name":1}')
      t.match(JSON.parse(invalid.stderr).errors, [{ pointer: '/name' }, { pointer: '/title' }])
    })

    t.test('a refused command ends with 1 and explains itself in JSON on stderr', async (t) => {
      const commands = [
        `keys create --tenant ${unknown('tenant')}`,
        `keys revoke ${unknown('apikey')}`,
        `tenants update ${unknown('tenant')} --name n`,
        `api GET /v0/events --tenant ${unknown('tenant')}`,
      ]
      for (const command of commands) {
        const { code, stdout, stderr } = await runCommand(command.split(' '), env)
        t.match({ code, stdout }, { code: 1, stdout: '' }, command)
        const refusal = linesOf<Refusal>(stderr).at(-1)
        t.match(refusal, { code: 'not_found', database: env['DATABASE_URL'] }, command)
      }
    })

    t.test('while a server runs', async (t) => {
      const { env } = await kind.open(t)
      const { tenantId, apiKey, apiKeyId, pageGroupId, server, call } = await openServer(t, { env })
      const answer = (args: string) => answerOf(args.split(' '), env)
      const api = (method: string, target: string, body: string) =>
        runCommand(['api', method, target, body, '--tenant', tenantId], env)
      const isRefusedSoon = (key: string) =>
        until('the key is refused', async () => {
          const { body } = await caller(server.url, key)('GET', '/v0/page_groups')
          return body.code === 'invalid_api_key'
        })
      // From now on the server has the key in memory.
      t.equal((await call('GET', '/v0/page_groups')).status, 200)

      t.test('a new page group is listed at once, digit by digit', async (t) => {
        const create = ['api', 'POST', '/v0/page_groups', '-', '--tenant', tenantId]
        const group = await answerOf(create, env, `{"name":"n","title":"t","actions":${EXACT}}`)
        const listed = await call('GET', '/v0/page_groups')
        const items = [{ pageGroupId: group.pageGroupId }, { pageGroupId }]
        t.match(listed, { status: 200, body: { items } })
        t.ok(listed.text.includes(`"actions":${EXACT}`))
      })

      t.test('an archived or deleted page group takes no pages', async (t) => {
        const groupPath = `/v0/page_groups/${pageGroupId}`
        await api('PATCH', groupPath, '{"status":"archived"}')
        t.equal((await call('POST', `${groupPath}/pages`)).status, 409)
        await api('DELETE', groupPath, '{}')
        t.equal((await call('POST', `${groupPath}/pages`)).status, 404)
      })

      t.test('a new key has its scopes, and a rotated one is replaced', async (t) => {
        const scopes = '--scope page_groups:read --scope pages:write'
        const created = await answer(`keys create --tenant ${tenantId} ${scopes}`)
        const callWithCreated = caller(server.url, created.apiKey)
        t.equal((await callWithCreated('GET', '/v0/page_groups')).status, 200)
        const refused = await callWithCreated('POST', '/v0/prospect_logs', {})
        t.match(refused.body, { requiredScope: 'prospect_logs:write' })

        const rotated = await answer(`keys rotate ${created.apiKeyId} --overlap 0m`)
        t.equal((await caller(server.url, rotated.apiKey)('GET', '/v0/page_groups')).status, 200)
        await isRefusedSoon(created.apiKey)
      })

      t.test('a key that is found and revoked is refused', async (t) => {
        await answerOf(['keys', 'find', '--revoke'], env, apiKey)
        await t.resolves(isRefusedSoon(apiKey))
      })

      t.test('usage counts what the server served, once it has stopped', async (t) => {
        t.equal(await server.stop(), 0)
        const usage = await runCommand(['usage', '--tenant', tenantId], env)
        const ofFirstKey = linesOf<ListedApiKey>(usage.stdout).find((line) => line.apiKeyId === apiKeyId)
        t.match(ofFirstKey, { tenantId, requests: Number, bytes: Number, since: /:00\.000Z$/ })
        t.match(await runCommand(['usage', '--since', '1m'], env), { stdout: new RegExp(apiKeyId) })
      })
    })

    t.test('api --follow prints events as a server numbers them, until Ctrl-C', async (t) => {
      const { env } = await kind.open(t)
      const { tenantId, apiKey, apiKeyId, server } = await openServer(t, { env }, { EVENTS: 'on' })
      const args = ['api', 'GET', '/v0/events?wait=5', '--tenant', tenantId, '--follow']
      const child = spawn(NODE, [BIN, ...args], { env: { ...inherited(), ...env } })
      t.teardown(() => child.kill('SIGKILL'))
      const ended = once(child, 'close')
      let text = ''
      child.stdout.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      const call = caller(server.url, apiKey)
      // A log without an identity creates a prospect, so each one makes two events.
      for (const events of [2, 4, 6]) {
        await call('POST', '/v0/prospect_logs', `{"source":"crm","payload":{"exact":\n${EXACT}}}`)
        await until(`${events} events are printed`, () => linesOf(text).length === events)
      }
      t.match(linesOf(text), [{ sequence: 1, type: 'prospect.created', apiKeyId }, { sequence: 2 }])
      t.ok(text.includes(EXACT))
      child.kill('SIGINT')
      t.equal((await ended)[0], 130)
    })
  })

/** Runs four commands at a time. */
const inFours = async <Item>(items: readonly Item[], run: (item: Item) => Promise<void>) => {
  for (let i = 0; i < items.length; i += 4) await Promise.all(items.slice(i, i + 4).map(run))
}

/** The files of the embedded database, or the rows of the keys. */
const storedBytes = async ({ env, rows }: TestedDatabase): Promise<Buffer[]> => {
  const [scheme, path = ''] = (env['DATABASE_URL'] ?? '').split(/:(.*)/)
  if (scheme !== 'sqlite') return [Buffer.from(JSON.stringify(await rows('select * from api_keys')))]
  return readdirSync(dirname(path)).map((name) => readFileSync(join(dirname(path), name)))
}

t.test('a command as a process reads stdin, and prints and ends as one that a test runs', async (t) => {
  const env = { DATABASE_URL: `sqlite:${join(newFolder(t), 'test.db')}` }
  const { apiKey, apiKeyId, tenantId } = await seed(env)
  const importPeople = ['prospects', 'import', '--tenant', tenantId, '--file', '-']
  const [found, imported, refused, wrong] = await Promise.all([
    runProcess(['keys', 'find'], env, apiKey),
    runProcess(importPeople, env, '{"email":"ada@example.com"}\n'),
    runProcess(['keys', 'find'], env, 'no key'),
    runProcess(['keys'], env),
  ])
  t.match(found, { code: 0, stderr: '' })
  t.match(JSON.parse(found.stdout), { apiKeyId })
  t.match(imported, { code: 0, stderr: '', stdout: /"created":1/ })
  t.equal(refused.code, 1)
  t.strictSame(refused, await runCommand(['keys', 'find'], env, 'no key'))
  t.equal(wrong.code, 2)
  t.strictSame(wrong, await runCommand(['keys'], env))
})

t.test('incorrect use ends with 2 and one JSON object on stderr, which names the help', async (t) => {
  const env = { DATABASE_URL: `sqlite:${join(newFolder(t), 'test.db')}` }
  const uses = [
    ['help sing', 'unknown command: sing', /^prospect-pages --help lists the commands$/],
    [
      '--verison',
      'unknown option --verison; did you mean --version?',
      /^usage: prospect-pages serve\n.*--help/s,
    ],
    [
      'api GET /v0/prospects --tenant t --follow',
      '--follow needs GET /v0/events',
      /^usage: prospect-pages api/,
    ],
    ['keys revoke a b', 'unexpected argument: b', /^usage: prospect-pages keys revoke ID\n.*--help/],
  ] as const
  const wrong = async ([args, detail, remedy]: (typeof uses)[number]) => {
    const { code, stdout, stderr } = await runCommand(args.split(' '), env)
    t.match({ code, stdout }, { code: 2, stdout: '' }, args)
    t.match(JSON.parse(stderr), { code: 'wrong_use', detail, remedy }, args)
  }
  await Promise.all(uses.map(wrong))
  t.notOk(existsSync(env.DATABASE_URL.slice('sqlite:'.length)), 'and opens no database')
})

t.test('a command on memory is incorrect use: nothing would be kept', async (t) => {
  t.match(await runCommand(['tenants', 'create', '--name', 'n'], { DATABASE_URL: 'memory:' }), {
    code: 2,
    stdout: '',
    stderr: /nothing would be kept/,
  })
})

t.test('a command whose database is down is refused at once', async (t) => {
  const DATABASE_URL = `postgres://somebody:secret@localhost/db?host=${newFolder(t)}&password=secret`
  for (const args of [['migrate'], ['tenants', 'list']]) {
    const { code, stdout, stderr } = await runCommand(args, { DATABASE_URL })
    t.match({ code, stdout }, { code: 1, stdout: '' })
    t.match(JSON.parse(stderr), {
      code: 'unavailable',
      cause: /^No connection to/,
      database: DATABASE_URL.replace(':secret', '').replace('secret', '…'),
      remedy: /start PostgreSQL/,
    })
    t.notMatch(stderr, /secret/)
  }
})

t.test('a refusal names the file or the address, and the remedy', async (t) => {
  const folder = newFolder(t)
  const empty = join(folder, 'empty.db')
  const garbage = join(folder, 'garbage.db')
  const lost = join(folder, 'lost.db')
  writeFileSync(empty, '')
  writeFileSync(`${lost}-wal`, 'acknowledged writes')
  writeFileSync(garbage, 'This is not a database.\n'.repeat(100))
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const uses = [
    ['tenants list', empty, 'The database is not migrated.', /migrate/],
    ['tenants list', garbage, 'file is not a database', /restore a backup/],
    ['serve', garbage, 'file is not a database', /restore a backup/],
    ['tenants list', folder, `${folder} is a folder.`, /^Name a file/],
    ['migrate', folder, `${folder} is a folder.`, /^Name a file/],
    ['serve', folder, `${folder} is a folder.`, /^Name a file/],
    ['migrate', join(garbage, 'x.db'), `${garbage} is not a folder.`, /^Name a file/],
    ['backup missing/copy.db', garbage, 'The folder missing does not exist.', /in a folder that exists/],
    ['serve', lost, /lost\.db is missing, but its journal .*: put the file back, or move/, undefined],
    ['migrate', lost, /lost\.db is missing, but its journal/, undefined],
    ['tenants list', lost, /lost\.db is missing, but its journal .*: put the file back, or move/, undefined],
    [`backup ${folder}/copy.db`, lost, /lost\.db is missing, but its journal/, undefined],
    ['serve', join(folder, 'new.db'), `127.0.0.1:${port} is already in use.`, /PORT/],
  ] as const
  const refused = async ([args, path, detail, remedy]: (typeof uses)[number]) => {
    const DATABASE_URL = `sqlite:${path}`
    const { code, stdout, stderr } = await runCommand(args.split(' '), { DATABASE_URL, PORT: `${port}` })
    t.match({ code, stdout }, { code: 1, stdout: '' }, args)
    t.match(JSON.parse(stderr), { code: 'refused', detail, database: DATABASE_URL, remedy }, args)
  }
  await inFours(uses, refused)
  t.equal(statSync(empty).size, 0, 'a file that is not a database stays unchanged')
  t.equal(readFileSync(`${lost}-wal`, 'utf8'), 'acknowledged writes')
})

t.test('invalid settings end every command with 1, with all faults on stderr', async (t) => {
  const env = { PORT: 'x', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://somebody:secret@localhost/db' }
  for (const args of [[], ['keys', 'list', '--tenant', 't']]) {
    const { code, stdout, stderr } = await runCommand(args, env)
    t.match({ code, stdout }, { code: 1, stdout: '' })
    const parameters = JSON.parse(stderr).errors.map(({ parameter }: { parameter: string }) => parameter)
    t.strictSame(parameters.sort(), ['DATABASE_URL', 'LOG_LEVEL', 'PORT'])
    t.notMatch(stderr, /secret/)
  }
})

t.test('help lists every command, and every setting with its default', async (t) => {
  const { code, stdout, stderr } = await runCommand(['--help'], { PORT: 'x' })
  t.match({ code, stderr }, { code: 0, stderr: '' })
  for (const { words } of COMMANDS) t.match(stdout, new RegExp(`^  ${words} `, 'm'))
  for (const { name, default: fallback, help } of settingsHelp()) {
    const line = stdout.split('\n').find((line) => line.trim().startsWith(`${name} `)) ?? ''
    t.ok(line.includes(help), name)
    t.ok(line.endsWith(fallback && `[${fallback}]`), `${name} with its default`)
  }
})

t.test('the version is the one of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  for (const args of [['--version'], ['-v'], ['serve', '--version']])
    t.match(await runCommand(args), { code: 0, stdout: `${version}\n`, stderr: '' })
})

t.test('an answer that cannot be written is refused', { skip: !existsSync('/dev/full') }, async (t) => {
  const line = (more: string) => ['-c', `"$0" "$1" ${more} > /dev/full`, NODE, BIN]
  for (const more of ['--help', 'doctor']) {
    const env = { ...inherited(), DATABASE_URL: 'memory:' }
    const { status, stderr } = spawnSync('sh', line(more), { encoding: 'utf8', env })
    t.equal(status, 1)
    t.match(JSON.parse(stderr), { code: 'refused', detail: /^stdout could not be written: ENOSPC/ })
  }
})
