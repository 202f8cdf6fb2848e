import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { caller, databaseKinds, seed, startServer, until } from '../support/program.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)
const ROUNDS = timesOf(4)
const LOGS = 4_000
const CALLERS = 32
const PATIENT = { tries: 600, pauseMs: 50 }
type Logged = { readonly body: { readonly prospectId: string; readonly prospectLogId: string } }

for (const kind of databaseKinds())
  t.test(
    `servers on ${kind.name} are killed while prospects are merged and logged for`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const random = faultsRandom(t)
      const database = await kind.open(t)
      const { rows } = database
      const env = { ...database.env, EVENTS: 'on' }
      const { apiKey } = await seed(env)
      const start = async () => {
        const server = await startServer(t, env)
        return { ...server, call: caller(server.url, apiKey) }
      }
      let server = await start()
      const acknowledged = new Set<string>()
      let sent = 0
      const log = async (fields: object): Promise<Logged> => {
        const activity = { source: 'crm', payload: {}, idempotencyKey: `${sent++}`, ...fields }
        const answer = await server.call('POST', '/v0/prospect_logs', activity)
        if (answer.status === 201) acknowledged.add(answer.body.prospectLogId)
        return answer
      }
      const people = ['ada@x', 'grace@x', 'eve@x']
      const ids: string[] = []
      for (const email of people) ids.push((await log({ email })).body.prospectId)
      const [ada = '', grace = '', eve = ''] = ids
      for (let i = 0; i < LOGS; i += CALLERS)
        await Promise.all(Array.from({ length: CALLERS }, () => log({ email: 'ada@x' })))

      const merge = (from: string, into: string) =>
        server.call('POST', `/v0/prospects/${from}/merge`, { into }).catch(() => null)
      t.equal((await merge(ada, grace))?.status, 200)
      let cut = 0
      for (let round = 0; round < ROUNDS; round++) {
        let isAlive = true
        const traffic = people.map(async (email) => {
          while (isAlive) await log({ email }).catch(() => null)
        })
        const merging = round === ROUNDS / 2 ? merge(grace, eve) : null
        await pause(random.below(60))
        await server.kill()
        isAlive = false
        await Promise.all([...traffic, merging])
        if ((await rows("select 1 from merges where status = 'processing' and pass = 1")).length > 0) cut++
        // Merges claimed by the killed process wait for their lease to end, so its end is moved up.
        await rows('update merges set claimable_at = requested_at')
        server = await start()
      }
      t.comment(`${cut} of ${ROUNDS} were killed before all had moved`)
      t.equal((await merge(grace, eve))?.status, 200, 'made, or made before')
      await log({ email: 'ada@x' })
      const passed = async () => (await rows('select 1 from merges where pass = 2')).length
      await until('the first passes are over', async () => (await passed()) === 2, PATIENT)
      await server.kill()
      await rows('update merges set claimable_at = requested_at')
      server = await start()
      const left = () => rows("select 1 from merges where status = 'processing'")
      await until('both are completed', async () => (await left()).length === 0, PATIENT)

      const kept = await rows<Record<string, string>>(
        'select prospect_id as person, prospect_log_id as log from prospect_logs',
      )
      t.strictSame([...new Set(kept.map((row) => row['person']))], [eve])
      const logs = new Set(kept.map((row) => String(row['log'])))
      t.strictSame(
        [...acknowledged].filter((id) => !logs.has(id)),
        [],
        'what was acknowledged is kept',
      )
      const shown: string[] = []
      for (let cursor = ''; ; ) {
        const { body } = await server.call('GET', `/v0/prospects/${ada}/prospect_logs?limit=100${cursor}`)
        for (const { prospectLogId } of body.items) shown.push(prospectLogId)
        if (!body.hasMore) break
        cursor = `&cursor=${body.nextCursor}`
      }
      t.equal(shown.length, kept.length, 'each is shown, and none twice')
      t.strictSame(new Set(shown), logs)
      const events = async () =>
        (await server.call('GET', '/v0/events?types=prospect.merged&limit=100')).body.items
      await until('both events are numbered', async () => (await events()).length === 2, PATIENT)
      const merged = (await events()).map(({ data }: { data: object }) => data)
      t.strictSame(new Set(merged.map((data: object) => JSON.stringify(data))).size, 2)
      t.match(merged, [{ prospectId: String }, { prospectId: String }])
      t.equal(await server.stop(), 0)
    },
  )
