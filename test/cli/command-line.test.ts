import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import type { TableFormat } from '../../src/cli/command.ts'
import { commandHelp, programHelp, usageHint } from '../../src/cli/help.ts'
import { COMMANDS } from '../../src/cli/main.ts'
import { asText, printAnswers } from '../../src/cli/output.ts'
import { commandIn, parse, unknownCommand } from '../../src/cli/parse.ts'
import { refusalText } from '../../src/cli/refusals.ts'
import { DomainFailure, unavailable } from '../../src/core/engine/failures.ts'
import { type NoWrites, obstructed, takesNoWrites } from '../../src/core/engine/obstacles.ts'
import { EVERY_SCOPE } from '../../src/core/ports/api-keys.ts'
import { shellOf } from '../support/program.ts'

for (const command of COMMANDS)
  t.test(`the help of ${command.words} has its usage, each option and examples`, async (t) => {
    const help = stripVTControlCharacters(commandHelp(command))
    t.ok(help.startsWith(`prospect-pages ${command.words}`))
    t.ok(programHelp([command]).includes(command.help))
    for (const [name, { help: meaning, default: fallback, required }] of Object.entries(
      command.options ?? {},
    )) {
      const line = help.split('\n').find((line) => /^ {2}--[\w-]+/.exec(line)?.[0] === `  --${name}`) ?? ''
      t.ok(line.includes(meaning), name)
      t.equal(line.includes('(required)'), required === true)
      if (fallback !== undefined) t.ok(line.endsWith(`[${fallback}]`))
    }
    const lines = Object.values(command.examples)
    t.ok(lines.length > 0)
    for (const line of lines) t.ok(help.includes(`\n  ${line}\n`), 'whole, to be pasted')
  })

/** The refusal of a command line; `accepted` if it would open the database. */
const refusalOf = async (line: string): Promise<string> => {
  const args = line.split(' ')
  const accept = () => Promise.reject(new Error('accepted'))
  try {
    const command = commandIn(args, COMMANDS) ?? unknownCommand(args, COMMANDS)
    const answers = command.run(parse(command, args), accept, shellOf({}))
    for await (const answer of Symbol.asyncIterator in answers ? answers : [answers]) return String(answer)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

t.test('incorrect use is refused with what is wrong', async (t) => {
  const uses: Readonly<Record<string, string>> = {
    sing: 'unknown command: sing',
    sevre: 'unknown command: sevre; did you mean serve?',
    kys: 'unknown command: kys; did you mean keys?',
    'keys creat --tenant t': 'unknown command: keys creat; did you mean keys create?',
    'keys sing x': 'unknown command: keys sing; did you mean keys find?',
    keys: 'keys needs one of: create, list, find, revoke, rotate',
    'keys find pp_abc': 'the key is read from stdin',
    'usage --since 49h': '--since must be from 1m to 48h',
    'usage --since 0m': '--since must be from 1m to 48h',
    'usage --since 48h --tenant t': 'accepted',
    'migrate now': 'unexpected argument: now',
    'keys revoke': 'ID is required',
    'keys revoke a b': 'unexpected argument: b',
    // As from a shell variable that is not set.
    'restore ': 'FILE is required',
    'keys revoke pp_abc': 'ID is the apiKeyId, not the key itself',
    'keys rotate pp_abc': 'ID is the apiKeyId, not the key itself',
    'keys create': '--tenant is required',
    'keys create --tenant': '--tenant needs a value',
    'keys create --tennant t': 'unknown option --tennant; did you mean --tenant?',
    'keys create --tennant=t': 'unknown option --tennant; did you mean --tenant?',
    'serve --port 80': 'unknown option --port; PORT is a setting: write PORT=… before the command',
    'serve --database-url x':
      'unknown option --database-url; DATABASE_URL is a setting: write DATABASE_URL=… before the command',
    'serve --verison': 'unknown option --verison; did you mean --version?',
    'tenants create --name a --name b': '--name can be given only once',
    'keys create -x': 'unknown option -x',
    'keys create --json=yes': '--json takes no value',
    'keys create --help=yes': '--help takes no value',
    'keys create --tenant t --scope pages:eat': `unknown scope pages:eat: must be all or one of ${EVERY_SCOPE.join(', ')}`,
    'keys create --tenant t --scope pages:read --scope pages:published':
      'a key cannot have both pages:read and pages:published',
    'keys create --tenant t --scope all --scope pages:published':
      'a key cannot have both pages:read and pages:published',
    'keys create --tenant t --expires soon': '--expires must be a duration such as 90d, 24h or 15m',
    'keys create --tenant t --expires 0d': '--expires must be more than 0',
    'keys create --tenant t --expires -1d': '--expires needs a value',
    'move --from old.db --to postgres://h': '--from must be sqlite:PATH',
    'move --from memory: --to postgres://h': '--from must be sqlite:PATH',
    'move --from sqlite://old.db --to postgres://h':
      '--from must be sqlite:PATH, such as sqlite:data/file.db or sqlite:/srv/file.db, without // or ~',
    'move --from sqlite:old.db --to db': '--to must be postgres://…',
    'prospect-logs import --tenant t': '--file is required',
    'hooks try h --tenant t': '--body or --query is required',
    'hooks try h --tenant t --body /': '--body / is a folder',
    'hooks try h --tenant t --query email=a': 'accepted',
    'prospect-logs import --tenant t --file /': '--file / is a folder',
    'prospect-logs import --tenant t --file - --from-line 0': '--from-line must be a whole number from 1 on',
    'prospects import --tenant t --file - --format csv --header-line x':
      '--header-line must be a whole number from 1 on',
    'prospects import --tenant t --file - --header-line 2':
      '--columns, --header-line and --ignore-other-columns are for CSV',
    'prospects import --tenant t --file - --format xml': '--format must be jsonl or csv',
    'prospect-logs import --tenant t --file - --format jsonl --columns email=a':
      '--columns, --header-line and --ignore-other-columns are for CSV',
    'prospects import --tenant t --file - --ignore-other-columns':
      '--columns, --header-line and --ignore-other-columns are for CSV',
    'prospects import --tenant t --file - --format csv --columns email':
      '--columns must be member=column, such as email="Email Address",name="First Name + Last Name"',
    'prospects export --tenant t --format csv': 'accepted',
    'prospect-logs export': '--tenant is required',
    'prospect-logs export --tenant t --since yesterday':
      '--since must be a date-time with an offset, such as 2026-11-22T09:00:00Z',
    'prospect-logs export --tenant t --until 2026-11-22T09:00:00':
      '--until must be a date-time with an offset, such as 2026-11-22T09:00:00Z',
    'prospect-logs export --tenant t --until 2026-11-22T09:00:00+01:00': 'accepted',
    'api GET /v0/page_groups': '--tenant is required',
    'api --tenant t': 'METHOD is required',
    'api GET --tenant t': 'PATH is required',
    'api GET v0/page_groups --tenant t': 'PATH must begin with /, such as /v0/page_groups',
    'api POST /v0/page_groups {} more --tenant t': 'unexpected argument: more',
    'api POST /v0/page_groups - --tenant t': 'accepted',
    [`tenants create --name ${'x'.repeat(256)}`]: '--name must be text of at most 255 characters',
    'tenants update t': '--name, --retention-days or --identifies-nobody is required',
    'tenants update t --name n --remove': '--remove needs --identifies-nobody',
    'tenants update t --identifies-nobody @a.example --identifies-nobody b@a.example': 'accepted',
    'tenants update t --retention-days 1.5':
      '--retention-days must be a whole number from 0 to 36500, or default',
    'tenants update t --retention-days 36501':
      '--retention-days must be a whole number from 0 to 36500, or default',
    'tenants update t --retention-days default': 'accepted',
    'tenants create --name x --json': 'accepted',
    'keys create --tenant=t --scope pages:read --scope pages:read --expires 90d': 'accepted',
  }
  for (const [line, message] of Object.entries(uses)) t.equal(await refusalOf(line), message, line)
})

t.test('incorrect use of a command shows its usage', async (t) => {
  const rotate = commandIn(['keys', 'rotate'], COMMANDS)
  t.equal(
    usageHint(rotate),
    'usage: prospect-pages keys rotate ID [--overlap 24h]\nprospect-pages keys rotate --help describes the options',
  )
  t.equal(usageHint(undefined), 'prospect-pages --help lists the commands')
})

t.test('commands in hints work where the program was started', async (t) => {
  const { npm_lifecycle_event: script } = process.env
  const [, path = ''] = process.argv
  t.teardown(() => {
    process.argv[1] = path
    process.env['npm_lifecycle_event'] = script ?? ''
  })
  const startedAs = (path: string, script: string) => {
    process.argv[1] = path
    process.env['npm_lifecycle_event'] = script
    const { remedy } = JSON.parse(
      refusalText(obstructed('wrong_settings', 'The settings are invalid.'), true),
    )
    return [usageHint(undefined).split(' --')[0], remedy.split(' --')[0]]
  }
  const [global, local] = ['prospect-pages', 'npx prospect-pages'].map((command) => [command, command])
  t.strictSame(startedAs('/usr/local/bin/prospect-pages', ''), global)
  t.strictSame(startedAs('/usr/local/bin/prospect-pages', 'test'), global)
  t.strictSame(startedAs('/elsewhere/bin/prospect-pages.js', 'npx'), local)
  for (const path of ['node_modules/.bin/prospect-pages', 'dist/cli/bin.js', 'bin/prospect-pages.js'])
    t.strictSame(startedAs(resolve(path), ''), local, path)
})

const shown = (answers: readonly object[], format?: TableFormat) =>
  stripVTControlCharacters(asText(answers, format))
const KEYS = [
  { id: 'k1', name: 'crm', scopes: ['a:read', 'b:read'], end: null },
  { id: 'k22', name: null, scopes: [], end: null },
]

t.test('several answers are a table without the columns that have no value', async (t) => {
  const table = ['id   name  scopes', 'k1   crm   a:read, b:read', 'k22  -     -', ''].join('\n')
  t.equal(shown(KEYS), table)
  t.equal(shown([{ ok: true, keys: KEYS }], { list: 'keys' }), table, 'or one answer with a list')
  t.equal(shown(KEYS, { columns: ['name', 'id'] }), 'name  id\ncrm   k1\n-     k22\n')
  t.equal(shown([{ keys: [] }], { list: 'keys' }), 'none\n')
  t.equal(shown([{ id: 'k1' }], { list: true }), 'id\nk1\n', 'a list of one is a table, too')
})

t.test('usage begins with what an operator looks for, even in a narrow terminal', async (t) => {
  const { format } = commandIn(['usage'], COMMANDS) ?? {}
  const row = {
    tenantId: `tenant_${'a'.repeat(26)}`,
    tenantName: 'Acme',
    apiKeyId: `apikey_${'b'.repeat(26)}`,
  }
  const rows = [
    { ...row, keyName: 'crm', requests: 7, activities: 5, bytes: 2_048, since: '2026-01-01T00:00:00.000Z' },
  ]
  const headAt = (COLUMNS: string) =>
    asText(rows, format, shellOf({ COLUMNS })).split('\n')[0]?.replace(/ +/g, ' ')
  t.match(headAt('400'), /^tenantName keyName requests activities bytes apiKeyId /)
  t.equal(headAt('60'), 'tenantName keyName requests activities bytes')
  t.equal(headAt('30'), 'tenantName keyName requests')
})

t.test('the help and the guide say how long a deleted tenant waits', async (t) => {
  const after = /once the writes that had begun have ended/i
  const command = commandIn(['tenants', 'delete'], COMMANDS)
  t.match(command && commandHelp(command), after)
  t.match(readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8'), after)
})

t.test('a table whose columns are named fits the terminal: long texts are cut, ids never', async (t) => {
  t.teardown(() => {
    delete process.env['COLUMNS']
  })
  const id = `tenant_${'a'.repeat(26)}`
  const rows = [{ id, name: 'x'.repeat(30), bytes: 1_572_864, last: 'y' }]
  const at = (width: number) => {
    process.env['COLUMNS'] = String(width)
    const lines = shown(rows, { list: true, columns: ['id', 'name', 'bytes', 'last'] }).split('\n')
    return lines.map((line) => line.replace(/ +/g, ' '))
  }
  t.strictSame(at(80), ['id name bytes last', `${id} ${'x'.repeat(30)} 1.5 MiB y`, ''])
  t.strictSame(at(79), ['id name bytes last', `${id} ${'x'.repeat(23)}… 1.5 MiB y`, ''])
  t.strictSame(at(73), ['id name bytes', `${id} ${'x'.repeat(23)}… 1.5 MiB`, ''])
  t.strictSame(at(20), ['id', id, ''])
})

t.test('a single answer shows all of its members, and a note', async (t) => {
  const one = { id: 'k1', end: null, count: 3, actions: { rawJson: '[1.0]' } }
  t.equal(
    shown([one], { columns: ['id'], note: 'Shown only once.' }),
    'id       k1\nend      -\ncount    3\nactions  [1.0]\n\nShown only once.\n',
  )
})

t.test('a name cannot control the terminal', async (t) => {
  const name = '\u001b]0;title\u0007\n\u202egnp.exe \u009b2J Größe 日本語 👩‍👩‍👧'
  t.equal(
    shown([{ names: [name], other: [{ name: '\u001b[2J' }] }]),
    'names  \\u001b]0;title\\u0007\\u000a\\u202egnp.exe \\u009b2J Größe 日本語 👩‍👩‍👧\nother  [{"name":"\\u001b[2J"}]\n',
  )
})

t.test('no answer is taken before the one before it is written, so none pile up', async (t) => {
  const shell = shellOf({})
  const takenAt: number[] = []
  let taken = 0
  async function* numbers() {
    while (taken < 20) yield { n: ++taken }
  }
  // Every second one cannot be written.
  shell.stdout.write = (_text: unknown, done: unknown) => {
    takenAt.push(taken)
    setImmediate(done as (error?: Error) => void, takenAt.length % 2 ? new Error('EPIPE') : undefined)
    return false
  }
  await printAnswers(numbers(), undefined, true, shell)
  t.strictSame(
    takenAt,
    Array.from({ length: 20 }, (_, i) => i + 1),
  )
})

t.test('a refusal says in words what is wrong, and what to do', async (t) => {
  const refused = (error: unknown) => JSON.parse(refusalText(error, true, undefined, 'sqlite:/x.db'))
  const causes: Readonly<Record<string, readonly [text: string, remedy: RegExp]>> = {
    'listen EACCES: permission denied 0.0.0.0:80': ['This user may not listen on 0.0.0.0:80.', /1024/],
    'listen EADDRNOTAVAIL: address not available 10.1.2.3:1': [
      '10.1.2.3 is not an address of this machine.',
      /HOST/,
    ],
    'getaddrinfo ENOTFOUND db.example': ['The host db.example is unknown.', /^Correct it in DATABASE_URL\.$/],
    'connect ECONNREFUSED 127.0.0.1:1': ['No connection to 127.0.0.1:1 (ECONNREFUSED).', /PostgreSQL/],
    'permission denied for table api_keys': [
      'permission denied for table api_keys',
      /^Run this command as the owner of the tables, or grant part II of sql\/roles\.sql\.$/,
    ],
    'permission denied for schema public': [
      'permission denied for schema public',
      /^As the owner of the tables, run prospect-pages migrate and sql\/roles\.sql\.$/,
    ],
    'DATABASE_DIRECT_URL: connect ECONNREFUSED 127.0.0.1:1': [
      'DATABASE_DIRECT_URL: No connection to 127.0.0.1:1 (ECONNREFUSED).',
      /^Correct DATABASE_DIRECT_URL, or/,
    ],
    'role "x" does not exist': ['role "x" does not exist', /role/],
    'database "x" does not exist': ['database "x" does not exist', /createdb/],
    "EACCES: permission denied, access '/no/x.db'": [
      `User ${process.getuid?.()} may not use /: it belongs to user 0 and group 0, and its mode is 755.`,
      process.getuid?.() === 0 ? /^Run chmod u\+rwX '\/'\.$/ : /^As root, run chown \d+ '\/'\.$/,
    ],
    "ENOENT: no such file or directory, open '/x.json'": [
      '/x.json: no such file or directory.',
      /no such file/,
    ],
    "ENOENT: no such file or directory, open '/no/x.db.unfinished-1'": [
      '/no/x.db: no such file or directory.',
      /folder must exist/,
    ],
    'database or disk is full': ['database or disk is full', /^Free some space on that disk/],
    'could not extend file "base/1/2": No space left on device': [
      'could not extend file "base/1/2": No space left on device',
      /^Free some space on the disk of the database/,
    ],
    'ENOSPC: no space left on device, write': ['ENOSPC: no space left on device, write', /^Free some space/],
    'unsupported startup parameter: statement_timeout': [
      'unsupported startup parameter: statement_timeout',
      /DATABASE_POOLER=true/,
    ],
  }
  for (const [message, [text, remedy]] of Object.entries(causes)) {
    const why = new Error(message)
    t.match(refused(why), { code: 'refused', detail: text, database: 'sqlite:/x.db', remedy })
    // No retry mends these.
    const isLasting = message.startsWith('database "')
    const expected = isLasting ? { code: 'refused', detail: text } : { code: 'unavailable', cause: text }
    const answer = refused(unavailable('The database cannot answer now.', why))
    t.match(answer, { ...expected, remedy })
    t.equal('retryAfterS' in answer, !isLasting, message)
  }
  t.match(
    JSON.parse(refusalText(new Error('getaddrinfo ENOTFOUND x'), true, commandIn(['serve'], COMMANDS))),
    {
      remedy: 'Correct it in HOST.',
    },
  )
  const each = new AggregateError([new Error('connect ECONNREFUSED ::1:1'), new Error('another')])
  t.match(refused(each), { detail: 'No connection to ::1:1 (ECONNREFUSED).' })
  t.match(refused(unavailable('The database did not answer in time.')), { remedy: /running/ })
  const obstacle = 'not_migrated'
  const unmigrated = refused(
    new DomainFailure('unavailable', 'The database is not migrated.', { retryAfterS: 5 }, { obstacle }),
  )
  t.match(unmigrated, { code: 'refused', remedy: /as the owner of the tables/ })
  t.notOk('retryAfterS' in unmigrated, 'no retry mends it')
  const remedies = {
    standby: /primary/,
    read_only: /default_transaction_read_only/,
    disk_full: /Free some space/,
  }
  for (const [reason, remedy] of Object.entries(remedies)) {
    const given = refused(takesNoWrites(reason as NoWrites)).remedy
    t.match(given, remedy)
    for (const other of Object.values(remedies)) if (other !== remedy) t.notMatch(given, other, reason)
  }
  const unknown = new DomainFailure('not_found', 'Tenant not found.', {}, { obstacle: 'unknown_tenant' })
  t.match(refused(unknown), { code: 'not_found', remedy: /tenants list/ })
})

t.test('the remedies of a move name its options', async (t) => {
  const move = commandIn(['move'], COMMANDS)
  const remedies: Readonly<Record<string, string>> = {
    'unable to open database file': '--from must name a file that this user can read and write.',
    'file is not a database': 'Correct --from, or restore a backup.',
    'getaddrinfo ENOTFOUND db.example': 'Correct it in --to.',
    'connect ECONNREFUSED 127.0.0.1:1': 'Correct --to, or start PostgreSQL.',
    'password authentication failed for user "x"': 'Correct the role and the password in --to.',
    'unsupported startup parameter: enable_seqscan': '--to must be PostgreSQL itself.',
    'permission denied for schema public': "In --to, use the owner's role: it must be able to create tables.",
    'database "x" does not exist': 'Correct its name in --to, or create it with createdb.',
  }
  for (const [message, remedy] of Object.entries(remedies))
    t.equal(JSON.parse(refusalText(new Error(message), true, move)).remedy, remedy)
})
