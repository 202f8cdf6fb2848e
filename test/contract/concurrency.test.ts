import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { runChild, sourceUrl } from '../support/children.ts'
import {
  addTenant,
  at,
  emailIdentifier,
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

overStores(
  async (t, kind) => {
    t.test('real processes that log the same activities keep each of them once', async (t) => {
      const { address, kept, store } = await opened(t, kind)
      const { tenantId } = await addTenant(store)
      const outs = await Promise.all(
        [0, 1, 2].map((i) => runChild(LOG_HUNDRED, kind.name, String(address), tenantId, String(i))),
      )
      t.equal(
        outs.map(Number).reduce((sum, replays) => sum + replays),
        200,
      )
      const { logs, prospects } = await kept()
      t.strictSame([logs.length, prospects.length], [100, 10])
    })

    if (kind.name === 'sqlite') return
    t.test('versions that another claim has locked are skipped, not waited for', async (t) => {
      const { store, address } = await opened(t, kind)
      const group = someGroup(await addTenant(store))
      await store.pageGroups.add(group)
      const pages = Array.from({ length: 6 }, (_, ms) => somePage(group, { createdAt: at(ms) }))
      for (const page of pages) await store.pages.record(page)
      const claimed = async () => ids(await store.versions.claim(someClaim({ now: at(100), max: 3 })))
      const sql = openPostgres(String(address), { max: 1 })
      t.teardown(() => sql.end())
      await sql.unsafe('begin')
      await sql.unsafe('select 1 from page_versions order by claimable_at limit 3 for update')
      t.strictSame(await claimed(), ids(pages.slice(3)))
      await sql.unsafe('rollback')
      t.strictSame(await claimed(), ids(pages.slice(0, 3)))
    })
    t.test('logs and blocks that another worker is deleting are skipped, not waited for', async (t) => {
      const { store, address } = await opened(t, kind)
      const { tenantId } = await addTenant(store)
      const bob = someProspect(tenantId)
      const logs = Array.from({ length: 4 }, () => someLog(bob))
      await recordAll(store.activities, [bob], logs)
      for (const email of ['a@x', 'b@x', 'c@x', 'd@x']) {
        const erasures = [someErasure(tenantId)]
        const identifier = emailIdentifier(tenantId, email)
        await store.erasures.record({
          tenantId,
          now: at(0),
          until: at(0),
          prospects: [],
          identifier,
          erasures,
        })
      }
      const claimed = await store.erasures.claim(someClaim({ now: at(0) }))
      const completed = { status: 'completed', completedAt: at(0), claimableAt: at(0) } as const
      const steps = claimed.map((erasure) => ({ ...erasure, ...completed }))
      await store.erasures.settle(tenantId, steps)
      const beforeLogId = newId('prospectlog')
      const expire = () => store.erasures.expire({ tenantId, now: at(1), beforeLogId, max: 2 })
      const sql = openPostgres(String(address), { max: 1 })
      t.teardown(() => sql.end())
      const left = async () => {
        const [row] = await sql.unsafe<{ blocks: number; logs: number }[]>(`
          select (select count(*)::int from identifiers) as blocks, (select count(*)::int from prospect_logs) as logs`)
        return [row?.blocks, row?.logs]
      }
      await sql.unsafe('begin')
      await sql.unsafe('select 1 from prospect_logs order by prospect_log_id limit 2 for update')
      await sql.unsafe('select 1 from identifiers where blocked_until is not null limit 2 for update')
      t.equal(await expire(), true)
      t.strictSame(await left(), [2, 2])
      await sql.unsafe('rollback')
      await expire()
      t.strictSame(await left(), [0, 0])
    })
  },
  ['sqlite', 'postgres', 'instance'],
)

const ids = (versions: readonly { readonly versionId: string }[]) =>
  versions.map(({ versionId }) => versionId).sort()

/** A process that logs a hundred activities one after another, from a separate place, and returns how many it replayed. */
const LOG_HUNDRED = `
  const { createRuntime } = await import('${sourceUrl('compose/service.ts')}')
  const { composeUseCases } = await import('${sourceUrl('service/use-cases.ts')}')
  const { readConfig } = await import('${sourceUrl('config/config.ts')}')
  const { createLog } = await import('${sourceUrl('adapters/log.ts')}')
  const [kind, address, tenantId, first] = process.argv.slice(1)
  const config = readConfig({ DATABASE_URL: kind === 'sqlite' ? 'sqlite:' + address : address })
  const world = await createRuntime(config, createLog('silent'))
  const { logProspectActivity } = composeUseCases({ ...world, requireIdentity: false, prospectsRememberedMax: 100 })
  let replays = 0
  for (let i = 0; i < 100; i++) {
    const n = (i + Number(first) * 33) % 100
    const payload = { rawJson: JSON.stringify({ n }) }
    const email = n % 10 + '@example.com'
    const activity = { tenantId, source: 'crm', type: 'webhook', payload, email, idempotencyKey: 'key ' + n }
    if ((await logProspectActivity(activity)).replayed) replays++
  }
  await world.store.close()
  console.log(replays)`
