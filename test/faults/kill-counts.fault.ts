import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import {
  answerOf,
  caller,
  type DatabaseKind,
  databaseKinds,
  type Program,
  seed,
  startProgram,
  startServer,
  until,
} from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)
const ROUNDS = timesOf(4)
const LOGS = 25_000
const KILL_PAUSE_MS_MAX = 10
/** Activities are counted once they are older than the clocks of two processes may differ. */
const COUNTED_AFTER_MS = 31_000

const PEOPLE = 50
const activityOf = (number: number, pageId: string) => ({
  source: `s${number % 3}`,
  type: `t${number % 5}`,
  payload: number % 2 === 0 ? { pageId } : {},
  email: `p${number % PEOPLE}@x.com`,
})

/** A database with activities that are old enough to be counted, and are not counted yet. */
const setUp = async (t: Test, kind: DatabaseKind) => {
  const random = faultsRandom(t)
  const { env, rows } = await kind.open(t)
  const { apiKey, tenantId, pageGroupId } = await seed(env)
  const pageId = await createPage(t, env, apiKey, pageGroupId)
  const activities = Array.from({ length: LOGS }, (_, i) => activityOf(i, pageId))
  const lines = activities.map((activity) => `${JSON.stringify(activity)}\n`)
  const folder = t.testdir({ 'logs.jsonl': lines.join('') })
  const file = `${folder}/logs.jsonl`
  await answerOf(['prospect-logs', 'import', '--tenant', tenantId, '--file', file], env)
  await pause(COUNTED_AFTER_MS)
  return { random, env, rows, apiKey, pageId, activities }
}

const createPage = async (t: Test, env: TestEnv, apiKey: string, pageGroupId: string): Promise<string> => {
  const server = await startServer(t, env)
  const { body } = await caller(server.url, apiKey)('POST', `/v0/page_groups/${pageGroupId}/pages`, {})
  await server.stop()
  return body.pageId
}
type TestEnv = Parameters<typeof startServer>[1]
type Scene = Awaited<ReturnType<typeof setUp>>

/** The last activity that is counted. */
const readPosition = async ({ rows }: Scene): Promise<string | undefined> => {
  const [tenant] = await rows<{ position: string }>('select position from counted_tenants')
  return tenant?.position
}

/** Starts a server, and kills it after it has counted some more activities. */
const killWhileCounting = async (t: Test, scene: Scene): Promise<void> => {
  const before = await readPosition(scene)
  const server = await startProgram(t, scene.env)
  const hasCounted = async () => (await readPosition(scene)) !== before
  await until('the server counts', hasCounted, { tries: 60_000, pauseMs: 1 })
  await pause(scene.random.below(KILL_PAUSE_MS_MAX))
  await server.kill()
}

/** The sums of the counts, and how many activities there are up to the position. */
const readSums = async ({ rows }: Scene) => {
  const [sums] = await rows<Record<'hours' | 'days' | 'sources' | 'logs', number>>(`
    select (select coalesce(sum(count), 0) from prospect_log_counts where unit = 'hour') as hours,
      (select coalesce(sum(count), 0) from prospect_log_counts where unit = 'day') as days,
      (select coalesce(sum(count), 0) from prospect_counts where kind = 'source') as sources,
      (select count(*) from prospect_logs, counted_tenants where prospect_log_id <= position) as logs`)
  return {
    hours: Number(sums?.hours),
    days: Number(sums?.days),
    sources: Number(sums?.sources),
    logs: Number(sums?.logs),
  }
}

type Count = { readonly source: string; readonly type: string; readonly count: number }
/** Reads the counts from the API. The first request makes the server count. */
const readCounts = async ({ apiKey }: Scene, { url }: Program): Promise<readonly Count[]> =>
  (await caller(url, apiKey)('GET', '/v0/prospect_log_counts')).body.items

/** The activities and people of each page, or of each source. */
const readPeople = async ({ apiKey }: Scene, { url }: Program, of: 'page' | 'source') => {
  const { body } = await caller(url, apiKey)('GET', `/v0/prospect_log_counts?of=${of}`)
  const items: readonly Record<string, unknown>[] = body.items
  return items.map(({ pageId, source, count, prospects }) => [pageId ?? source, count, prospects].join(' '))
}

const expectedCounts = ({ activities }: Scene): string[] => {
  const counts = new Map<string, number>()
  for (const { source, type } of activities) {
    const pair = `${source} ${type}`
    counts.set(pair, (counts.get(pair) ?? 0) + 1)
  }
  return [...counts].map(([pair, count]) => `${pair} ${count}`).sort()
}

const expectedPeople = ({ activities }: Scene): string[] => {
  const bySource = Map.groupBy(activities, ({ source }) => source)
  const rows = [...bySource].map(([source, logs]) =>
    [source, logs.length, new Set(logs.map(({ email }) => email)).size].join(' '),
  )
  return rows.toSorted()
}

for (const kind of databaseKinds())
  t.test(
    `servers on ${kind.name} are killed while they count activities`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const scene = await setUp(t, kind)
      const first = await startServer(t, scene.env)
      await readCounts(scene, first)
      await first.kill()

      let interrupted = 0
      let counted = 0
      for (let round = 0; round < ROUNDS && counted < LOGS; round++) {
        await killWhileCounting(t, scene)
        const { hours, days, sources, logs } = await readSums(scene)
        t.equal(hours, logs, 'the counts by hour have every activity up to the position once')
        t.equal(days, logs, 'and so have the counts by day')
        t.equal(sources, logs, 'and those of people by source')
        if (logs > 0 && logs < LOGS) interrupted++
        counted = logs
      }
      t.ok(interrupted > 0, `${interrupted} servers were killed between two steps`)

      const server = await startServer(t, scene.env)
      const areAllCounted = async () => {
        const counts = await readCounts(scene, server)
        return counts.reduce((sum, { count }) => sum + count, 0) === LOGS
      }
      await until('every activity is counted', areAllCounted)
      const counts = await readCounts(scene, server)
      const found = counts.map(({ source, type, count }) => `${source} ${type} ${count}`).sort()
      t.strictSame(found, expectedCounts(scene), 'each source and type has its activities')
      const half = LOGS / 2
      const onPage = `${scene.pageId} ${half} ${PEOPLE / 2}`
      t.strictSame(await readPeople(scene, server, 'page'), [onPage], 'the page has its people once')
      const sources = (await readPeople(scene, server, 'source')).toSorted()
      t.strictSame(sources, expectedPeople(scene), 'and so has each source')
      t.equal(await server.stop(), 0)
    },
  )
