import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { readable } from '../../src/adapters/readable-log.ts'
import { type Environment, inherited, newFolder, runCommand, seed, until } from '../support/program.ts'
import { onTerminal, programLine, whyNoTerminal } from '../support/terminal.ts'

t.setTimeout(0)
const skip = whyNoTerminal() ?? false

/** Whether there is a process with this id to receive it; 0 is no signal. */
const signalled = (pid: number, signal: 'SIGKILL' | 0): boolean => {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
const ESCAPE = '\u001b'
const databaseIn = (folder: string): Environment => ({ DATABASE_URL: `sqlite:${join(folder, 'test.db')}` })

t.test('a terminal gets a table in colours, and JSON with --json', { skip }, async (t) => {
  const env = databaseIn(newFolder(t))
  const { tenantId, apiKeyId } = await seed(env)
  const list = programLine('keys', 'list', '--tenant', tenantId)
  const out = join(newFolder(t), 'out')
  const [wide, narrow, plain, asked, redirected, piped] = await Promise.all([
    onTerminal(list, env, 300),
    onTerminal(list, { ...env, NO_COLOR: '1' }, 60),
    onTerminal(list, { ...env, TERM: 'dumb' }, 300),
    onTerminal(`${list} --json`, env),
    onTerminal(`${list} > ${out}`, env),
    runCommand(['keys', 'list', '--tenant', tenantId], env),
  ])
  const table = stripVTControlCharacters(wide.text)
  t.match(wide, { code: 0, text: ESCAPE })
  t.match(table, /^apiKeyId {2,}start {2,}createdAt {2,}scopes\n/)
  t.ok(table.split('\n')[1]?.startsWith(`${apiKeyId}  pp_`))
  t.match(narrow.text, new RegExp(`^apiKeyId +start *\n${apiKeyId} {2}pp_\\w{5}\n$`), 'less on a narrow one')
  t.notOk(narrow.text.includes(ESCAPE), 'no colours with NO_COLOR')
  t.equal(plain.text, table, 'nor on a dumb terminal')
  t.equal(asked.text, piped.stdout)
  t.equal(redirected.text, '')
  t.equal(readFileSync(out, 'utf8'), piped.stdout, 'a file gets JSON, even if stderr is a terminal')
})

t.test(
  'JSON on a terminal is the same value, but controls nothing; a pipe gets what was stored',
  { skip },
  async (t) => {
    const env = databaseIn(newFolder(t))
    const { tenantId } = await seed(env)
    const name = 'Ada \u009b2J\u202e\u2066\u007f 日本語 👩‍👩‍👧'
    const payload = `{"name" :\t"${name}"}`
    const body = `{"source":"crm","email":"ada@example.com","name":"${name}","payload":${payload}}`
    await runCommand(['api', 'POST', '/v0/prospect_logs', body, '--tenant', tenantId], env)
    const of = ['--tenant', tenantId]
    const commands = [
      ['prospects', 'export'],
      ['prospect-logs', 'export'],
      ['api', 'GET', '/v0/prospects', '--json'],
    ]
    for (const command of commands) {
      const { text } = await onTerminal(programLine(...command, ...of), env)
      const { stdout } = await runCommand([...command, ...of], env)
      t.match(stdout, name)
      t.notMatch(text, /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/, command.join(' '))
      t.strictSame(JSON.parse(text), JSON.parse(stdout))
    }
    const { stdout } = await runCommand(['prospect-logs', 'export', ...of], env)
    t.match(stdout, payload)
    const refused = ['api', 'PATCH', `/v0/${name}`, '--json', ...of]
    t.notMatch((await onTerminal(programLine(...refused), env)).text, /[\u007f-\u009f\u202e]/)
  },
)

t.test('a refusal is sentences on a terminal, and JSON with --json', { skip }, async (t) => {
  const env = { ...databaseIn(newFolder(t)), NO_COLOR: '1' }
  const { tenantId } = await seed(env)
  const line = programLine('keys', 'list', '--tenant', 'nobody')
  const [refused, bare, asJson, wrong, unknown, none, noLogs] = await Promise.all([
    onTerminal(line, env),
    onTerminal(line, databaseIn('/not/there')),
    onTerminal(`${line} --json`, env),
    onTerminal(line, { ...env, PORT: 'x', LOG_LEVEL: 'loud' }),
    onTerminal(programLine('keys', 'lis'), env),
    onTerminal(programLine('api', 'GET', '/v0/webhook_endpoints', '--tenant', tenantId), env),
    onTerminal(programLine('prospect-logs', 'export', '--tenant', tenantId), env),
  ])
  t.match(refused, {
    code: 1,
    text: /^refused: Tenant not found\. \(not_found\)\ndatabase: sqlite:\/.*test\.db\nprospect-pages tenants list .*\n$/,
  })
  t.match(stripVTControlCharacters(bare.text), /^refused: The database file .* does not exist\.\n/)
  t.equal(JSON.parse(asJson.text).code, 'not_found')
  t.match(wrong, { code: 1, text: /^refused: .* \(invalid_request\)\n {2}PORT {7}must be/ })
  t.match(wrong.text, /\n {2}LOG_LEVEL {2}must be .*\nprospect-pages --help lists every setting\.\n$/s)
  t.match(unknown, {
    code: 2,
    text: /^prospect-pages: unknown command: keys lis; did you mean keys list\?\nprosp/,
  })
  t.equal(none.text, 'none\n')
  t.equal(noLogs.text, 'none\n', 'of answers that are lines, too')
})

t.test('on a terminal, what an operation returns is a table or pairs', { skip }, async (t) => {
  const env = { ...databaseIn(newFolder(t)), NO_COLOR: '1' }
  const { tenantId, pageGroupId } = await seed(env)
  const get = (path: string) => onTerminal(programLine('api', 'GET', path, '--tenant', tenantId), env, 2_000)
  await runCommand(['api', 'POST', '/v0/page_groups', '{"name":"b","title":"B"}', '--tenant', tenantId], env)
  t.match((await get('/v0/page_groups')).text, /^pageGroupId +tenantId .*\npagegroup_\S+ {2}tenant_/)
  const one = await get(`/v0/page_groups/${pageGroupId}`)
  t.match(one.text, new RegExp(`^pageGroupId +${pageGroupId}\ntenantId `))
})

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'

t.test('doctor shows its checks as pairs or as a table', { skip }, async (t) => {
  const env = { ...databaseIn(newFolder(t)), NO_COLOR: '1' }
  await seed(env)
  const on = async (columns: number) => (await onTerminal(programLine('doctor'), env, columns)).text
  t.match(await on(60), /^name +settings\nstate +ok\ndetail /)
  t.match(await on(400), /^name +state +detail.*\nsettings +ok +/)
})

t.test('activities can be typed', { skip }, async (t) => {
  const env = { ...databaseIn(newFolder(t)), NO_COLOR: '1' }
  const { tenantId } = await seed(env)
  const line = programLine('prospect-logs', 'import', '--tenant', tenantId, '--file', '-')
  const keys = `{"source":"typed","payload":{}}\n${CTRL_D}`
  const { code, text } = await onTerminal(line, env, 80, { after: 'Ctrl-D.\r\n', keys })
  t.equal(code, 0)
  t.match(text, /^Type or paste the lines; end with Ctrl-D\.\n/)
  t.match(text, /^logged {4}1$/m)
})

t.test('log lines are readable on a terminal', { skip }, async (t) => {
  const serveOn = (env: Environment) =>
    onTerminal(programLine('serve'), { HOST: '127.0.0.1', PORT: '0', DATABASE_URL: 'memory:', ...env }, 200, {
      after: 'listening',
      keys: CTRL_C,
    })
  const [coloured, plain] = await Promise.all([serveOn({}), serveOn({ NO_COLOR: '1' })])
  t.match(
    plain.text,
    /^\d\d:\d\d:\d\d info {2}listening host=127\.0\.0\.1 port=\d+ url=\S+ database=memory:$/m,
  )
  t.match(plain.text, /\d\d:\d\d:\d\d info {2}stopping signal=SIGINT$/m)
  t.notOk(plain.text.includes(ESCAPE))
  t.ok(coloured.text.includes(`${ESCAPE}[1mlistening`))
})

t.test('a server whose terminal is closed ends', { skip }, async (t) => {
  const file = join(newFolder(t), 'pid')
  const line = `echo $$ > ${file}; exec ${programLine('serve')}`
  const env = { ...inherited(), HOST: '127.0.0.1', PORT: '0', DATABASE_URL: 'memory:' }
  const terminal = spawn('script', ['-qec', line, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  let text = ''
  terminal.stdout.on('data', (chunk) => {
    text += chunk
  })
  await until('it has greeted', () => text.includes('KEY='))
  const pid = Number(readFileSync(file, 'utf8'))
  t.teardown(() => signalled(pid, 'SIGKILL'))
  terminal.kill('SIGKILL')
  await until('it has ended', () => !signalled(pid, 0))
})

t.test(
  'a readable line has the stack of an error below it, and nothing in it controls the terminal',
  async (t) => {
    const err = { message: 'bad', stack: `Error: bad${ESCAPE}[2J\n    at there`, cause: 'worse' }
    const facts = { level: 50, time: '2026-01-01T00:00:00.000Z', pid: 1, hostname: 'h', msg: 'it failed' }
    const line = readable(JSON.stringify({ ...facts, err, code: null, name: 'two words\u202e', ms: 1.5 }))
    t.match(
      stripVTControlCharacters(line),
      /^\S{8} error it failed name="two words\\u202e" ms=1\.5\n {2}Error: bad\\u001b\[2J\n {6}at there\n {2}cause: worse\n$/,
    )
  },
)

t.test('a first run prints the same words with and without colours', { skip }, async (t) => {
  const start = async (more: Environment) => {
    const env = { ...databaseIn(newFolder(t)), HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'silent', ...more }
    const typing = { after: 'pages/$PAGE -H "x-api-key', keys: CTRL_C }
    const { code, text } = await onTerminal(programLine('serve'), env, 80, typing)
    t.equal(code, 0)
    return text
  }
  const [coloured, plain] = await Promise.all([start({}), start({ NO_COLOR: '1' })])
  t.ok(coloured.includes(ESCAPE))
  t.notOk(plain.includes(ESCAPE))
  t.match(plain, /\n {2}key {9}pp_\w{36}\n\nThe key is shown only once/)
  const wordsIn = (text: string) =>
    stripVTControlCharacters(text)
      .replaceAll(/pp_\w+|[a-z]+_[0-9a-z]{26}|sqlite:\S+|127\.0\.0\.1:\d+|\^C/g, '…')
      .trim()
  t.equal(wordsIn(coloured), wordsIn(plain))
})
