import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { blocksOf, freePort, installClient, saveFiles } from '../support/pasted-page.ts'
import {
  answerOf,
  caller,
  type DatabaseKind,
  databaseKinds,
  inherited,
  newFolder,
  seed,
  startServer,
  until,
} from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)

const ROUNDS = timesOf(4)
/** Of each round: by default 1,000 in all. */
const CHANGES = 250
const CALLERS = 4
const GROUPS_MIN = 4
const SOON_MS_MAX = 1_500
/** Work claimed by a killed process waits until its lease ends, and a failing endpoint is paused: both times are moved up. */
const END_LEASES = [
  'update webhook_endpoints set claimable_at = created_at',
  "update page_versions set claimable_at = created_at where status = 'processing' and attempts > 0",
]
const HOOKED = [
  'page_version.published',
  'page.updated',
  'page.unpublished',
  'page.deleted',
  'page_group.updated',
]
const KILLED = ['server', 'builder', 'both'] as const

type PageRead = {
  readonly pageId: string
  readonly slug: string | null
  readonly effectiveName: string
  readonly publishedVersion: { readonly versionId: string } | null
  readonly latestVersion: { readonly status: string }
  readonly unpublishAt: string | null
}
/** Each file of a site, with the version and the name that it shows. */
type Site = ReadonlyMap<string, string>

/** A service on a fixed port, the program of docs/static-site.md that builds a site from it, and what was created. */
const setUp = async (t: Test, kind: DatabaseKind) => {
  const random = faultsRandom(t)
  const database = await kind.open(t)
  const env = {
    ...database.env,
    WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8',
    PORT: String(await freePort()),
  }
  const { tenantId, apiKey } = await seed(env)
  const startService = () => startServer(t, env)
  const server = await startService()
  const call = caller(server.url, apiKey)
  const website = ['keys', 'create', '--tenant', tenantId, '--scope', 'pages:published']
  const { apiKey: siteKey } = await answerOf(website, env)

  const folder = newFolder(t)
  installClient(folder)
  saveFiles(await blocksOf('static-site.md'), folder)
  const hookPort = await freePort()
  const hook = { url: `http://127.0.0.1:${hookPort}`, types: HOOKED }
  const { secret } = (await call('POST', '/v0/webhook_endpoints', hook)).body
  const builderEnv = { API: server.url, KEY: siteKey, WEBHOOK_SECRET: secret, PORT: String(hookPort) }
  const startBuilder = () =>
    spawn(process.execPath, ['build-site.mjs'], {
      cwd: folder,
      env: { ...inherited(), ...builderEnv },
      stdio: 'ignore',
    })
  return {
    random,
    call,
    startService,
    startBuilder,
    server,
    builder: startBuilder(),
    folder: join(folder, 'site'),
    endLeases: async () => {
      for (const statement of END_LEASES) await database.rows(statement)
    },
    groupIds: [] as string[],
    pagePaths: [] as string[],
    /** How many changes were answered. */
    changes: 0,
  }
}
type Scene = Awaited<ReturnType<typeof setUp>>

const kill = async (child: ChildProcess): Promise<void> => {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

/** A time that comes soon, or none. */
const soon = ({ random }: Scene): string | undefined =>
  random.onceIn(4) ? new Date(Date.now() + random.below(SOON_MS_MAX)).toISOString() : undefined

const createGroup = async ({ call, groupIds }: Scene) => {
  const { status, body } = await call('POST', '/v0/page_groups', { name: 'group', title: 'Group' })
  if (status === 201) groupIds.push(body.pageGroupId)
}
const createPage = async (scene: Scene) => {
  const { call, random, groupIds, pagePaths } = scene
  const pages = `/v0/page_groups/${random.oneOf(groupIds)}/pages`
  const publishAt = soon(scene)
  const { status, body } = await call('POST', pages, {
    customName: `Page ${random.below(1_000)}`,
    ...(random.onceIn(2) && { slug: `slug-${random.below(20)}` }),
    content: { h1: `${random.below(1_000)}` },
    ...(publishAt === undefined ? { publish: !random.onceIn(4) } : { publishAt }),
  })
  if (status === 201) pagePaths.push(`${pages}/${body.pageId}`)
}
const createVersion = ({ call, random, pagePaths }: Scene) =>
  call('POST', `${random.oneOf(pagePaths)}/versions`, {
    content: { h1: `${random.below(1_000)}` },
    publish: !random.onceIn(4),
  })
/** Publishes or schedules any version: often an older one. */
const publishAny = async (scene: Scene) => {
  const { call, random, pagePaths } = scene
  const path = `${random.oneOf(pagePaths)}/versions`
  const { items = [] } = (await call('GET', path)).body
  if (items.length === 0) return
  const publishAt = soon(scene)
  const { versionId } = random.oneOf(items as { versionId: string }[])
  await call('POST', `${path}/${versionId}/publish`, publishAt === undefined ? {} : { publishAt })
}
const unpublish = ({ call, random, pagePaths }: Scene) => call('POST', `${random.oneOf(pagePaths)}/unpublish`)
const changePage = (scene: Scene) => {
  const { call, random, pagePaths } = scene
  const unpublishAt = soon(scene)
  return call('PATCH', random.oneOf(pagePaths), {
    customName: random.onceIn(3) ? null : `Page ${random.below(1_000)}`,
    ...(random.onceIn(3) && { slug: random.onceIn(2) ? null : `slug-${random.below(20)}` }),
    ...(unpublishAt !== undefined && { unpublishAt }),
  })
}
const deletePage = ({ call, random, pagePaths }: Scene) => {
  const [path = ''] = pagePaths.splice(random.below(pagePaths.length), 1)
  return call('DELETE', path)
}
const archiveGroup = ({ call, random, groupIds }: Scene) => {
  const status = random.onceIn(2) ? 'archived' : 'active'
  return call('PATCH', `/v0/page_groups/${random.oneOf(groupIds)}`, { status })
}
const deleteGroup = async ({ call, random, groupIds }: Scene) => {
  if (groupIds.length <= GROUPS_MIN) return
  const [groupId = ''] = groupIds.splice(random.below(groupIds.length), 1)
  await call('DELETE', `/v0/page_groups/${groupId}`)
}
const SHARES: readonly (readonly [share: number, change: (scene: Scene) => Promise<unknown>])[] = [
  [1, createGroup],
  [10, createPage],
  [6, createVersion],
  [6, publishAny],
  [3, unpublish],
  [5, changePage],
  [2, deletePage],
  [2, archiveGroup],
  [1, deleteGroup],
]
const CHANGES_BY_SHARE = SHARES.flatMap(([share, change]) => Array<typeof change>(share).fill(change))

/** Makes changes until the round has had its number, even while the service is away. */
const makeChanges = async (scene: Scene, changesMax: number): Promise<void> => {
  while (scene.changes < changesMax) {
    const isEmpty = scene.groupIds.length < GROUPS_MIN || scene.pagePaths.length === 0
    const change = isEmpty
      ? scene.random.oneOf([createGroup, createPage])
      : scene.random.oneOf(CHANGES_BY_SHARE)
    try {
      if (scene.groupIds.length === 0) await createGroup(scene)
      else await change(scene)
      scene.changes++
    } catch {
      await pause(20)
    }
  }
}

/** Kills what it is told at a moment of chance, and starts it again. */
const killOnce = async (scene: Scene, killed: (typeof KILLED)[number]): Promise<void> => {
  const at = scene.changes + scene.random.below(CHANGES)
  await until('it is time', () => scene.changes >= at, { tries: Infinity, pauseMs: 5 })
  if (killed !== 'builder') await scene.server.kill()
  if (killed !== 'server') await kill(scene.builder)
  if (killed !== 'builder') scene.server = await scene.startService()
  if (killed !== 'server') scene.builder = scene.startBuilder()
}

/** All items of a list. */
const listed = async <Item>({ call }: Scene, path: string): Promise<Item[]> => {
  const items: Item[] = []
  let cursor = ''
  for (;;) {
    const { body } = await call('GET', `${path}?limit=100${cursor}`)
    items.push(...body.items)
    if (!body.hasMore) return items
    cursor = `&cursor=${body.nextCursor}`
  }
}

/** The site as it should be, read page by page with a key that sees everything. Null while something is to come. */
const expectedSite = async (scene: Scene): Promise<Site | null> => {
  const site = new Map<string, string>()
  const groups = await listed<{ pageGroupId: string; status: string }>(scene, '/v0/page_groups')
  for (const { pageGroupId, status } of groups) {
    const pagesPath = `/v0/page_groups/${pageGroupId}/pages`
    for (const { pageId } of await listed<{ pageId: string }>(scene, pagesPath)) {
      const page: PageRead = (await scene.call('GET', `${pagesPath}/${pageId}`)).body
      const { slug, publishedVersion, latestVersion, effectiveName, unpublishAt } = page
      if (/processing|scheduled/.test(latestVersion.status) || unpublishAt !== null) return null
      if (publishedVersion === null || status !== 'active') continue
      site.set(`${pageGroupId}/${slug ?? pageId}.html`, `${publishedVersion.versionId} ${effectiveName}`)
    }
  }
  return site
}

/** The files of the site as visitors see them now. */
const builtSite = ({ folder }: Scene): Site => {
  const current = realpathSync(join(folder, 'current'))
  const site = new Map<string, string>()
  for (const groupId of readdirSync(current))
    for (const file of readdirSync(join(current, groupId))) {
      const html = readFileSync(join(current, groupId, file), 'utf8')
      const [, versionId] = /name="version" content="(\w+)"/.exec(html) ?? []
      const [, title] = /<title>(.*)<\/title>/.exec(html) ?? []
      site.set(`${groupId}/${file}`, `${versionId} ${title}`)
    }
  return site
}

const sorted = (site: Site) => [...site].sort(([a], [b]) => (a < b ? -1 : 1))

/** Waits until nothing is to come and the site shows what is published; returns the last difference otherwise. */
const difference = async (scene: Scene): Promise<unknown> => {
  let last: unknown = 'nothing was compared'
  const isEqual = async () => {
    const expected = await expectedSite(scene).catch(() => null)
    if (expected === null) return false
    // The deliveries that a killed builder refused have paused the endpoint for a minute.
    await scene.endLeases()
    try {
      const [built, published] = [sorted(builtSite(scene)), sorted(expected)]
      last = { built, published }
      return JSON.stringify(built) === JSON.stringify(published)
    } catch {
      // The builder removed this build while it was read.
      return false
    }
  }
  const found = await until('the site is as published', isEqual, { tries: 300, pauseMs: 250 }).catch(
    () => false,
  )
  return found ? null : last
}

for (const kind of databaseKinds())
  t.test(
    `a static site shows what is published after ${ROUNDS * CHANGES} changes, with kills in between, on ${kind.name}`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const scene = await setUp(t, kind)
      t.teardown(() => kill(scene.builder))
      const sizes: number[] = []
      for (let round = 1; round <= ROUNDS; round++) {
        const killed = KILLED[round % KILLED.length] ?? 'both'
        const callers = Array.from({ length: CALLERS }, () => makeChanges(scene, round * CHANGES))
        await Promise.all([killOnce(scene, killed), ...callers])
        t.strictSame(await difference(scene), null, `round ${round}: ${killed} killed`)
        sizes.push(builtSite(scene).size)
      }
      t.ok(Math.max(...sizes) > 3, 'the site has pages')
      const builds = () => readdirSync(scene.folder).filter((name) => name.startsWith('build-'))
      await until('old builds are removed', () => builds().length === 1)
      t.comment(`pages after each round: ${sizes.join(' ')}`)
      t.equal(await scene.server.stop(), 0)
    },
  )
