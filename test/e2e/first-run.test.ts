import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { createLog } from '../../src/adapters/log.ts'
import { greeting } from '../../src/cli/first-run.ts'
import { createRuntime } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import type { Store } from '../../src/core/ports/store.ts'
import {
  BIN,
  caller,
  databaseKinds,
  type Environment,
  inherited,
  linesOf,
  newFolder,
  type Program,
  startProgram,
  startServer,
  until,
} from '../support/program.ts'

t.setTimeout(0)

const hasShell = spawnSync('bash', ['-c', 'command -v curl && command -v sed']).status === 0
const whyNoShell = hasShell
  ? false
  : 'NO BASH, CURL OR SED HERE: the lines that a first run prints were not tested'

/** The whole text that a first run prints. */
const greetingOf = (server: Program) =>
  until('the greeting is printed', () => server.stdout().includes('/pages/$PAGE') && server.stdout())

const paste = async (lines: string): Promise<string> => {
  const bash = spawn('bash', ['-eu'], { env: inherited(), stdio: ['pipe', 'pipe', 'inherit'] })
  let output = ''
  bash.stdout.on('data', (chunk) => {
    output += chunk
  })
  const ended = new Promise((resolve) => bash.once('close', resolve))
  bash.stdin.end(lines)
  await ended
  return output
}

/** Each answer is a line, and the shell echoes the page id on another. */
const answersIn = (output: string): unknown[] => linesOf(output.replace(/^page_[a-z0-9]{26}$/m, '"$&"'))

const databases: Readonly<Record<string, (folder: string) => Environment>> = {
  'an embedded': (folder) => ({ DATABASE_URL: `sqlite:${join(folder, 'new', 'test.db')}` }),
  'a memory': () => ({ DATABASE_URL: 'memory:' }),
}

for (const [name, envIn] of Object.entries(databases))
  t.test(`the lines printed for ${name} database work as pasted`, { skip: whyNoShell }, async (t) => {
    const server = await startProgram(t, envIn(newFolder(t)))
    const greeting = await greetingOf(server)
    const settingOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(greeting)?.[1] ?? ''
    const tenantId = /tenant +(tenant_[a-z0-9]{26})$/m.exec(greeting)?.[1]
    const pageGroupId = settingOf('GROUP')
    t.equal(settingOf('URL'), server.url)
    t.match(greeting, `  key         ${settingOf('KEY')}\n`)
    t.match(greeting, ` ${server.url}/docs.\n`)
    t.ok(greeting.indexOf(`  ${server.url}/console/#key=${settingOf('KEY')}\n`) < greeting.indexOf('curl'))
    t.match(greeting, `  ${server.url}/console/#key=${settingOf('KEY')}\n`)

    const output = await paste(greeting.slice(greeting.indexOf('URL=')))
    const [receipt, logs, groups, pageId, pages, page, ...more] = answersIn(output)
    t.match(receipt, { source: 'crm', type: 'form_submitted', createdProspect: true })
    t.match(logs, { items: [{ tenantId, payload: { form: 'contact' }, createdProspect: true }] })
    t.match(groups, { items: [{ pageGroupId, tenantId, pagesCount: 0 }], hasMore: false, limit: 20 })
    t.match(pages, { items: [{ pageId, pageGroupId, effectiveName: 'A page about the spring sale' }] })
    t.match(page, { pageId, pageGroupId, tenantId, supplementaryContext: 'A page about the spring sale' })
    t.strictSame(more, [])
    const call = caller(server.url, settingOf('KEY'))
    const read = () => call('GET', `/v0/page_groups/${pageGroupId}/pages/${pageId}`)
    await until(
      'the page is published',
      async () => (await read()).body.publishedVersion?.versionNumber === 1,
    )
    t.equal(await server.stop(), 0)
  })

t.test(
  'without settings, the embedded database is created in ./data, and the next start prints how to get another key',
  async (t) => {
    const folder = newFolder(t)
    const first = await startProgram(t, {}, folder)
    const greeting = await greetingOf(first)
    const [key = ''] = /pp_[0-9A-Za-z]{36}/.exec(greeting) ?? []
    t.equal(await first.stop(), 0)
    t.ok(existsSync(join(folder, 'data', 'prospect-pages.db')))
    t.notMatch(first.stderr(), key, 'the key is not in the logs')
    t.match(greeting, `  database    sqlite:${join(realpathSync(folder), 'data', 'prospect-pages.db')}\n`)

    const second = await startServer(t, {}, folder)
    t.equal((await caller(second.url, key)('GET', '/v0/page_groups')).status, 200, 'the key still works')
    const text = await until('it greets again', () => /^This .*?\n\n/ms.exec(second.stdout())?.[0])
    const [tenantId = ''] = /tenant_[a-z0-9]{26}/.exec(greeting) ?? []
    t.equal(
      text,
      `This database has one tenant. The API reference is at ${second.url}/docs.\nTo open the console:\n` +
        `  prospect-pages console --tenant ${tenantId} --write\nTo create an API key:\n` +
        `  prospect-pages keys create --tenant ${tenantId} --scope all\n\n`,
    )
    t.equal(await second.stop(), 0)
  },
)

t.test('npm start passes SIGTERM on: the server stops in order and frees its port', async (t) => {
  const folder = newFolder(t)
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  for (const name of ['dist/cli', 'node_modules']) mkdirSync(join(folder, name), { recursive: true })
  cpSync(new URL('../../bin/start.js', import.meta.url), join(folder, 'bin/start.js'))
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ type: 'module', scripts: { start: scripts.start } }),
  )
  // Newer than its sources: nothing is built.
  writeFileSync(join(folder, 'dist/cli/bin.js'), `import '${pathToFileURL(BIN)}'`)
  const server = await startProgram(t, { DATABASE_URL: 'memory:' }, folder, ['npm', 'start'])
  const [, pid] = await until('it has logged', () => /"pid":(\d+)/.exec(server.stderr()))
  t.not(Number(pid), server.pid, 'npm is another process')
  void server.stop()
  const isStopped = () => server.stderr().includes('"msg":"stopped"')
  t.ok(
    await until('the server has stopped', isStopped).catch(
      () => process.kill(Number(pid), 'SIGKILL') && false,
    ),
  )
  await t.rejects(fetch(server.url), { cause: { code: 'ECONNREFUSED' } })
})

/** A first run that fails at one of its writes. */
const endedFirstRun = async (env: Environment, port: 'tenants' | 'pageGroups' | 'apiKeys') => {
  const config = readConfig(env)
  const world = await createRuntime(config, createLog('silent'))
  await world.store.migrate()
  const ended = new Error('the process died')
  const store: Store = { ...world.store, [port]: { ...world.store[port], add: () => Promise.reject(ended) } }
  await greeting({ ...world, store }, config, '').catch((why) => {
    if (why !== ended) throw why
  })
  await world.store.close()
}

for (const port of ['tenants', 'pageGroups', 'apiKeys'] as const)
  t.test(`after a first run that failed to write ${port}, the next one succeeds`, async (t) => {
    const env = { DATABASE_URL: `sqlite:${join(newFolder(t), 'test.db')}` }
    await endedFirstRun(env, port)
    const server = await startProgram(t, env)
    const [, key = ''] = /^KEY=(.*)$/m.exec(await greetingOf(server)) ?? []
    const { status, body } = await caller(server.url, key)('GET', '/v0/page_groups')
    t.match({ status, body }, { status: 200, body: { items: [{ name: 'welcome' }], hasMore: false } })
    t.equal(await server.stop(), 0)
  })

for (const kind of databaseKinds().filter(({ name }) => name === 'postgres'))
  t.test(
    'on an empty PostgreSQL database nothing is created, and what to type next is printed once',
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const { env, rows } = await kind.open(t)
      const server = await startProgram(t, { ...env, DOCS: 'off' })
      await until('it greets', () => server.stdout().endsWith('--scope all\n\n'))
      t.equal(await server.stop(), 0)
      t.equal(
        server.stdout(),
        '\nThis database has no API key.\nTo create an API key:\n' +
          '  prospect-pages tenants create --name Acme\n  prospect-pages keys create --tenant TENANT_ID --scope all\n\n',
      )
      t.strictSame(await rows('select tenant_id from tenants'), [])
    },
  )
