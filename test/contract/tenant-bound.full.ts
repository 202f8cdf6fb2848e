import { tablesPlacedBy } from '../../src/adapters/citus/placement.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { fillTenant } from '../store-contract/filled-tenant.ts'
import { verbs } from '../store-contract/verbs.ts'
import { executionOf } from '../support/plans.ts'
import { opened, overStores, type Sent, sentBy } from '../support/stores.ts'

type Plan = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Recheck Cond'?: string
  readonly Filter?: string
  readonly Plans?: readonly Plan[]
}
const bound = (tenantId: string) => [`tenant_id = '${tenantId}'`, `tenant_id = ANY ('{${tenantId}}'`]
/** A tenant, a list of one as the driver writes it, or one in rows. */
const TENANT = /(?:^(?:\{")?|"tenant_id":")(tenant_\w+)/
const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

const BY_TENANT = tablesPlacedBy('the tenant')

overStores(
  async (t, kind) => {
    const tested = await opened(t, kind)
    const { store } = tested
    const sql = openPostgres(String(tested.address), {
      max: 1,
      onnotice: () => {},
      connection: { plan_cache_mode: 'force_custom_plan' },
    })
    t.teardown(() => sql.end())

    /** Signs that a statement would be sent to machines other than the tenant's. */
    const faultsOf = async ({ text, parameters }: Sent, tenantId: string): Promise<readonly string[]> => {
      await sql.unsafe(`prepare ours as ${text}`)
      const [row] = await sql.unsafe(`explain (format json) ${executionOf('ours', parameters)}`)
      await sql.unsafe('deallocate ours')
      const [[{ Plan }]] = Object.values(row ?? {}) as [[{ Plan: Plan }]]
      return nodesOf(Plan)
        .filter((node) => / Scan$/.test(node['Node Type']))
        .filter((node) => BY_TENANT.includes(node['Relation Name'] ?? ''))
        .filter((node) => {
          const conditions = [node['Index Cond'], node['Recheck Cond'], node.Filter].join()
          return !bound(tenantId).some((condition) => conditions.includes(condition))
        })
        .map((node) => `${node['Node Type']} on ${node['Relation Name']} without the tenant`)
    }

    for (const verb of verbs)
      t.test(`${verb.name}: what is asked for a tenant names it for every table`, async (t) => {
        const things = await fillTenant(store)
        // Claimable again.
        await sql`update page_versions set claimable_at = created_at`
        await sql`update erasures set claimable_at = requested_at`
        const sent = await sentBy(tested, () => verb.ask(store, things.tenant, things))
        t.ok(sent.length > 0 || verb.name === 'erasures.purgeDeleted')
        // Other processes are notified a while after a test; what is copied next is asked of the coordinator.
        for (const one of sent.filter(({ text }) => !/pg_notify|not is_copied/.test(text))) {
          const [tenantId] = one.parameters.flatMap((value) => TENANT.exec(String(value))?.[1] ?? [])
          // One that reads no table of a tenant need not name it.
          if (tenantId !== undefined || !('noTenant' in verb))
            t.strictSame(await faultsOf(one, tenantId ?? ''), [], one.text)
        }
      })
  },
  ['tenant-routed'],
)
