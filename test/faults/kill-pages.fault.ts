import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { caller, databaseKinds, seed, startServer, until } from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)
const ROUNDS = timesOf(5)
/** In each round, however slow the machine. */
const CHANGES_MIN = 10
const PAGES = 12

/** Contradictions in the tables: each query must find nothing. */
const CONTRADICTIONS = {
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

for (const kind of databaseKinds())
  t.test(
    `servers on ${kind.name} are killed while versions are written and published by hand`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const random = faultsRandom(t)
      const { env, rows } = await kind.open(t)
      const { apiKey, pageGroupId } = await seed(env)
      const start = async () => {
        const server = await startServer(t, env)
        return { ...server, call: caller(server.url, apiKey) }
      }
      let server = await start()
      const path = `/v0/page_groups/${pageGroupId}/pages`
      /** By page: the number of the version that was acknowledged as published last; null: none. */
      const published = new Map<string, { acknowledged: number | null; wanted: number | null }>()
      const deleted = new Set<string>()
      let acknowledged = 0

      /** One call after the other for one page, until its server is gone. */
      const work = async (pageId: string) => {
        const { call } = server
        const page = `${path}/${pageId}`
        for (;;) {
          const versions = (await call('GET', `${page}/versions?limit=100`)).body.items
          const known = published.get(pageId)
          if (versions === undefined || known === undefined) return
          const ready = versions.filter(({ status }: { status: string }) => /ready|published/.test(status))
          const { versionId, versionNumber } = ready[random.below(ready.length)] ?? {}
          const chance = random.below(10)
          if (chance < 3) await call('POST', `${page}/versions`, { publish: false, content: { chance } })
          else if (chance < 4) {
            known.wanted = null
            if ((await call('POST', `${page}/unpublish`)).status === 200) known.acknowledged = null
          } else if (chance < 5 && deleted.size < PAGES / 2 && random.below(4) === 0) {
            published.delete(pageId)
            if ((await call('DELETE', page)).status === 204) deleted.add(pageId)
            return
          } else if (versionId !== undefined) {
            known.wanted = versionNumber
            if ((await call('POST', `${page}/versions/${versionId}/publish`)).status === 200)
              known.acknowledged = versionNumber
          }
          known.wanted = known.acknowledged
          acknowledged++
        }
      }

      for (let round = 0; round < ROUNDS; round++) {
        while (published.size < PAGES) {
          const { pageId } = (await server.call('POST', path, { content: {} })).body
          published.set(pageId, { acknowledged: 1, wanted: 1 })
          while ((await server.call('GET', `${path}/${pageId}`)).body.publishedVersion === null)
            await pause(5)
        }
        const working = [...published.keys()].map((pageId) => work(pageId).catch(() => {}))
        const enough = acknowledged + CHANGES_MIN
        await pause(150 + random.below(200))
        await until('some changes were acknowledged', () => acknowledged >= enough)
        await server.kill()
        await Promise.all(working)
        for (const [title, query] of Object.entries(CONTRADICTIONS))
          t.strictSame(await rows(query), [], title)
        server = await start()
        for (const [pageId, known] of published) {
          const { publishedVersion } = (await server.call('GET', `${path}/${pageId}`)).body
          const number = publishedVersion?.versionNumber ?? null
          t.ok([known.acknowledged, known.wanted].includes(number), 'what was acknowledged, or was in flight')
          Object.assign(known, { acknowledged: number, wanted: number })
        }
        for (const pageId of deleted)
          t.equal((await server.call('GET', `${path}/${pageId}`)).status, 404, 'deleted stays deleted')
      }
      t.comment(`${acknowledged} changes were acknowledged`)
      t.equal(await server.stop(), 0)
    },
  )
