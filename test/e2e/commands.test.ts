import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { COMMANDS } from '../../src/cli/main.ts'
import { settingsHelp } from '../../src/config/settings.ts'
import {
  answerOf,
  caller,
  databaseKinds,
  linesOf,
  newFolder,
  runCommand,
  seed,
  startProgram,
  type TestedDatabase,
  until,
} from '../support/program.ts'

t.setTimeout(180_000)
// Every command is a process, and starting them takes most of the time: two databases at a time.
t.jobs = 2
const DAY_MS = 86_400_000
const SCOPES = ['prospect_logs:write', 'page_groups:read', 'pages:read', 'pages:write']
/** A number that no double holds, and spellings that a parsed and rewritten value would lose. */
const EXACT = '[12345678901234567890, 1.0,  {"b":1,"a":"\\u0041"}]'

const named = (name: string) => ['--name', name, '--title', `Title of ${name}`]
const msBetween = (from: string, to: string) => Date.parse(to) - Date.parse(from)
const unknown = (prefix: string) => `${prefix}_${'0'.repeat(26)}`

for (const kind of databaseKinds())
  t.test(`on ${kind.name}`, { skip: kind.skip ?? false, buffered: true }, async (t) => {
    t.teardown(kind.end)
    const database = await kind.open(t)
    const { env, rows } = database
    const answer = (args: string, ...more: string[]) => answerOf([...args.split(' '), ...more], env)

    t.test('commands that start together on a new database all succeed', async (t) => {
      const { env } = await kind.open(t)
      const names = ['a', 'b', 'c', 'd']
      const ran = await Promise.all(
        names.map((name) => runCommand(['tenants', 'create', '--name', name], env)),
      )
      t.strictSame(
        ran.filter(({ code }) => code !== 0).map(({ stderr }) => stderr),
        [],
      )
    })

    t.test('a new database is migrated', async (t) => {
      t.strictSame(await answer('migrate'), { migrated: true })
    })

    const { tenantId, brandId } = await answer('tenants create --name', 'A tenant')
    t.match({ tenantId, brandId }, { tenantId: /^tenant_[a-z0-9]{26}$/, brandId: /^brand_[a-z0-9]{26}$/ })

    t.test('a key is shown once, and is not stored', async (t) => {
      const issued = await answer(`keys create --tenant ${tenantId} --name`, 'of the shop')
      t.match(issued, {
        apiKeyId: /^apikey_[a-z0-9]{26}$/,
        apiKey: /^pp_[0-9A-Za-z]{36}$/,
        name: 'of the shop',
      })
      t.match(issued, { tenantId, scopes: SCOPES, expiresAt: null, revokedAt: null })
      const { apiKey, ...rest } = issued
      const { apiKeys } = await answer(`keys list --tenant ${tenantId}`)
      t.strictSame(apiKeys, [rest], 'the list has everything but the key')
      t.ok(apiKey.startsWith(rest.start) && rest.start.length < 12)
      for (const bytes of await storedBytes(database)) t.notOk(bytes.includes(apiKey.slice(12)))
    })

    t.test('a key has the requested scopes and lifetime', async (t) => {
      const scopes = ['--scope', 'pages:read', '--scope', 'pages:write']
      const issued = await answer(`keys create --tenant ${tenantId} --expires 90d`, ...scopes)
      t.strictSame(issued.scopes, ['pages:read', 'pages:write'])
      t.equal(msBetween(issued.createdAt, issued.expiresAt), 90 * DAY_MS)
    })

    t.test(
      'rotating issues a key with the same scopes, and the old one expires after the overlap',
      async (t) => {
        const first = await answer(
          `keys create --tenant ${tenantId} --name n --scope pages:read --expires 30d`,
        )
        const second = await answer(`keys rotate ${first.apiKeyId} --overlap 2h`)
        t.match(second, { name: 'n', scopes: ['pages:read'] })
        t.not(second.apiKey, first.apiKey)
        t.equal(msBetween(second.createdAt, second.expiresAt), 30 * DAY_MS)
        const third = await answer(`keys rotate ${second.apiKeyId}`)
        const { apiKeys } = await answer(`keys list --tenant ${tenantId}`)
        const endOf = (id: string) =>
          apiKeys.find(({ apiKeyId }: { apiKeyId: string }) => apiKeyId === id).expiresAt
        t.equal(msBetween(second.createdAt, endOf(first.apiKeyId)), DAY_MS / 12)
        t.equal(msBetween(third.createdAt, endOf(second.apiKeyId)), DAY_MS, 'a day by default')
      },
    )

    t.test('a revoked key keeps its revocation time, and cannot be rotated', async (t) => {
      const { apiKeyId, apiKey, ...rest } = await answer(`keys create --tenant ${tenantId}`)
      const revoked = await answer(`keys revoke ${apiKeyId}`)
      t.strictSame({ ...revoked, revokedAt: null }, { apiKeyId, ...rest })
      t.strictSame(await answer(`keys revoke ${apiKeyId}`), revoked)
      const { code, stdout } = await runCommand(['keys', 'rotate', apiKeyId], env)
      t.match({ code, stdout }, { code: 1, stdout: '' })
    })

    t.test('a page group is created from flags', async (t) => {
      const flags = [
        '--brand',
        brandId,
        '--page-context',
        'Spring',
        '--status',
        'archived',
        ...named('flags'),
      ]
      const group = await answer(`page-groups create --tenant ${tenantId}`, ...flags)
      const { pageGroupId, createdAt, updatedAt, ...rest } = group
      t.match(pageGroupId, /^pagegroup_[a-z0-9]{26}$/)
      t.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      t.equal(updatedAt, createdAt)
      t.strictSame(rest, {
        tenantId,
        brandId,
        name: 'flags',
        title: 'Title of flags',
        pageContext: 'Spring',
        status: 'archived',
        pagesCount: 0,
        actions: [],
        footerLinks: [],
        scripts: [],
        deletedAt: null,
        headerActionId: null,
      })
      t.equal(Object.keys(group).at(-1), 'headerActionId')
    })

    t.test(
      'page groups are created from a file, from JSON lines and from stdin, with their arrays unchanged',
      async (t) => {
        const folder = newFolder(t)
        const fields = `"title": "A file", "headerActionId": "a1",\n "actions": ${EXACT}, "scripts": [null]`
        writeFileSync(join(folder, 'one.json'), `{"name": "in the file",\n ${fields}}\n`)
        writeFileSync(
          join(folder, 'two.jsonl'),
          '{"name":"l1","title":"L1"}\n\n{"name":"l2","title":"L2","actions":[2]}\n',
        )
        const create = ['page-groups', 'create', '--tenant', tenantId, '--file']

        const one = await runCommand([...create, join(folder, 'one.json'), '--name', 'in the flag'], env)
        t.match(JSON.parse(one.stdout), {
          name: 'in the flag',
          title: 'A file',
          headerActionId: 'a1',
          scripts: [null],
        })
        t.ok(one.stdout.includes(`"actions":${EXACT}`), 'digit by digit')
        const two = await runCommand([...create, join(folder, 'two.jsonl')], env)
        t.match(linesOf(two.stdout), [
          { name: 'l1', actions: [] },
          { name: 'l2', actions: [2] },
        ])
        const three = await runCommand(
          [...create, '-'],
          env,
          `{"name":"s","title":"S","footerLinks":${EXACT}}`,
        )
        t.equal(three.code, 0)
        t.ok(three.stdout.includes(`"footerLinks":${EXACT}`))
      },
    )

    t.test('if one of several page groups is invalid, none is created', async (t) => {
      const create = ['page-groups', 'create', '--tenant', tenantId, '--file', '-']
      const before = await rows('select page_group_id from page_groups')
      const createWith = async (second: string) => {
        const { code, stdout } = await runCommand(create, env, `{"name":"good","title":"Good"}\n${second}\n`)
        t.match({ code, stdout }, { code: /^[12]$/, stdout: '' }, second)
      }
      await Promise.all(
        ['{"name":"n"}', '{"name":"n","title":"t","status":"gone"}', '{"name":'].map(createWith),
      )
      t.strictSame(await rows('select page_group_id from page_groups'), before)
    })

    t.test('a page group is changed, archived and deleted, and keeps its other fields', async (t) => {
      const file = ['--file', '-']
      const input = `{"name":"n","title":"t","pageContext":"c","actions":${EXACT}}`
      const group = await answerOf(['page-groups', 'create', '--tenant', tenantId, ...file], env, input)
      const { pageGroupId, updatedAt, ...rest } = group
      const update = ['page-groups', 'update', pageGroupId]
      const changed = await runCommand([...update, '--title', 'New'], env)
      t.match(JSON.parse(changed.stdout), { ...rest, title: 'New' })
      t.ok(changed.stdout.includes(`"actions":${EXACT}`))
      t.match(await answerOf([...update, ...file], env, '{"pageContext":null,"actions":[]}'), {
        title: 'New',
        pageContext: null,
        actions: [],
      })
      t.match(await answer(`page-groups archive ${pageGroupId}`), { status: 'archived', deletedAt: null })
      t.match(await answer(`page-groups delete ${pageGroupId}`), { status: 'deleted', deletedAt: /Z$/ })
      t.match(await answer(`page-groups update ${pageGroupId} --status active`), {
        status: 'active',
        deletedAt: null,
      })
    })

    t.test('a refused command ends with 1 and explains itself in JSON on stderr', async (t) => {
      const refusals = [
        [`keys create --tenant ${unknown('tenant')}`, 'not_found'],
        [`keys revoke ${unknown('apikey')}`, 'not_found'],
        [`page-groups create --tenant ${unknown('tenant')} --name n --title t`, 'not_found'],
        [
          `page-groups create --tenant ${tenantId} --name n --title t --brand ${unknown('brand')}`,
          'not_found',
        ],
        [`page-groups create --tenant ${tenantId} --name n --title t --status gone`, 'invalid_request'],
        [`page-groups create --tenant ${tenantId} --name n --title t --file /nowhere/at/all.json`, 'refused'],
        [`page-groups update ${unknown('pagegroup')} --title t`, 'page_group_not_found'],
        ['page-groups archive what', 'page_group_not_found'],
      ] as const
      const refused = async ([args, reason]: (typeof refusals)[number]) => {
        const { code, stdout, stderr } = await runCommand(args.split(' '), env)
        t.match({ code, stdout }, { code: 1, stdout: '' }, args)
        t.equal(linesOf<{ code: string }>(stderr).at(-1)?.code, reason, args)
      }
      await inFours(refusals, refused)
    })

    t.test('commands work while a server runs, and take effect there at once', async (t) => {
      const { env } = await kind.open(t)
      const answer = (args: string) => answerOf(args.split(' '), env)
      const { tenantId, apiKey: firstKey, pageGroupId } = await seed(env)
      const server = await startProgram(t, env)
      await server.ready()
      const firstCall = caller(server.url, firstKey)
      t.equal((await firstCall('GET', '/v0/page_groups')).status, 200, 'and the key is cached')

      const second = await answer(
        `keys create --tenant ${tenantId} --scope page_groups:read --scope pages:write`,
      )
      const call = caller(server.url, second.apiKey)
      const create = ['page-groups', 'create', '--tenant', tenantId, '--file', '-']
      const group = await answerOf(create, env, `{"name":"n","title":"t","actions":${EXACT}}`)
      const listed = await call('GET', '/v0/page_groups')
      t.match(listed, { status: 200, body: { items: [{ pageGroupId: group.pageGroupId }, { pageGroupId }] } })
      t.ok(listed.text.includes(`"actions":${EXACT}`), 'digit by digit')
      t.match((await call('POST', '/v0/prospect_logs', {})).body, { requiredScope: 'prospect_logs:write' })

      await answer(`page-groups archive ${pageGroupId}`)
      t.equal((await call('POST', `/v0/page_groups/${pageGroupId}/pages`)).status, 409)
      await answer(`page-groups delete ${pageGroupId}`)
      t.equal((await call('POST', `/v0/page_groups/${pageGroupId}/pages`)).status, 404)

      const refusedSoon = (call: typeof firstCall) =>
        until(
          'the key is refused within a second',
          async () => (await call('GET', '/v0/page_groups')).body.code === 'invalid_api_key',
          { tries: 20, pauseMs: 50 },
        )
      const third = await answer(`keys rotate ${second.apiKeyId} --overlap 0m`)
      t.equal((await caller(server.url, third.apiKey)('GET', '/v0/page_groups')).status, 200)
      await refusedSoon(call)
      const { apiKeys } = await answer(`keys list --tenant ${tenantId}`)
      await answer(`keys revoke ${apiKeys[0].apiKeyId}`)
      await refusedSoon(firstCall)
    })
  })

/** Four processes at a time. */
const inFours = async <Item>(items: readonly Item[], run: (item: Item) => Promise<void>) => {
  for (let i = 0; i < items.length; i += 4) await Promise.all(items.slice(i, i + 4).map(run))
}

/** The files of the embedded database, or the rows of the keys. */
const storedBytes = async ({ env, rows }: TestedDatabase): Promise<Buffer[]> => {
  const [scheme, path = ''] = (env['DATABASE_URL'] ?? '').split(/:(.*)/)
  if (scheme !== 'sqlite') return [Buffer.from(JSON.stringify(await rows('select * from api_keys')))]
  return readdirSync(dirname(path)).map((name) => readFileSync(join(dirname(path), name)))
}

t.test('incorrect use ends with 2, and names the help', async (t) => {
  const env = { DATABASE_URL: `sqlite:${join(newFolder(t), 'test.db')}` }
  const wrong = async ([args, stderr]: readonly [string, RegExp]) =>
    t.match(await runCommand(args.split(' '), env), { code: 2, stdout: '', stderr }, args)
  await Promise.all(
    (
      [
        ['help sing', /^prospect-pages: unknown command: sing\nprospect-pages --help lists the commands\n$/],
        ['--port 80', /^prospect-pages: unknown option --port\nusage: prospect-pages serve\n.*--help/],
        ['keys revoke a b', /unexpected argument: b\nusage: prospect-pages keys revoke ID\n.*--help/],
      ] as const
    ).map(wrong),
  )
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
  const DATABASE_URL = `postgres://somebody:secret@localhost/db?host=${newFolder(t)}`
  const { code, stdout, stderr } = await runCommand(['migrate'], { DATABASE_URL })
  t.match({ code, stdout }, { code: 1, stdout: '' })
  t.equal(JSON.parse(stderr).code, 'unavailable')
  t.notMatch(stderr, /secret/)
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
    t.ok(line.includes(help) && line.endsWith(fallback && `[${fallback}]`), name)
  }
})

t.test('the version is the one of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  t.match(await runCommand(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' })
})
