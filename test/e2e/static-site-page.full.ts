import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import {
  blocksOf,
  freePort,
  installClient,
  pasteAll,
  saveFiles,
  shellFunctions,
  stepsOf,
  whyNoShell,
} from '../support/pasted-page.ts'
import { inherited, newFolder, seed, startServer, until } from '../support/program.ts'

t.setTimeout(0)

t.test(
  'each step of docs/static-site.md works as pasted, and prints what is shown below it',
  { skip: whyNoShell },
  async (t) => {
    const blocks = await blocksOf('static-site.md', [9100])
    const folder = newFolder(t)
    installClient(folder)
    saveFiles(blocks, folder)
    mkdirSync(join(folder, 'data'))
    const env = { DATABASE_URL: `sqlite:${join(folder, 'data/prospect-pages.db')}` }
    const { apiKey } = await seed(env)
    const [start, ...steps] = stepsOf(blocks)
    const [, name = '', value = ''] =
      /^(\w+)=(\S+) npx prospect-pages serve$/m.exec(start?.script ?? '') ?? []
    const server = await startServer(t, { ...env, [name]: value })
    const shell = { ...env, URL: server.url, KEY: apiKey }
    const scripts = steps.map(({ script }) => script)
    const [, ...outputs] = await pasteAll([shellFunctions(), ...scripts], shell, folder)
    t.strictSame(
      outputs,
      steps.map(({ prints }) => prints),
    )
  },
)

const pageOf = (slug: string, minute: string) => {
  const publishedAt = `2026-01-01T00:${minute}:00.000Z`
  const publishedVersion = { versionId: `pageversion_${slug}`, versionNumber: 1, publishedAt }
  return { pageId: `page_${slug}`, pageGroupId: 'group', slug, effectiveName: slug, publishedVersion }
}

/** A list from which `b` moves to the beginning, while its reader is between the first and the second slice. */
const answers: Readonly<Record<string, object>> = {
  '/v0/published_pages?limit=100': { items: [pageOf('c', '03')], nextCursor: 'next' },
  '/v0/published_pages?limit=100&cursor=next': { items: [pageOf('a', '01')] },
  '/v0/published_pages?limit=100&publishedAfter=2026-01-01T00:02:00.000Z': {
    items: [pageOf('b', '04'), pageOf('c', '03')],
  },
  '/v0/published_pages?limit=100&publishedAfter=2026-01-01T00:03:00.000Z': { items: [pageOf('b', '04')] },
}

t.test('a page that is published again while the list is read is on the site', async (t) => {
  const asked: string[] = []
  const api = createServer(({ url = '' }, response) => {
    asked.push(url)
    response.writeHead(url in answers ? 200 : 400).end(JSON.stringify(answers[url] ?? {}))
  }).listen(0, '127.0.0.1')
  await until('it listens', () => api.listening)
  const folder = newFolder(t)
  installClient(folder)
  saveFiles(await blocksOf('static-site.md'), folder)
  const { port } = api.address() as AddressInfo
  const env = {
    API: `http://127.0.0.1:${port}`,
    KEY: 'key',
    WEBHOOK_SECRET: 'whsec_',
    PORT: String(await freePort()),
  }
  const builder = spawn(process.execPath, ['build-site.mjs'], {
    cwd: folder,
    env: { ...inherited(), ...env },
  })
  const ended = new Promise((resolve) => builder.once('exit', resolve))
  t.teardown(async () => {
    builder.kill('SIGKILL')
    api.close()
    api.closeAllConnections()
    await ended
  })
  const printed = String(await new Promise((resolve) => builder.stdout.once('data', resolve)))
  t.equal(printed, '3 pages\n')
  t.strictSame(readdirSync(join(folder, 'site/current/group')).sort(), ['a.html', 'b.html', 'c.html'])
  t.strictSame(asked, Object.keys(answers))
})
