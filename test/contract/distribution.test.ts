import { readFileSync } from 'node:fs'
import t from 'tap'
import { createPagesWithVersion } from '../../src/core/create-page-with-version.ts'
import { logProspectActivities } from '../../src/core/log-prospect-activity.ts'
import type { Store } from '../../src/core/ports.ts'
import { addTenant, at, newId, someClaim, someGroup, someKey } from '../support/rows.ts'
import { postgresSchemaLines } from '../support/schema.ts'
import { stoppedClock } from '../support/setting.ts'
import { opened, overStores } from '../support/stores.ts'
import { EVERYWHERE, tenancyFaults } from '../support/tenancy.ts'

const CITUS = readFileSync(new URL('../../sql/citus.sql', import.meta.url), 'utf8')

overStores(
  async (t, kind) => {
    t.test('sql/citus.sql places every table once', async (t) => {
      const { address } = await opened(t, kind)
      const tables = [...new Set((await postgresSchemaLines(String(address))).map(({ table }) => table))]
      const placed = (by: string) =>
        [...CITUS.matchAll(new RegExp(`^select create_${by}_table\\('(\\w+)'`, 'gm'))].map(([, name]) => name)
      t.strictSame(placed('reference').sort(), EVERYWHERE.toSorted())
      t.strictSame([...placed('reference'), ...placed('distributed')].sort(), tables.sort())
      t.equal(
        CITUS.match(/^select create_distributed_table\('\w+', 'tenant_id'/gm)?.length,
        placed('distributed').length,
      )
    })

    t.test('no statement that serves a request or the publisher leaves its tenant unasked', async (t) => {
      const { store, address, statements } = await opened(t, kind)
      const tables = [...new Set((await postgresSchemaLines(String(address))).map(({ table }) => table))]
      const groups = [someGroup(await addTenant(store)), someGroup(await addTenant(store))] as const
      for (const group of groups) await store.pageGroups.add(group)
      const before = statements()?.length ?? 0
      await serveAll(store, groups)
      const sent = [
        ...new Set(
          statements()
            ?.slice(before)
            .map(({ text }) => text),
        ),
      ]
      t.ok(sent.length >= 12, `${sent.length} statements`)
      for (const text of sent) t.strictSame(tenancyFaults(text, tables), [], text)
    })
  },
  ['postgres'],
)

type Groups = readonly [ReturnType<typeof someGroup>, ReturnType<typeof someGroup>]

/** Every verb that serves a request or the publisher, each for two tenants at once. */
const serveAll = async (store: Store, groups: Groups): Promise<void> => {
  const deps = { store, clock: stoppedClock(), newId }
  const { pages, pageGroups, versions, apiKeys } = store
  const log = logProspectActivities(deps)
  const activities = groups.map(({ tenantId }) => ({
    ...{ tenantId, source: 'crm', type: 'webhook', payload: { rawJson: '{}' } },
    ...{ email: 'ada@example.com', idempotencyKey: 'one' },
  }))
  await log(activities)
  const create = createPagesWithVersion(deps)
  await create(groups.map((group) => ({ ...group, idempotencyKey: 'one' })))
  await create(groups.map((group) => ({ ...group, idempotencyKey: 'one' })))
  const slice = { beforeId: null, rowsMax: 21, namesBytesMax: 1_000 }
  await pageGroups.list(groups.map((group) => ({ ...group, ...slice, status: null })))
  await pageGroups.list(groups.map((group) => ({ ...group, ...slice, status: 'active' })))
  await pages.list(groups.map((group) => ({ ...group, ...slice })))
  await pages.find(groups.map((group) => ({ ...group, pageId: newId('page') })))
  const claimed = await versions.claim(someClaim())
  for (const { tenantId, pageGroupId, pageId, versionId, attempt } of claimed) {
    await versions.context({ tenantId, pageGroupId, pageId })
    const settled = {
      pageId,
      versionId,
      attempt,
      status: 'published',
      at: at(1),
      computedName: 'Named',
    } as const
    await versions.settle(tenantId, [settled])
  }
  const key = someKey(groups[0].tenantId)
  await apiKeys.add(key)
  await apiKeys.findByHash(key.keyHash)
  await apiKeys.markUsed(key.apiKeyId, at(1))
}

t.test('the guard sees what it guards against', async (t) => {
  const tables = ['tenants', 'pages', 'page_versions', 'prospects']
  const wrong = [
    'select page_id from pages where page_id = $1',
    'select p.page_id from pages p where p.page_id = $1',
    'select * from pages p join page_versions v on v.tenant_id = p.tenant_id',
    'select * from page_versions v join pages p on p.tenant_id = $1 and p.page_id = v.page_id',
    'select 1 from unnest($1::text[]) as want (page_id) join pages p on p.page_id = want.page_id',
    'select 1 from unnest($1::text[]) as want (page_id) join pages p on p.tenant_id = want.tenant_id',
    'select 1 from unnest($1::text[]) as want (tenant_id) cross join lateral (select * from pages p where p.tenant_id = want.tenant_id limit 1) p',
    'select 1 from pages p where (p.tenant_id = $1 or true) and p.page_id = $2',
    'select 1 from pages p where p.tenant_id = $1 union all select 1 from pages p where p.page_id = $2',
    "update page_versions set attempts = 1 where status = 'processing'",
    "select 1 from page_versions where status = 'processing' and claimable_at <= $1 limit 1 for update skip locked",
    'update pages p set updated_at = now() where p.tenant_id = $1',
    'insert into pages (tenant_id, page_id) select page_id, tenant_id from unnest($1::text[], $2::text[]) as a (tenant_id, page_id)',
    'insert into prospects (tenant_id, name) select tenant_id, name from pages',
    'insert into prospects (tenant_id, name) select tenant_id, name from unnest($1::text[]) as a (tenant_id, name) on conflict (name) do nothing',
    'delete from only pages',
  ]
  for (const text of wrong) t.ok(tenancyFaults(text, tables).length > 0, text)
  const right = [
    'select 1 from tenants',
    'select 1 from pages p where p.tenant_id = $1 and exists (select 1 from page_versions v where v.tenant_id = p.tenant_id)',
    'select 1 from unnest($1::text[], $2::text[]) as want (tenant_id, page_id) join pages p on p.tenant_id = want.tenant_id and p.page_id = want.page_id',
  ]
  for (const text of right) t.strictSame(tenancyFaults(text, tables), [], text)
})
