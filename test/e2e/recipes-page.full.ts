import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import {
  blocksOf,
  pasteAll,
  saveFiles,
  shellFunctions,
  stepsOf,
  whyNoShell,
  withoutIds,
} from '../support/pasted-page.ts'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import { answerOf, caller, databaseAt, newFolder, seed, startServer, until } from '../support/program.ts'

t.setTimeout(0)
const hasPython = spawnSync('python3', ['--version']).status === 0
/** As an id that no other page has. */
const UNKNOWN = `page_${'0'.repeat(26)}`

t.test('the recipes of docs/recipes.md', { skip: whyNoShell }, async (t) => {
  const blocks = await blocksOf('recipes.md', [9001])
  const folder = newFolder(t)
  saveFiles(blocks, folder)
  mkdirSync(join(folder, 'data'))
  const env = { DATABASE_URL: `sqlite:${join(folder, 'data/prospect-pages.db')}` }
  const { apiKey } = await seed(env)
  const [start, ...steps] = stepsOf(blocks)
  const settings = [...(start?.script ?? '').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value])
  const server = await startServer(t, { ...env, ...Object.fromEntries(settings) })
  const call = caller(server.url, apiKey)
  const shell = { ...env, URL: server.url, KEY: apiKey }
  const backup = steps.pop()?.script ?? ''

  if (!hasPython) t.test('the receiver in Python', { skip: 'python3 is not installed' }, async () => {})
  await t.test('work as pasted, and print what is shown below them', async (t) => {
    const pasted = steps.filter(({ script }) => hasPython || !script.includes('python3'))
    const scripts = pasted.map(({ script }) => script)
    const [, ...outputs] = await pasteAll([shellFunctions(), ...scripts], shell, folder)
    t.strictSame(
      outputs.map(withoutIds),
      pasted.map(({ prints }) => withoutIds(prints)),
    )
  })

  const [group] = (await call('GET', '/v0/page_groups')).body.items
  const pages = `/v0/page_groups/${group.pageGroupId}/pages`
  const [{ pageId }] = (await call('GET', pages)).body.items

  await t.test(
    'the reports give the same on the embedded file and, for a role that reads only the views, on PostgreSQL',
    { skip: whyNoPostgres() ?? false },
    async (t) => {
      for (const email of ['ada@example.com', 'grace@example.com', 'ada@example.com'])
        await call('POST', '/v0/prospect_logs', {
          source: 'website',
          type: 'form_submitted',
          email,
          payload: { pageId },
        })
      const odd = String.raw`{"source":"website","email":"ada@example.com","payload":{"pageId":"odd","nul":"\u0000"}}`
      t.equal((await call('POST', '/v0/prospect_logs', odd)).status, 201)
      await pasteAll([backup], shell, folder)
      const copy = join(folder, 'reports.db')
      const [byPage = '', bySource = '', role = '', careful = '', attach = ''] = blocks
        .filter(({ language }) => language === 'sql')
        .map(({ text }) => text)
      t.match(attach, "attach 'reports.db'")
      const file = new DatabaseSync(copy, { readOnly: true })
      const onFile = [byPage, bySource].map((sql) =>
        file
          .prepare(sql)
          .all()
          .map((row) => Object.values(row).map(String)),
      )
      file.close()
      t.match(onFile, [[['Tulips', '2', /Z$/]], [[/^tenant_/, 'website', '2']]])

      const postgres = await sharedPostgres()
      t.teardown(postgres.stop)
      const url = await postgres.newDatabase()
      await answerOf(['move', '--from', `sqlite:${copy}`, '--to', url], {})
      await databaseAt(url).rows(
        role.replace('database prospect_pages', `database ${new URL(url).pathname.slice(1)}`),
      )
      const reports = databaseAt(url.replace('//postgres@', '//reports@'))
      const onPostgres = await Promise.all(
        [byPage, bySource].map(async (sql) =>
          (await reports.rows(sql)).map((row) => Object.values(row).map(String)),
        ),
      )
      t.strictSame(onPostgres, onFile)
      const pageIds = (await reports.rows<{ pageId: string }>(careful)).map((row) => row.pageId)
      t.strictSame(
        pageIds.filter((id) => id !== null),
        [pageId, pageId, pageId],
      )
      await t.rejects(reports.rows("select payload ->> 'pageId' from v_prospect_logs"), /Unicode escape/)
      await t.rejects(reports.rows('select * from prospects'), { code: '42501' })
    },
  )

  await t.test('a page is cached for five seconds, and for longer while the service is away', async (t) => {
    withoutTimeLimits(t)
    Object.assign(process.env, shell)
    const { contentOf } = await import(pathToFileURL(join(folder, 'pages.mjs')).href)
    const at = (seconds: number, page = pageId) => contentOf(group.pageGroupId, page, seconds * 1_000)
    t.strictSame(await at(0), { h1: 'Tulips, two for one' })
    await call('POST', `${pages}/${pageId}/versions`, { content: { h1: 'Roses' } })
    await until(
      'it is published',
      async () => (await call('GET', `${pages}/${pageId}`)).body.publishedVersion.versionNumber === 3,
    )
    t.strictSame(await at(4), { h1: 'Tulips, two for one' })
    t.strictSame(await at(5), { h1: 'Roses' })
    t.strictSame(await at(10), { h1: 'Roses' }, 'the answer was 304')
    t.equal(await at(10, UNKNOWN), null)
    await server.stop()
    t.strictSame(await at(15), { h1: 'Roses' })
    await t.rejects(at(15, UNKNOWN.replace(/.$/, '1')), /fetch failed/)
  })

  await t.test(
    'visitors get what they got before while the service fails, and the log says why',
    async (t) => {
      const errors = t.capture(console, 'error', () => {})
      const { hang } = withoutTimeLimits(t)
      const page = JSON.stringify({ publishedVersion: { content: { h1: 'Tulips' } } })
      const faults: Fault[] = [whole(page), cut(page), refuse, hang, whole('{}', 404), refuse, whole(page)]
      const { url, asked } = await startFaulty(t, faults)
      Object.assign(process.env, { URL: url })
      const { contentOf } = await import(`${pathToFileURL(join(folder, 'pages.mjs'))}?faulty`)
      const at = (seconds: number) => contentOf('group', 'page', seconds * 1_000)
      for (const seconds of [0, 5, 10]) t.strictSame(await at(seconds), { h1: 'Tulips' })
      const waits = at(15)
      const doesNot = at(16)
      t.strictSame(await Promise.all([waits, doesNot]), [{ h1: 'Tulips' }, { h1: 'Tulips' }])
      t.equal(asked(), 4, 'only one visitor waits')
      for (const seconds of [20, 21, 25]) t.equal(await at(seconds), null, 'a missing page is kept, too')
      t.strictSame(await at(30), { h1: 'Tulips' })
      const logged = errors().map(({ args }) => String(args[0]))
      t.match(logged, [/: terminated$/, /: status 401$/, /: timed out$/, /: status 401$/])
      t.equal(logged.length, 4)
    },
  )
})

type Fault = (response: ServerResponse) => void
const whole =
  (body: string, status = 200): Fault =>
  (response) => {
    response.writeHead(status).end(body)
  }
const cut =
  (body: string): Fault =>
  (response) => {
    response.writeHead(200, { 'content-length': body.length })
    response.write(body.slice(0, -9), () => response.socket?.destroy())
  }
const refuse = whole('refused', 401)

/** The time limits of the programs never end, however slow this machine is, but that of a request that hangs ends at once. */
const withoutTimeLimits = (t: Test) => {
  const { timeout } = AbortSignal
  let newest = new AbortController()
  AbortSignal.timeout = () => {
    newest = new AbortController()
    return newest.signal
  }
  t.teardown(() => {
    AbortSignal.timeout = timeout
  })
  return { hang: (): void => newest.abort(new Error('timed out')) }
}

/** A server that answers each request with the next of these. */
const startFaulty = async (t: Test, faults: readonly Fault[]) => {
  let asked = 0
  const server = createServer((_, response) => faults[asked++]?.(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked }
}
