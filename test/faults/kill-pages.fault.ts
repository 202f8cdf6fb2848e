import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { caller, type DatabaseKind, databaseKinds, seed, startServer, until } from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)
const ROUNDS = timesOf(5)
/** In each round, however slow the machine. */
const CHANGES_MIN = 10
const PAGES = 12
const DELETED_MAX = PAGES / 2
const KILL_MS_MIN = 150
const KILL_MS_MAX = 350

/** Promises about the tables. Each query looks for rows that break one. */
const PROMISES = {
  'a pointer leads to a published version': `
    select p.page_id from pages p left join page_versions v
      on v.tenant_id = p.tenant_id and v.page_id = p.page_id and v.version_id = p.published_version_id
    where p.published_version_id is not null and coalesce(v.status, '') <> 'published'`,
  'the latest version is the newest one': `
    select p.page_id from pages p
    where p.latest_version_id is distinct from (
      select max(v.version_id) from page_versions v where v.tenant_id = p.tenant_id and v.page_id = p.page_id)`,
  'versions are numbered without gaps': `
    select page_id from page_versions group by tenant_id, page_id having count(*) <> max(version_number)`,
  'no version is without its page': `
    select v.page_id from page_versions v where not exists (
      select 1 from pages p where p.tenant_id = v.tenant_id and p.page_id = v.page_id)`,
  'the count of pages is exact': `
    select c.page_group_id from page_counts c where c.pages_count <> (
      select count(*) from pages p where p.tenant_id = c.tenant_id and p.page_group_id = c.page_group_id)`,
}

type Version = { readonly versionId: string; readonly versionNumber: number; readonly status: string }
/** The number of a page's published version; null if none is published. */
type Published = number | null
type KnownPage = {
  /** As it was acknowledged last. */
  acknowledged: Published
  /** As the change that is in flight would make it. Without one, the same as `acknowledged`. */
  inFlight: Published
}

const setUp = async (t: Test, kind: DatabaseKind) => {
  const random = faultsRandom(t)
  const { env, rows } = await kind.open(t)
  const { apiKey, pageGroupId } = await seed(env)
  const start = async () => {
    const server = await startServer(t, env)
    return { ...server, call: caller(server.url, apiKey) }
  }
  return {
    random,
    rows,
    start,
    pagesPath: `/v0/page_groups/${pageGroupId}/pages`,
    /** The pages that exist, by their ids. A page whose deletion was not acknowledged is in neither. */
    known: new Map<string, KnownPage>(),
    deleted: new Set<string>(),
    /** How many changes a server has answered. */
    changes: 0,
  }
}
type Scene = Awaited<ReturnType<typeof setUp>>
type Server = Awaited<ReturnType<Scene['start']>>

/** Creates pages until there are `PAGES`, and waits until each is published. */
const createPages = async ({ known, pagesPath }: Scene, { call }: Server): Promise<void> => {
  while (known.size < PAGES) {
    const { pageId } = (await call('POST', pagesPath, { content: {} })).body
    const isPublished = async () =>
      (await call('GET', `${pagesPath}/${pageId}`)).body.publishedVersion !== null
    await until('the page is published', isPublished, { tries: Infinity, pauseMs: 5 })
    known.set(pageId, { acknowledged: 1, inFlight: 1 })
  }
}

/** Makes one change after the other, until the page is deleted. Throws once the server is killed. */
const changePage = async (scene: Scene, server: Server, pageId: string): Promise<void> => {
  const { known, pagesPath, random } = scene
  const { call } = server
  const pagePath = `${pagesPath}/${pageId}`
  for (;;) {
    const versions: Version[] | undefined = (await call('GET', `${pagePath}/versions?limit=100`)).body.items
    const page = known.get(pageId)
    if (versions === undefined || page === undefined) return

    const chance = random.below(10)
    if (chance < 3) {
      await call('POST', `${pagePath}/versions`, { publish: false, content: { chance } })
    } else if (chance < 4) {
      page.inFlight = null
      const { status } = await call('POST', `${pagePath}/unpublish`)
      if (status === 200) page.acknowledged = null
    } else if (chance < 5 && scene.deleted.size < DELETED_MAX && random.onceIn(4)) {
      await deletePage(scene, server, pageId)
      return
    } else {
      await publishAny(scene, server, pageId, versions, page)
    }
    page.inFlight = page.acknowledged
    scene.changes++
  }
}

const deletePage = async (
  { known, deleted, pagesPath }: Scene,
  { call }: Server,
  pageId: string,
): Promise<void> => {
  known.delete(pageId)
  const { status } = await call('DELETE', `${pagesPath}/${pageId}`)
  if (status === 204) deleted.add(pageId)
}

/** Publishes a version of chance, if there is one that can be published. */
const publishAny = async (
  { pagesPath, random }: Scene,
  { call }: Server,
  pageId: string,
  versions: readonly Version[],
  page: KnownPage,
): Promise<void> => {
  const publishable = versions.filter(({ status }) => status === 'ready' || status === 'published')
  if (publishable.length === 0) return
  const { versionId, versionNumber } = random.oneOf(publishable)
  page.inFlight = versionNumber
  const { status } = await call('POST', `${pagesPath}/${pageId}/versions/${versionId}/publish`)
  if (status === 200) page.acknowledged = versionNumber
}

/** Changes every page, and kills the server meanwhile. */
const killDuringChanges = async (scene: Scene, server: Server): Promise<void> => {
  // A call to a server that is killed fails.
  const changing = [...scene.known.keys()].map((pageId) => changePage(scene, server, pageId).catch(() => {}))
  const enough = scene.changes + CHANGES_MIN
  await pause(KILL_MS_MIN + scene.random.below(KILL_MS_MAX - KILL_MS_MIN))
  await until('some changes were answered', () => scene.changes >= enough)
  await server.kill()
  await Promise.all(changing)
}

const checkPages = async (t: Test, { known, deleted, pagesPath }: Scene, { call }: Server): Promise<void> => {
  for (const [pageId, page] of known) {
    const { publishedVersion } = (await call('GET', `${pagesPath}/${pageId}`)).body
    const published: Published = publishedVersion?.versionNumber ?? null
    const expected = [page.acknowledged, page.inFlight]
    t.ok(expected.includes(published), 'the version that was acknowledged as published, or was in flight')
    page.acknowledged = published
    page.inFlight = published
  }
  for (const pageId of deleted) {
    const { status } = await call('GET', `${pagesPath}/${pageId}`)
    t.equal(status, 404, 'a deleted page stays deleted')
  }
}

for (const kind of databaseKinds())
  t.test(
    `servers on ${kind.name} are killed while versions are written and published by hand`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const scene = await setUp(t, kind)
      let server = await scene.start()
      for (let round = 0; round < ROUNDS; round++) {
        await createPages(scene, server)
        await killDuringChanges(scene, server)
        for (const [promise, broken] of Object.entries(PROMISES))
          t.strictSame(await scene.rows(broken), [], promise)
        server = await scene.start()
        await checkPages(t, scene, server)
      }
      t.comment(`${scene.changes} changes were answered`)
      t.equal(await server.stop(), 0)
    },
  )
