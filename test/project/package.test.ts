import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseAddress } from '../../src/adapters/postgres/open.ts'
import { answerOf, compile, dependencies, examplesIn, install, pack, serverOf } from '../support/packed.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'

t.setTimeout(0)

const FRAMEWORKS = ['express', 'fastify', '@types/express', '@types/node']
const archive = await pack(t)
const folder = await install(t, archive, [...dependencies(), ...FRAMEWORKS])
examplesIn(folder)
const installed = join(folder, 'node_modules/prospect-pages')
const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
const entries = Object.keys(exports)
  .filter((entry) => !entry.endsWith('.json'))
  .map((entry) => entry.replace(/^\./, 'prospect-pages'))

t.test('the package contains the program and the files that it reads, and nothing else', async (t) => {
  t.strictSame(readdirSync(installed).sort(), [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'dist',
    'package.json',
    'sql',
  ])
})

t.test('programs that embed it compile under strict and exactOptionalPropertyTypes', async (t) => {
  await t.resolves(compile(folder))
  writeFileSync(join(folder, 'wrong.ts'), WRONG)
  await t.rejects(compile(folder), /wrong\.ts.*'pollMs' are incompatible|wrong\.ts.*TS2322/s)
})

/** The compiler must see the types: without them everything would compile. */
const WRONG = `
import { memoryStore } from 'prospect-pages/memory'
import { createPublisher } from 'prospect-pages/publisher'
createPublisher({ store: memoryStore(), pollMs: 'often' })
`

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

t.test('the core and the memory store need valibot and ulid alone', async (t) => {
  const bare = await install(t, archive, ['valibot', 'ulid'])
  examplesIn(bare)
  t.match(await answerOf(bare, 'log-an-activity.ts'), { createdProspect: true, source: 'crm' })
  t.match(await answerOf(bare, 'from-commonjs.cjs'), { status: 'ready' })
})

t.test('the store contract passes on a good store, and names what a faulty one does wrong', async (t) => {
  writeFileSync(join(folder, 'faulty.mjs'), FAULTY)
  const failedWith = async (FAULT: string) =>
    (await answerOf(folder, 'faulty.mjs', { FAULT })) as readonly string[]
  t.strictSame(await failedWith('none'), [])
  t.strictSame((await failedWith('pages')).slice(0, 3), [
    'pages: another tenant recalls, lists and finds nothing',
    'pages: many reads in one call distinguish a missing page from a missing group',
    'isolation: pages.find: another tenant finds nothing of ours and changes nothing',
  ])
  t.strictSame((await failedWith('activities')).slice(0, 2), [
    'activities: a taken email is overtaken, and nothing of the list is saved',
    'activities: a taken idempotency key is overtaken, and nothing of the list is saved',
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
    const add = (group) => pageGroups.add(group, owners.set(group.pageGroupId, group.tenantId))
    const find = (wants) => pages.find(wants.map(owned))
    return { pageGroups: { ...pageGroups, add }, pages: { ...pages, find } }
  },
  activities: ({ activities }) => {
    const record = async (changes) => (await activities.record(changes)) && 'recorded'
    return { activities: { ...activities, record } }
  },
}
const openStore = async () => {
  const store = memoryStore()
  const kept = async () => ({ prospects: store.kept.prospects(), logs: store.kept.logs() })
  return { store: { ...store, ...faults[process.env.FAULT](store) }, kept, close: () => store.close() }
}
const tests = []
storeContract({ test: (title, body) => tests.push({ title, body }), openStore })
if (tests.length < 100) throw new Error('tests are missing')
const failed = []
for (const { title, body } of tests) await body().catch(() => failed.push(title))
console.log(JSON.stringify(failed))
`

type Served = { readonly url: string; readonly apiKey: string; readonly pageGroupId: string }

/** The five operations, a problem and a refusal, over a socket. */
const mustServe = async (t: Test, { url, apiKey, pageGroupId }: Served) => {
  const call = async (path: string, json?: string, headers = {}) => {
    const answer = await fetch(`${url}${path}`, {
      ...(json !== undefined && { method: 'POST', body: json }),
      headers: { 'x-api-key': apiKey, ...(json && { 'content-type': 'application/json' }), ...headers },
    })
    return {
      status: answer.status,
      headers: answer.headers,
      json: (await answer.json()) as Record<string, unknown>,
    }
  }
  const payload = '{ "amount": 12345678901234567890 }'
  const logged = await call('/v0/prospect_logs', `{"source":"crm","payload":${payload}}`)
  t.match(logged, { status: 201, json: { createdProspect: true, type: 'webhook' } })
  const group = `/v0/page_groups/${pageGroupId}`
  const created = await call(`${group}/pages`, '{"customName":"Spring"}')
  t.match(created, { status: 201, json: { status: 'processing' } })
  t.match(await call('/v0/page_groups?limit=1'), {
    status: 200,
    json: { items: [{ pagesCount: 1 }], limit: 1 },
  })
  t.match(await call(`${group}/pages`), { status: 200, json: { items: [{ effectiveName: 'Spring' }] } })
  const page = `${group}/pages/${created.json['pageId']}`
  t.match(await call(page), { status: 200, json: { customName: 'Spring' } })
  while ((await call(page)).json['publishedVersion'] === null);

  const unknown = await call('/v0/nowhere')
  t.match(unknown, { status: 404, json: { code: 'not_found', instance: /./ } })
  t.equal(unknown.headers.get('content-type'), 'application/problem+json')
  t.equal(unknown.headers.get('x-request-id'), unknown.json['instance'])
  t.match(await call('/v0/page_groups', undefined, { 'x-api-key': 'wrong' }), { status: 401 })
  t.match(await call('/v0/prospect_logs', 'x'.repeat(1_048_577)), {
    status: 413,
    json: { code: 'payload_too_large' },
  })
  t.match(await call('/v0/prospect_logs', '{'), { status: 400, json: { code: 'invalid_json' } })
  t.match(await call('/readyz'), { status: 200, json: { status: 'ready' } })
}

for (const program of ['plain-server.ts', 'express.ts', 'fastify.ts'])
  t.test(`${program} serves the API under its prefix`, async (t) => {
    const served = await serverOf<Served>(t, folder, program)
    await mustServe(t, served)
    const outside = await fetch(`${new URL('/v0/page_groups', served.url)}`, {
      headers: { 'x-api-key': served.apiKey },
    })
    t.equal(outside.status, 404, 'it answers nothing outside of the prefix')
  })

for (const program of ['express.ts', 'fastify.ts'])
  t.test(`${program} still parses the bodies of its own routes`, async (t) => {
    const { url } = await serverOf<Served>(t, folder, program)
    const answer = await fetch(new URL('/echo', url), {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json' },
    })
    t.strictSame(await answer.json(), { a: 1 })
  })

t.test(
  "an activity is kept exactly when the embedder's transaction is",
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const server = await startPostgres()
    t.teardown(server.stop)
    const url = await server.newDatabase()
    const env = {
      PGHOST: String(parseAddress(url).server.host),
      PGDATABASE: new URL(url).pathname.slice(1),
      PGUSER: 'postgres',
    }
    t.strictSame(await answerOf(folder, 'within-your-transaction.ts', env), {
      logged: ['first', 'third'],
      kept: ['first', 'third'],
    })
  },
)
