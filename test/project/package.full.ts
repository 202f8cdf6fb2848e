import { existsSync, globSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { VERSION } from '../../src/config/version.ts'
import { hoversIn } from '../support/hover.ts'
import { mustServe } from '../support/must-serve.ts'
import {
  answerOf,
  compile,
  dependencies,
  ELSEWHERE,
  emptyDatabase,
  install,
  isHere,
  pack,
  programs,
  run,
  runProgram,
  saveProgram,
  unusedPort,
} from '../support/packed.ts'
import { whyNoPostgres } from '../support/postgres.ts'

t.setTimeout(0)

const archive = await pack(t)
const folder = await install(t, archive, [...dependencies(), '@types/node'])
const installed = join(folder, 'node_modules/prospect-pages')
const { exports, version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
const entries = Object.keys(exports)
  .filter((entry) => !entry.endsWith('.json'))
  .map((entry) => entry.replace(/^\./, 'prospect-pages'))

t.test(
  'the package contains the program, its documents and the files that it reads, and nothing else',
  async (t) => {
    t.strictSame(readdirSync(installed).sort(), [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin',
      'deploy',
      'dist',
      'docs',
      'package.json',
      'sql',
    ])
    for (const secret of ['deploy/.env', 'deploy/secrets'])
      t.notOk(existsSync(join(installed, secret)), secret)
  },
)

t.test('a bundle needs no files: the version and the migrations are in the built modules', async (t) => {
  const built = await import(join(installed, 'dist/adapters/stores/migrations.js'))
  const [sql, elsewhere] = [join(installed, 'sql'), join(installed, 'sql-elsewhere')]
  renameSync(sql, elsewhere)
  t.teardown(() => renameSync(elsewhere, sql))
  for (const kind of ['postgres', 'sqlite'] as const)
    t.strictSame(built.readMigrations(kind), readMigrations(kind))
  const { rolesFile } = await import(join(installed, 'dist/adapters/stores/sql-files.js'))
  t.match(rolesFile(), 'grant select on schema_migrations to prospect_pages;')
  t.equal(VERSION, version)
})

t.test('every link of a document leads to a file of the package', async (t) => {
  const links = globSync('**/*.md', { cwd: installed }).flatMap((page) =>
    [...readFileSync(join(installed, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(
      ([, path = '']) => join(dirname(page), path),
    ),
  )
  t.ok(links.length > 30)
  t.strictSame(
    links.filter((path) => !existsSync(join(installed, path))),
    [],
  )
})

t.test('programs that embed it compile under strict and exactOptionalPropertyTypes', async (t) => {
  for (const program of programs().filter(isHere)) saveProgram(folder, program)
  await t.resolves(compile(folder))
  writeFileSync(join(folder, 'wrong.ts'), WRONG)
  await t.rejects(compile(folder), /wrong\.ts.*'pollMs' are incompatible|wrong\.ts.*TS2322/s)
  rmSync(join(folder, 'wrong.ts'))
})

/** The compiler must see the types: without them everything would compile. */
const WRONG = `
import { memoryStore } from 'prospect-pages/memory'
import { createPublisher } from 'prospect-pages/publisher'
createPublisher({ store: memoryStore(), pollMs: 'often' })
`

t.test('editors show the members of an input and the doc comment of each', async (t) => {
  writeFileSync(join(folder, 'hovers.ts'), HOVERS)
  const [log = '', list] = await hoversIn(folder, 'hovers.ts', ['.logProspectActivity', '.listTimeline'])
  rmSync(join(folder, 'hovers.ts'))
  t.match(
    log,
    /readonly source: string;\n.*readonly payload: object \| RawJson;\n.*occurredAt\?: string \| Date/s,
  )
  t.match(list, /readonly limit\?: number \| undefined;\n.*readonly since\?: string \| Date/s)
  // The compiler of the checkout does not show these yet; TypeScript 5 does.
  for (const file of ['service/operations/activities', 'shapes/prospect-log'])
    t.match(
      readFileSync(join(installed, `dist/${file}.d.ts`), 'utf8'),
      /\/\*\* The kind of activity. By default `webhook`. \*\/\n +readonly type: /,
    )
})

const HOVERS = `
import { createService, memoryStore } from 'prospect-pages'
export const log = createService({ store: memoryStore() }).logProspectActivity
export const list = createService({ store: memoryStore() }).listTimeline
`

t.test('where the files of the console are missing, there is none, and one warning says why', async (t) => {
  const { createApi } = await import(join(installed, 'dist/entry/http.js'))
  const { memoryStore } = await import(join(installed, 'dist/entry/memory.js'))
  const warnings = t.capture(console, 'warn')
  const statusOf = async () => {
    const api = createApi({ store: memoryStore(), console: true })
    return (await api({ method: 'GET', target: '/console/', headers: {} })).status
  }
  t.equal(await statusOf(), 200)
  const [files, elsewhere] = [join(installed, 'dist/console'), join(installed, 'dist/console-elsewhere')]
  renameSync(files, elsewhere)
  t.teardown(() => renameSync(elsewhere, files))
  t.equal(await statusOf(), 404)
  t.match(warnings(), [{ args: [/^There is no \/console\/, because its files are missing/] }])
})

t.test('importing opens no file, no socket and no timer, and every entry can be required', async (t) => {
  writeFileSync(join(folder, 'imports.mjs'), OPENS_NOTHING)
  const seen = await answerOf(folder, 'imports.mjs', { ENTRIES: entries.join(' ') })
  t.strictSame(seen, { opened: [], resources: [], guarded: true })
  writeFileSync(join(folder, 'requires.cjs'), REQUIRES)
  const required = await answerOf(folder, 'requires.cjs', { ENTRIES: entries.join(' ') })
  t.strictSame(
    required,
    entries.map(() => [true, 'function']),
  )
})

t.test('an older Node, which has no SQLite, gets told which one is needed', async (t) => {
  writeFileSync(join(folder, 'older.mjs'), 'delete Promise.withResolvers\n')
  writeFileSync(join(folder, 'on-older.mjs'), OLDER)
  const flags = ['--no-experimental-sqlite', '--import', './older.mjs']
  const said = await run(process.execPath, [...flags, 'on-older.mjs'], { cwd: folder })
  t.equal(said, 'prospect-pages needs Node 22.13 or newer.\n')
})

const OLDER = `
await import('prospect-pages/sqlite').catch((error) => console.log(error.message))
`

const OPENS_NOTHING = `
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
const opened = []
const watch = (object, ...names) => {
  for (const name of names) {
    const real = object[name]
    object[name] = function (...args) {
      // Node itself reads the modules.
      if (!/\\.(c|m)?js(on)?$/.test(String(args[0]))) opened.push(name + ' ' + String(args[0]))
      return real.apply(this, args)
    }
  }
}
// Node's own http looks at stderr, and so opens it.
const before = [process.stderr, process.getActiveResourcesInfo()][1]
watch(fs, 'open', 'openSync', 'readFile', 'readFileSync', 'readdirSync', 'writeFileSync', 'mkdirSync', 'createWriteStream')
watch(net.Socket.prototype, 'connect')
watch(net.Server.prototype, 'listen')
watch(globalThis, 'setTimeout', 'setInterval', 'setImmediate', 'fetch')
syncBuiltinESMExports()
for (const entry of process.env.ENTRIES.split(' ')) await import(entry)
const after = process.getActiveResourcesInfo()
const seen = [...opened]
fs.readdirSync('.')
const guarded = opened.length === seen.length + 1
console.log(JSON.stringify({ opened: seen, resources: after.slice(before.length), guarded }))
`

const REQUIRES = `
const all = process.env.ENTRIES.split(' ').map((entry) => {
  const required = require(entry)
  return [required !== null, typeof Object.values(required).find((value) => typeof value === 'function')]
})
console.log(JSON.stringify(all))
`

t.test('the programs in the documents import only packages, and entries that exist', async (t) => {
  const all = programs()
  t.ok(all.length >= 8)
  t.equal(new Set(all.map(({ name }) => name)).size, all.length, 'each has a name of its own')
  const others = [...dependencies(), '@types/node']
  for (const { name, imports } of all)
    for (const from of imports.filter((from) => !ELSEWHERE.test(from) && !/^(node:|\.\/)/.test(from)))
      t.ok([...entries, ...others, 'reflect-metadata'].includes(from), `${name}: ${from}`)
})

t.test('the store contract passes on a good store, and names what a faulty one does wrong', async (t) => {
  writeFileSync(join(folder, 'faulty.mjs'), FAULTY)
  const failedWith = async (FAULT: string) =>
    (await answerOf(folder, 'faulty.mjs', { FAULT })) as readonly string[]
  t.strictSame(await failedWith('none'), [])
  t.strictSame((await failedWith('pages')).slice(0, 2), [
    'pages: another tenant recalls, lists and finds nothing',
    'pages: many reads in one call distinguish a missing page from a missing group',
  ])
  t.strictSame((await failedWith('activities')).slice(0, 2), [
    'activities: a prospect is not added for a tenant that is deleted or missing',
    'activities: a prospect is not added under an id that exists',
  ])
})

/** A runner that prints the titles of failed tests, on a store that leaks pages or ignores that it was overtaken. */
const FAULTY = `
import { memoryStore } from 'prospect-pages'
import { storeContract } from 'prospect-pages/store-contract'
const faults = {
  none: () => ({}),
  pages: ({ pageGroups, pages }) => {
    const owners = new Map()
    const owned = (want) => ({ ...want, tenantId: owners.get(want.pageGroupId) ?? want.tenantId })
    const add = (group, events) => {
      owners.set(group.pageGroupId, group.tenantId)
      return pageGroups.add(group, events)
    }
    const find = (want) => pages.find(owned(want))
    return { pageGroups: { ...pageGroups, add }, pages: { ...pages, find } }
  },
  activities: ({ activities }) => {
    const record = async (...change) => (await activities.record(...change)) && 'recorded'
    return { activities: { ...activities, record } }
  },
}
const openStore = async () => {
  const store = memoryStore()
  const kept = async () => ({ prospects: store.kept.prospects(), logs: store.kept.logs() })
  return { store: { ...store, ...faults[process.env.FAULT](store) }, kept, close: () => store.close() }
}
const incomplete = [() => storeContract(), () => storeContract({ test: () => {} })]
for (const call of incomplete)
  try {
    call()
    throw new Error('it was accepted')
  } catch ({ message }) {
    if (message !== 'storeContract needs test, such as that of node:test, and openStore.') throw new Error(message)
  }
const tests = []
storeContract({ test: (title, body) => tests.push({ title, body }), openStore })
if (tests.length < 100) throw new Error('tests are missing')
const failed = []
for (const { title, body } of tests) await body().catch(() => failed.push(title))
console.log(JSON.stringify(failed))
`

t.test('the store contract names what an unfinished store lacks, and runs the rest', async (t) => {
  writeFileSync(join(folder, 'unfinished.mjs'), UNFINISHED)
  const [first, passed] = (await answerOf(folder, 'unfinished.mjs')) as [string, number]
  t.equal(first, 'The store has no pageGroups.add.')
  t.ok(passed > 50)
})

const UNFINISHED = `
import { memoryStore } from 'prospect-pages'
import { storeContract } from 'prospect-pages/store-contract'
const openStore = async () => {
  const { pageGroups, ...store } = memoryStore()
  return { store, kept: async () => ({ prospects: store.kept.prospects(), logs: store.kept.logs() }), close: () => store.close() }
}
const tests = []
storeContract({ test: (_title, body) => tests.push(body), openStore })
const said = await Promise.all(tests.map((body) => body().then(() => null, ({ message }) => message)))
console.log(JSON.stringify([said.find((one) => one !== null), said.filter((one) => one === null).length]))
`

t.test('the core and the memory store need valibot and ulid alone', async (t) => {
  const bare = await install(t, archive, ['valibot', 'ulid'])
  for (const program of programs().filter(({ name }) => name === 'first.mjs' || name === 'program.cjs')) {
    saveProgram(bare, program)
    const { stdout } = await runProgram(t, [process.execPath, program.name], 0, { cwd: bare })
    t.match(stdout, /tenant_|createdProspect: true/)
  }
})

/** The API key that a program printed, by the file of its store: the programs after it use the same file. */
const keys = new Map<string | undefined, string>()

for (const program of programs().filter(isHere)) {
  const { name, text, imports } = program
  // A module: another program imports it.
  if (/^export /m.test(text)) continue
  const skip = imports.includes('postgres') && whyNoPostgres()
  t.test(`${name} works as pasted`, { skip: skip || false }, async (t) => {
    const port = unusedPort()
    saveProgram(folder, program, port)
    const env = imports.includes('postgres') ? await emptyDatabase(t) : {}
    const { stdout, url } = await runProgram(t, [process.execPath, name], port, { cwd: folder, env })
    const [, file] = /path: '(.+?)'/.exec(text) ?? []
    const [key = keys.get(file)] = /pp_\w{36}/.exec(stdout) ?? []
    if (key !== undefined) keys.set(file, key)
    if (url === null) t.match(stdout, /./)
    else if (name === 'small-server.mjs') await mustServeFive(t, url)
    else await mustServe(t, url, key ?? '')
    if (text.includes('docs: true')) t.equal((await fetch(`${url}/docs`)).status, 200)
    if (name === 'orders.mjs')
      t.strictSame(JSON.parse(stdout), { logged: ['first', 'third'], kept: ['first', 'third'] })
  })
}

/** The five operations of the small store of the guide. */
const mustServeFive = async (t: Test, url: string): Promise<void> => {
  const call = async (method: string, path: string, json?: object) => {
    const headers = { authorization: 'Bearer secret-of-acme', 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(json && { body: JSON.stringify(json) }),
    })
    return { status: answer.status, json: (await answer.json()) as { readonly pageId: string } }
  }
  const pages = '/v0/page_groups/pagegroup_00000000000000000000000001/pages'
  const activity = { source: 'crm', email: 'ada@example.com', payload: {} }
  t.match(await call('POST', '/v0/prospect_logs', activity), { status: 201, json: { createdProspect: true } })
  t.match(await call('GET', '/v0/page_groups'), { status: 200, json: { items: [{ title: 'Offers' }] } })
  const { json: page } = await call('POST', pages, { content: { n: 1 } })
  t.match(await call('GET', pages), { status: 200, json: { items: [{ pageId: page.pageId }] } })
  t.match(await call('GET', `${pages}/${page.pageId}`), { status: 200, json: { pageId: page.pageId } })
}

type Docs = Map<string, string>

/** The doc comment of each name that a declaration file exports or re-exports. */
const docsIn = (file: string): Docs => {
  const text = readFileSync(file, 'utf8')
  const docs: Docs = new Map()
  const own = /^(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export (?:declare )?(?:const|type|class|function) (\w+)/gm
  // A shape is a value and a type of one name, which editors show together.
  for (const [, doc = '', name = ''] of text.matchAll(own)) docs.set(name, (docs.get(name) ?? '') + doc)
  for (const [, names, from] of text.matchAll(/^export (?:type )?(\*|\{[^}]*\}) from '(.+)\.[jt]s'/gm)) {
    const there = docsIn(join(dirname(file), `${from}.d.ts`))
    if (names === '*') for (const [name, doc] of there) docs.set(name, doc)
    const wanted = (names ?? '').replaceAll(/\btype /g, '').matchAll(/(\w+)(?: as (\w+))?/g)
    for (const [, name = '', alias = name] of wanted) docs.set(alias, there.get(name) ?? '')
  }
  return docs
}

t.test('every export has a doc comment that can be understood without the repository', async (t) => {
  for (const { types } of Object.values<{ types?: string }>(exports).filter(({ types }) => types)) {
    const docs = docsIn(join(installed, String(types)))
    t.ok(docs.size > 0)
    const bad = [...docs].filter(
      ([, doc]) => doc === '' || /specification|\b(docs|src|test)\/|\.[mt][ds]\b/.test(doc),
    )
    t.strictSame(
      bad.map(([name]) => name),
      [],
      `${types}: ${bad.map(([name]) => name)}`,
    )
  }
})
