import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { caller, databaseKinds, type Program, seed, startServer, until } from '../support/program.ts'

t.setTimeout(0)
const PAGES = 30
/** The pages are published one after the other from this time on. */
const FIRST_MS = 3_000
const APART_MS = 50
const KILLS = 2
const PATIENT = { tries: 600, pauseMs: 100 }
type FedEvent = {
  readonly type: string
  readonly createdAt: string
  readonly data: { readonly pageId: string }
}

for (const kind of databaseKinds())
  t.test(
    `servers on ${kind.name} are killed while the hour comes`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const database = await kind.open(t)
      const env = { ...database.env, EVENTS: 'on' }
      const { apiKey, pageGroupId } = await seed(env)
      const start = async () => {
        const server = await startServer(t, env)
        return server
      }
      const servers: [Program, Program] = [await start(), await start()]
      const call = (...[method, path, body]: Parameters<ReturnType<typeof caller>>) =>
        caller(servers[0].url, apiKey)(method, path, body)
      const beganMs = Date.now() + FIRST_MS
      const times = new Map<string, number>()
      for (let i = 0; i < PAGES; i++) {
        const ms = beganMs + i * APART_MS
        const { body } = await call('POST', `/v0/page_groups/${pageGroupId}/pages`, {
          publishAt: new Date(ms).toISOString(),
        })
        times.set(body.pageId, ms)
      }
      await pause(beganMs - Date.now())
      for (let kill = 0; kill < KILLS; kill++) {
        await pause((PAGES * APART_MS) / KILLS / 2)
        await servers[kill % 2]?.kill()
        servers[kill % 2] = await start()
      }
      const published = async () => {
        const all: FedEvent[] = []
        for (let cursor = '', hasMore = true; hasMore; ) {
          const { body } = await call('GET', `/v0/events?limit=100${cursor && `&cursor=${cursor}`}`)
          all.push(...body.items.filter(({ type }: FedEvent) => type === 'page_version.published'))
          ;({ hasMore, nextCursor: cursor } = body)
        }
        return all
      }
      await until('all are published', async () => (await published()).length >= PAGES, PATIENT)
      const all = await published()
      t.strictSame(all.map(({ data }) => data.pageId).sort(), [...times.keys()].sort(), 'each once')
      const early = all.filter(({ createdAt, data }) => Date.parse(createdAt) < (times.get(data.pageId) ?? 0))
      t.strictSame(early, [], 'none before its time')
      for (const server of servers) t.equal(await server.stop(), 0)
    },
  )
