import { ONE_PLAN, openPostgres } from '../../src/adapters/postgres/open.ts'
import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { preparedFrom } from '../support/prepared.ts'
import { addTenant, at, someClaim, someGroup, somePage } from '../support/rows.ts'
import { opened, overStores } from '../support/stores.ts'

overStores(async (t, kind) => {
  /** Pages created so many seconds after the start. */
  const setting = async (...seconds: number[]) => {
    const tested = await opened(t, kind)
    const group = someGroup(await addTenant(tested.store))
    await tested.store.pageGroups.add(group)
    for (const s of seconds) await tested.store.pages.record(somePage(group, { createdAt: at(s * 1_000) }))
    return { ...tested, backlog: tested.store.versions.backlog }
  }

  t.test('what is processing is counted up to a bound, with the oldest of it', async (t) => {
    const { backlog } = await setting(30, 10, 20)
    t.strictSame(await backlog(1_000), { count: 3, oldest: at(10_000) })
    t.equal((await backlog(2)).count, 2)
  })

  t.test('what is claimed waits still; what is published does not', async (t) => {
    const { backlog, store } = await setting(10, 20)
    const claim = someClaim({ now: at(10_000) })
    const [version] = await store.versions.claim(claim)
    t.strictSame(await backlog(1_000), { count: 2, oldest: at(10_000) })
    if (version === undefined) throw new Error('nothing was claimed')
    const { tenantId, pageId, versionId, attempt } = version
    const done = { pageId, versionId, attempt, computedName: null }
    await store.versions.settle(tenantId, [{ ...done, status: 'published', at: at(30_000) }])
    t.strictSame(await backlog(1_000), { count: 1, oldest: at(20_000) })
  })

  t.test('where nothing waits there is no oldest', async (t) => {
    const { backlog } = await setting()
    t.strictSame(await backlog(1_000), { count: 0, oldest: null })
  })

  if (kind.name === 'postgres')
    t.test('the plan that it gets on an empty table, too, walks the index of what waits', async (t) => {
      const { backlog, statements, address } = await setting(10)
      const before = statements()?.length ?? 0
      await backlog(1_000)
      const [sent] = statements()?.slice(before) ?? []
      const sql = openPostgres(String(address), { max: 1, onnotice: () => {}, connection: ONE_PLAN })
      t.teardown(() => sql.end())
      await sql.unsafe(`prepare backlog as ${sent?.text}`)
      const plan = (await sql.unsafe('explain execute backlog (1000)'))
        .map((row) => Object.values(row))
        .join('\n')
      t.match(plan, /Index Scan using page_versions_waiting/)
      t.notMatch(plan, /Seq Scan|Sort/)
    })

  if (kind.name === 'sqlite')
    t.test('it walks the index of what waits', async (t) => {
      const { address } = await setting(10)
      const seen = preparedFrom(t)
      const { another } = await setting()
      await (await another()).versions.backlog(1_000)
      const statement =
        [...seen].find((text) => text.includes('select tenant_id, created_at from page_versions')) ?? ''
      const database = openDatabase(String(address), 5_000)
      t.teardown(database.close)
      const steps = database.all<{ detail: string }>(`explain query plan ${statement}`)
      const details = steps.map(({ detail }) => detail).join('\n')
      t.match(details, /USING INDEX page_versions_waiting/)
      t.notMatch(details, /TEMP B-TREE/)
    })
})
