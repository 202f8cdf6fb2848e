import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { move } from '../../src/maintenance/move.ts'
import { sqliteSource } from '../../src/maintenance/move-from-sqlite.ts'
import { postgresTarget } from '../../src/maintenance/move-to-postgres.ts'
import { fillSource, postgresRows, sqliteRows } from '../support/moving.ts'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import { embeddedDatabase, newFolder } from '../support/program.ts'
import { addTenant, at, recordAll, someGroup, someLog, somePage, someProspect } from '../support/rows.ts'

t.setTimeout(0)

/** A file with rows of every kind; Ada's two activities, one of a prospect who was merged into her, and the pages of a group that is shown and of one that is deleted. */
const setting = async (t: Test) => {
  const path = join(newFolder(t), 'test.db')
  await fillSource(path)
  const store = sqliteStore({ path, busyMsMax: 5_000 }, readMigrations('sqlite'))
  const tenant = await addTenant(store)
  const ada = someProspect(tenant.tenantId, { name: 'Ada' })
  const first = someLog(ada, {
    payload: { rawJson: '{ "big":12345678901234567890 }' },
    createdProspect: true,
  })
  const merged = someProspect(tenant.tenantId)
  const second = someLog(merged, { occurredAt: at(-1_000), createdProspect: true })
  await recordAll(store.activities, [ada, merged], [first, second])
  const shown = someGroup(tenant, { name: 'spring', title: 'Spring' })
  const deleted = someGroup(tenant)
  for (const group of [shown, deleted]) await store.pageGroups.add(group)
  const published = somePage(shown, { customName: 'Tulips' })
  const pages = [published, somePage(shown, { customName: '  ', computedName: 'Roses' }), somePage(deleted)]
  for (const page of pages) await store.pages.record(page)
  await store.close()
  const { versionId, pageId } = published
  const file = new DatabaseSync(path)
  file.exec(`
    update prospects set merged_into = '${ada.prospectId}' where prospect_id = '${merged.prospectId}';
    update page_versions set status = 'published', published_at = '${at(5)}' where version_id = '${versionId}';
    update pages set published_version_id = '${versionId}', published_at = '${at(5)}' where page_id = '${pageId}';
    update page_groups set status = 'archived' where page_group_id = '${shown.pageGroupId}';
    update page_groups set status = 'deleted', deleted_at = '${at(9)}' where page_group_id = '${deleted.pageGroupId}'`)
  file.close()
  return { path, tenantId: tenant.tenantId, ada, first, published, ...embeddedDatabase(path) }
}

t.test('the views show activities, people and pages with named columns', async (t) => {
  const { rows, tenantId, ada, first, published } = await setting(t)
  const of = (view: string, order: string) =>
    rows(`select * from ${view} where tenant_id = '${tenantId}' order by ${order}`)
  const logs = await of('v_prospect_logs', 'prospect_log_id')
  t.equal(logs.length, 2)
  t.strictSame(
    { ...logs[0] },
    {
      tenant_id: tenantId,
      prospect_log_id: first.prospectLogId,
      prospect_id: ada.prospectId,
      source: first.source,
      type: first.type,
      email: null,
      external_id: null,
      name: null,
      idempotency_key: null,
      created_prospect: 1,
      occurred_at: first.occurredAt,
      created_at: first.createdAt,
      payload: '{ "big":12345678901234567890 }',
    },
  )
  t.equal(logs[1]?.['occurred_at'], at(-1_000), 'a time is ISO 8601 text')
  t.equal(logs[1]?.['prospect_id'], ada.prospectId, 'a log of a merged prospect names the survivor')
  const { tenantId: tenant_id, prospectId: prospect_id, createdAt: created_at, updatedAt: updated_at } = ada
  t.same(await of('v_prospects', '1'), [
    {
      tenant_id,
      prospect_id,
      email: null,
      external_id: null,
      name: 'Ada',
      created_at,
      updated_at,
      attributes: null,
    },
  ])
  const [tulips, roses, ...others] = await of('v_pages', 'effective_name desc')
  t.same(tulips, {
    tenant_id: tenantId,
    page_group_id: published.pageGroupId,
    page_group_name: 'spring',
    page_group_title: 'Spring',
    page_group_status: 'archived',
    page_id: published.pageId,
    effective_name: 'Tulips',
    published_version_id: published.versionId,
    published_version_number: 1,
    published_at: at(5),
    created_at: at(0),
    updated_at: at(0),
  })
  t.match(roses, { effective_name: 'Roses', published_version_id: null, published_version_number: null })
  t.strictSame(others, [], 'the page of a deleted group is absent')
})

t.test('an erased person is absent, and so are the activities that are still to be removed', async (t) => {
  const { rows } = await setting(t)
  const erased = `select prospect_id from prospects where erased_at is not null`
  const left = (table: string) => rows(`select 1 from ${table} where prospect_id in (${erased})`)
  t.ok((await left('prospect_logs')).length > 0)
  t.strictSame(await left('v_prospect_logs'), [])
  t.strictSame(await left('v_prospects'), [])
})

t.test(
  'PostgreSQL shows the same rows with the same values',
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const { path } = await setting(t)
    const server = await sharedPostgres()
    t.teardown(server.stop)
    const url = await server.newDatabase()
    const source = sqliteSource(path, readMigrations('sqlite'))
    const target = postgresTarget(url, readMigrations('postgres'), () => {})
    t.teardown(target.close)
    await move(source, target, () => {})
    source.close()
    const shown = await sqliteRows(path, 'view')
    t.strictSame(Object.keys(shown), ['v_pages', 'v_prospect_logs', 'v_prospects'])
    for (const list of Object.values(shown)) t.ok(list.length > 2)
    t.strictSame(await postgresRows(url, 'view'), shown)
  },
)
