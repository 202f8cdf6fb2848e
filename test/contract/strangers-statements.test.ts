import t from 'tap'
import { readMigrations } from '../../src/adapters/read-migrations.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { preparedFrom } from '../support/prepared.ts'
import { opened, overStores } from '../support/stores.ts'
import { EVERYWHERE, embeddedTenancyFaults, tenancyFaults } from '../support/tenancy.ts'
import { fillTenant, verbs } from '../support/verbs.ts'

const GROWING = [
  'brands',
  'prospects',
  'prospect_logs',
  'page_groups',
  'page_counts',
  'pages',
  'page_versions',
]
const TABLES = [...EVERYWHERE, ...GROWING]

overStores(
  async (t, kind) => {
    const { store, address, statements } = await opened(t, kind)
    const things = await fillTenant(store)

    for (const verb of verbs.filter(({ serves }) => serves !== 'commands'))
      t.test(`every statement of ${verb.name} names the tenant of each table that grows`, async (t) => {
        const prepared = preparedFrom(t)
        const sentBefore = statements()?.length ?? 0
        // A store of its own has nothing prepared yet.
        const asked =
          kind.name === 'sqlite'
            ? sqliteStore({ path: String(address), busyMsMax: 5_000 }, readMigrations('sqlite'))
            : store
        if (asked !== store) t.teardown(asked.close)
        await verb.ask(asked, things.tenant, things)
        const texts = [...prepared, ...(statements() ?? []).slice(sentBefore).map(({ text }) => text)].filter(
          (text) => TABLES.some((table) => new RegExp(`\\b${table}\\b`).test(text)),
        )
        t.ok(texts.length > 0)
        const faultsIn = kind.name === 'sqlite' ? embeddedTenancyFaults : tenancyFaults
        for (const text of texts)
          if ('noTenant' in verb && kind.name === 'sqlite') t.pass(verb.noTenant)
          else t.strictSame(faultsIn(text, TABLES), [], text)
      })
  },
  ['sqlite', 'postgres'],
)

t.test('the guard of embedded statements sees what it guards against', async (t) => {
  const wrong = [
    'select page_id from pages where page_id = ?',
    'select p.page_id from pages p where p.page_id = ? and tenant_id = p.tenant_id',
    'select 1 from pages p join page_versions v on v.page_id = p.page_id where p.tenant_id = ?',
    'select 1 from pages p join page_versions v on v.tenant_id = p.tenant_id where p.page_id = ?',
    'select 1 from pages p join page_versions v on v.tenant_id = v.tenant_id where p.tenant_id = ?',
    'select 1 from pages where tenant_id = ? or page_id = ?',
    'select 1 from pages where tenant_id = ? union select 1 from pages',
    'update pages set computed_name = ? where page_id = ?',
    'insert into pages (page_id, tenant_id) values (?, ?)',
    'insert into pages (tenant_id, page_id) select tenant_id, page_id from prospects',
    'delete from pages',
  ]
  for (const text of wrong) t.ok(embeddedTenancyFaults(text, TABLES).length > 0, text)
  const right = [
    'select 1 from tenants',
    'select 1 from pages where tenant_id = ? and page_id = ?',
    'select 1 from pages p join page_versions v on v.tenant_id = p.tenant_id where p.tenant_id = ?',
    'update pages set computed_name = ? where tenant_id = ? and page_id = ?',
    'insert into pages (tenant_id, page_id) values (?, ?)',
  ]
  for (const text of right) t.strictSame(embeddedTenancyFaults(text, TABLES), [], text)
})
