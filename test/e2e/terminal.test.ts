import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  type Environment,
  embeddedDatabase,
  linesOf,
  newFolder,
  runCommand,
  seed,
} from '../support/program.ts'
import { onTerminal, programLine, whyNoTerminal } from '../support/terminal.ts'

t.setTimeout(180_000)
const skip = whyNoTerminal() ?? false
if (skip) process.stderr.write(`${skip}\n`)

const ESCAPE = '\u001b'
/** What follows on the line is taken away. */
const ERASE = `${ESCAPE}[K`
/** Without colours. */
const bare = (text: string): string => text.replaceAll(new RegExp(`${ESCAPE}\\[[0-9;]*m`, 'g'), '')
const databaseIn = (folder: string): Environment => ({ DATABASE_URL: `sqlite:${join(folder, 'test.db')}` })

t.test('a terminal gets a table with colours, and JSON where it is asked for', { skip }, async (t) => {
  const env = databaseIn(newFolder(t))
  const { tenantId, apiKeyId } = await seed(env)
  const list = programLine('keys', 'list', '--tenant', tenantId)
  const json = (await runCommand(['keys', 'list', '--tenant', tenantId], env)).stdout

  const wide = await onTerminal(list, env, 120)
  t.match(wide, { code: 0, text: ESCAPE })
  const [head = '', row = ''] = bare(wide.text).split('\n')
  t.match(head, /^apiKeyId {2,}start {2,}scopes {2,}createdAt$/)
  t.ok(row.startsWith(`${apiKeyId}  pp_`))

  const narrow = bare((await onTerminal(list, env, 60)).text)
  t.ok(narrow.startsWith(`apiKeyId   ${apiKeyId}\nstart      pp_`), 'a list where it is narrow')
  for (const line of narrow.split('\n')) t.ok(line.length <= 60)

  t.equal((await onTerminal(`${list} --json`, env)).text, json)
  const piped = join(newFolder(t), 'out')
  t.equal((await onTerminal(`${list} > ${piped}`, env)).text, '')
  t.equal(readFileSync(piped, 'utf8'), json, 'and JSON in a file, whatever stderr is')
})

t.test('no colours where NO_COLOR is set or the terminal is dumb', { skip }, async (t) => {
  const env = databaseIn(newFolder(t))
  const { tenantId } = await seed(env)
  for (const words of [['keys', 'list', '--tenant', tenantId], ['--help'], ['sing']]) {
    const line = programLine(...words)
    t.ok((await onTerminal(line, env)).text.includes(ESCAPE), line)
    t.notOk((await onTerminal(line, { ...env, NO_COLOR: '1' })).text.includes(ESCAPE), line)
    t.notOk((await onTerminal(line, { ...env, TERM: 'dumb' })).text.includes(ESCAPE), line)
  }
  t.notOk((await runCommand(['--help'], env)).stdout.includes(ESCAPE))
})

t.test(
  'a refusal is sentences on a terminal, and JSON on a pipe or where it is asked for',
  { skip },
  async (t) => {
    const env = { ...databaseIn(newFolder(t)), NO_COLOR: '1' }
    const line = programLine('keys', 'list', '--tenant', 'nobody')
    const refused = { code: 1, text: 'refused: Tenant not found. (not_found)\n' }
    t.match(await onTerminal(line, env), refused)
    t.equal(JSON.parse((await onTerminal(`${line} --json`, env)).text).code, 'not_found')

    const wrong = await onTerminal(line, { ...env, PORT: 'x', LOG_LEVEL: 'loud' })
    t.match(wrong, {
      code: 1,
      text: /^refused: The settings are not right\. \(invalid_request\)\n {2}PORT {7}must be/,
    })
    t.match(wrong.text, /\n {2}LOG_LEVEL {2}must be .*\nprospect-pages --help tells every setting\.\n$/s)
    t.match(await onTerminal(programLine('keys', 'lis'), env), {
      code: 2,
      text: /^prospect-pages: there is no command keys lis; did you mean keys list\?\n/,
    })
  },
)

/** Page groups `g0`, `g1` and so on, as JSON lines. */
const fileOfGroups = (folder: string, count: number): string => {
  const file = join(folder, 'groups.jsonl')
  const lines = Array.from({ length: count }, (_, i) =>
    JSON.stringify({ name: `g${i}`, title: `Title ${i}` }),
  )
  writeFileSync(file, lines.join('\n'))
  return file
}

t.test('an import shows how far it is on a terminal, and nothing on a pipe', { skip }, async (t) => {
  const folder = newFolder(t)
  const env = { ...databaseIn(folder), NO_COLOR: '1' }
  const { tenantId } = await seed(env)
  const count = 300
  const file = fileOfGroups(folder, count)
  const create = ['page-groups', 'create', '--tenant', tenantId, '--file', file]

  const out = join(folder, 'out')
  const { code, text } = await onTerminal(`${programLine(...create)} > ${out}`, env)
  t.equal(code, 0)
  t.match(text.replaceAll(ERASE, ''), /^(\r\d+ of 300 · \d+ % · [\d,]+\/s · \d+\.\d s)+\n$/)
  t.match(text, /\r300 of 300 · 100 % · [^\r]*\n$/)
  const created = linesOf<{ name: string }>(readFileSync(out, 'utf8'))
  t.strictSame(
    created.map(({ name }) => name),
    Array.from({ length: count }, (_, i) => `g${i}`),
  )
  const piped = await runCommand(create, env)
  t.match(piped, { code: 0, stderr: '' })
  t.equal(linesOf(piped.stdout).length, count)
})

const [CTRL_C, CTRL_D] = ['\u0003', '\u0004']

t.test('an import that is interrupted shows what it has created', { skip }, async (t) => {
  const folder = newFolder(t)
  const env = { ...databaseIn(folder), NO_COLOR: '1' }
  const { tenantId } = await seed(env)
  const count = 20_000
  const file = fileOfGroups(folder, count)
  const line = programLine('page-groups', 'create', '--tenant', tenantId, '--file', file)
  const { code, text } = await onTerminal(line, env, 120, {
    after: `of ${count.toLocaleString('en')}`,
    keys: CTRL_C,
  })
  t.equal(code, 130)
  const shown = bare(text).match(/^pagegroup_\S+/gm) ?? []
  t.ok(shown.length > 0 && shown.length < count, `${shown.length}`)
  const [row] = await embeddedDatabase(join(folder, 'test.db')).rows<{ created: number }>(
    'select count(*) as created from page_groups',
  )
  t.equal(shown.length, Number(row?.created) - 1, 'and one there was before')
})

t.test('doctor shows its checks as a list or a table', { skip }, async (t) => {
  const env = { ...databaseIn(newFolder(t)), NO_COLOR: '1' }
  await seed(env)
  t.match((await onTerminal(programLine('doctor'), env, 60)).text, /^name +settings\nok +true\ndetail /)
  t.match(
    (await onTerminal(programLine('doctor'), env, 400)).text,
    /^name +ok +detail.*\nsettings +true +each/,
  )
})

t.test('page groups can be typed', { skip }, async (t) => {
  const env = { ...databaseIn(newFolder(t)), NO_COLOR: '1' }
  const { tenantId } = await seed(env)
  const line = programLine('page-groups', 'create', '--tenant', tenantId, '--file', '-')
  const keys = `{"name":"typed","title":"Typed"}\n${CTRL_D}`
  const { code, text } = await onTerminal(line, env, 80, { after: 'Ctrl-D ends\r\n', keys })
  t.equal(code, 0)
  t.match(text, /^type or paste page groups; Ctrl-D ends\n/)
  t.match(text, /^name {12}typed$/m)
})

t.test('what a first run prints has colours on a terminal, and the same words', { skip }, async (t) => {
  const start = (more: Environment) => {
    const env = { ...databaseIn(newFolder(t)), HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'silent', ...more }
    return onTerminal(programLine('serve'), env, 80, { after: 'pages/$PAGE -H "x-api-key', keys: CTRL_C })
  }
  const [coloured, uncoloured] = await Promise.all([start({}), start({ NO_COLOR: '1' })])
  for (const { code, text } of [coloured, uncoloured])
    t.match(
      { code, text: bare(text) },
      { code: 0, text: /\n {2}key {9}pp_\w{36}\n\nThe key is shown only now/ },
    )
  t.ok(coloured.text.includes(ESCAPE))
  t.notOk(uncoloured.text.includes(ESCAPE))
  const wordsIn = (text: string) =>
    bare(text)
      .replaceAll(/pp_\w+|[a-z]+_[0-9a-z]{26}|127\.0\.0\.1:\d+|\^C/g, '…')
      .trim()
  t.equal(wordsIn(coloured.text), wordsIn(uncoloured.text))
})
