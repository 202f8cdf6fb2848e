import { openPostgres } from '../../src/adapters/postgres/open.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { runChild, sourceUrl } from '../support/children.ts'
import {
  addTenant,
  at,
  emailIdentifier,
  logChangeOf,
  newId,
  recordAll,
  someClaim,
  someErasure,
  someGroup,
  someLog,
  somePage,
  someProspect,
} from '../support/rows.ts'
import { opened, overStores } from '../support/stores.ts'

const PROCESSES = 3
/** What each process logs: 100 activities of 10 people, the same ones as the others. */
const ACTIVITIES = 100
const PEOPLE = 10
/** Each process begins this many activities after the one before it, so that they meet everywhere. */
const START_DISTANCE = 33

overStores(
  async (t, kind) => {
    t.test('real processes that log the same activities keep each of them once', async (t) => {
      const { address, kept, store } = await opened(t, kind)
      const { tenantId } = await addTenant(store)
      const logging = Array.from({ length: PROCESSES }, (_, i) =>
        runChild(LOG_ACTIVITIES, kind.name, String(address), tenantId, String(i * START_DISTANCE)),
      )
      let replays = 0
      for (const printed of await Promise.all(logging)) replays += Number(printed)
      t.equal(replays, (PROCESSES - 1) * ACTIVITIES)
      const { logs, prospects } = await kept()
      t.equal(logs.length, ACTIVITIES)
      t.equal(prospects.length, PEOPLE)
    })

    // SQLite locks the whole file, and no rows.
    if (kind.name === 'sqlite') return

    t.test('logs of people whose rows have moved, or lie where others lay, are stored', async (t) => {
      const { store, address } = await opened(t, kind)
      const { activities } = store
      const { tenantId } = await addTenant(store)
      const people = Array.from({ length: 9 }, (_, i) => someProspect(tenantId, { email: `${i}@x` }))
      await recordAll(activities, people)
      const recalled = await Promise.all(
        people.map(({ prospectId }) => activities.recall({ tenantId, prospectId, identifiers: [] })),
      )
      const sql = openPostgres(String(address), { max: 1 })
      t.teardown(() => sql.end())
      const logAll = () =>
        activities.recordEach?.(
          people.map((person, i) => {
            const [prospect] = recalled[i]?.prospects ?? []
            return { change: logChangeOf(person, someLog(person), prospect && { prospect }), events: [] }
          }),
        )
      const recorded = people.map(() => 'recorded')
      t.strictSame(await logAll(), recorded)
      await sql.unsafe(`update prospects set is_searched = true where email <> '0@x'`)
      t.strictSame(await logAll(), recorded)
      await sql.unsafe('vacuum full prospects')
      t.strictSame(await logAll(), recorded)
    })

    t.test('versions that another claim has locked are skipped, not waited for', async (t) => {
      const { store, address } = await opened(t, kind)
      const group = someGroup(await addTenant(store))
      await store.pageGroups.add(group)
      const pages = Array.from({ length: 6 }, (_, ms) => somePage(group, { createdAt: at(ms) }))
      for (const page of pages) await store.pages.record(page)
      const claimThree = async () => ids(await store.versions.claim(someClaim({ now: at(100), max: 3 })))

      const sql = openPostgres(String(address), { max: 1 })
      t.teardown(() => sql.end())
      await sql.unsafe('begin')
      await sql.unsafe('select 1 from page_versions order by claimable_at limit 3 for update')
      t.strictSame(await claimThree(), ids(pages.slice(3)))
      await sql.unsafe('rollback')
      t.strictSame(await claimThree(), ids(pages.slice(0, 3)))
    })

    t.test('logs and blocks that another worker is deleting are skipped, not waited for', async (t) => {
      const { store, address } = await opened(t, kind)
      const { tenantId } = await addTenant(store)
      await addLogs(store, tenantId, 4)
      await addEndedBlocks(store, tenantId, 4)
      const beforeLogId = newId('prospectlog')
      const expireTwo = () => store.erasures.expire({ tenantId, now: at(1), beforeLogId, max: 2 })

      const sql = openPostgres(String(address), { max: 1 })
      t.teardown(() => sql.end())
      const countRows = async () => {
        const [counts] = await sql.unsafe<{ blocks: number; logs: number }[]>(`
          select (select count(*)::int from identifiers) as blocks, (select count(*)::int from prospect_logs) as logs`)
        return { ...counts }
      }
      await sql.unsafe('begin')
      await sql.unsafe('select 1 from prospect_logs order by prospect_log_id limit 2 for update')
      await sql.unsafe('select 1 from identifiers where blocked_until is not null limit 2 for update')
      t.equal(await expireTwo(), true, 'there is more to delete')
      t.strictSame(await countRows(), { blocks: 2, logs: 2 })
      await sql.unsafe('rollback')
      await expireTwo()
      t.strictSame(await countRows(), { blocks: 0, logs: 0 })
    })
  },
  ['sqlite', 'postgres', 'instance'],
)

const addLogs = async (store: Store, tenantId: string, count: number) => {
  const bob = someProspect(tenantId)
  await recordAll(
    store.activities,
    [bob],
    Array.from({ length: count }, () => someLog(bob)),
  )
}

/** Blocks of completed erasures, which have ended. */
const addEndedBlocks = async ({ erasures }: Store, tenantId: string, count: number) => {
  for (let i = 0; i < count; i++)
    await erasures.record({
      tenantId,
      now: at(0),
      until: at(0),
      prospects: [],
      identifier: emailIdentifier(tenantId, `${i}@x`),
      erasures: [someErasure(tenantId)],
    })
  const completed = { status: 'completed', completedAt: at(0), claimableAt: at(0) } as const
  const claimed = await erasures.claim(someClaim({ now: at(0) }))
  await erasures.settle(
    tenantId,
    claimed.map((erasure) => ({ ...erasure, ...completed })),
  )
}

const ids = (versions: readonly { readonly versionId: string }[]) =>
  versions.map(({ versionId }) => versionId).sort()

/**
 * A process that logs the activities one after the other, beginning with the one whose number it is given. It prints how
 * many of its calls were replays.
 */
const LOG_ACTIVITIES = `
  const { createRuntime } = await import('${sourceUrl('compose/service.ts')}')
  const { composeUseCases } = await import('${sourceUrl('service/use-cases.ts')}')
  const { readConfig } = await import('${sourceUrl('config/config.ts')}')
  const { createLog } = await import('${sourceUrl('adapters/log.ts')}')
  const [kind, address, tenantId, first] = process.argv.slice(1)
  const config = readConfig({ DATABASE_URL: kind === 'sqlite' ? 'sqlite:' + address : address })
  const world = await createRuntime(config, createLog('silent'))
  const { logProspectActivity } = composeUseCases({ ...world, requireIdentity: false, prospectsRememberedMax: 100 })
  let replays = 0
  for (let i = 0; i < ${ACTIVITIES}; i++) {
    const n = (i + Number(first)) % ${ACTIVITIES}
    const payload = { rawJson: JSON.stringify({ n }) }
    const email = n % ${PEOPLE} + '@example.com'
    const activity = { tenantId, source: 'crm', type: 'webhook', payload, email, idempotencyKey: 'key ' + n }
    if ((await logProspectActivity(activity)).replayed) replays++
  }
  await world.store.close()
  console.log(replays)`
