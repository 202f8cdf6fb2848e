import { ONE_PLAN, openPostgres, type Sql } from '../../src/adapters/postgres/connect.ts'
import { readMigrations } from '../../src/adapters/read-migrations.ts'
import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { createPagesWithVersion } from '../../src/core/create-page-with-version.ts'
import { logProspectActivities, type NewActivity } from '../../src/core/log-prospect-activity.ts'
import type { IdPrefix, PageGroupsWant, PagesWant, PageWant, Store } from '../../src/core/ports.ts'
import type { VersionStatus } from '../../src/shapes/page.ts'
import type { PageGroupStatus } from '../../src/shapes/page-group.ts'
import { preparedFrom } from '../support/prepared.ts'
import { addTenant, at, newId, someGroup, somePage } from '../support/rows.ts'
import { stoppedClock } from '../support/setting.ts'
import { opened, overStores, type Sent, type TestedStore } from '../support/stores.ts'

/** Tables that grow with use; page groups are fewer, but a tenant may have thousands. */
const GROWING = ['prospects', 'prospect_logs', 'page_groups', 'page_counts', 'pages', 'page_versions']

overStores(
  async (t, kind) => {
    t.test('one activity alone costs two statements, and two hundred together the same two', async (t) => {
      const tested = await opened(t, kind)
      const log = logProspectActivities({ ...tested, clock: stoppedClock(), newId })
      const activities = activitiesOf(newId('tenant'))
      t.equal((await sentBy(tested, () => log(activities.slice(0, 1)))).length, 2)
      t.equal((await sentBy(tested, () => log(activities))).length, 2)
      const [prospect] = (await tested.kept()).prospects
      const own = { email: undefined, idempotencyKey: undefined, prospectId: prospect?.prospectId }
      const byId = activities.map((activity) => ({ ...activity, ...own }))
      t.equal((await sentBy(tested, () => log(byId))).length, 2)
      t.equal((await sentBy(tested, () => log(activities))).length, 1, 'replays are only looked up')
    })

    t.test('one page created costs two statements, and two hundred together the same two', async (t) => {
      const tested = await opened(t, kind)
      const create = createPagesWithVersion({ ...tested, clock: stoppedClock(), newId })
      const group = someGroup(await addTenant(tested.store))
      await tested.store.pageGroups.add(group)
      const pages = Array.from({ length: 200 }, (_, i) => ({ ...group, idempotencyKey: `${i}` }))
      t.equal((await sentBy(tested, () => create(pages.slice(0, 1)))).length, 2)
      t.equal((await sentBy(tested, () => create(pages))).length, 2)
    })

    t.test(
      'a list of page groups is one statement, and two where filtered and unfiltered meet',
      async (t) => {
        const tested = await opened(t, kind)
        const { tenantId } = await addTenant(tested.store)
        const list = (...statuses: PageGroupsWant['status'][]) =>
          sentBy(tested, () =>
            tested.store.pageGroups.list(
              statuses.map((status) => ({
                tenantId,
                status,
                beforeId: null,
                limit: 21,
              })),
            ),
          )
        t.equal((await list(null)).length, 1)
        t.equal((await list('active')).length, 1)
        t.equal((await list(...Array(200).fill(null))).length, 1)
        t.equal((await list('active', 'archived', 'deleted')).length, 1)
        t.equal((await list(null, 'archived', null, 'deleted')).length, 2)
      },
    )

    t.test('a list of pages and a read of a page are one statement each, however many at once', async (t) => {
      const tested = await opened(t, kind)
      const { pages } = tested.store
      const want = { ...someGroup(await addTenant(tested.store)), pageId: newId('page') }
      const slice = { ...want, beforeId: null, limit: 21 }
      t.equal((await sentBy(tested, () => pages.list([slice]))).length, 1)
      t.equal((await sentBy(tested, () => pages.list(Array(200).fill(slice)))).length, 1)
      t.equal((await sentBy(tested, () => pages.find([want]))).length, 1)
      t.equal((await sentBy(tested, () => pages.find(Array(200).fill(want)))).length, 1)
    })

    t.test('a text is sent the same however long the list, so that it is prepared once', async (t) => {
      const tested = await opened(t, kind)
      const log = logProspectActivities({ ...tested, clock: stoppedClock(), newId })
      const activities = activitiesOf(newId('tenant'))
      const sent = await sentBy(tested, async () => {
        for (const length of [1, 2, 20]) await log(activities.splice(0, length))
      })
      t.equal(new Set(sent.map(({ text }) => text)).size, 2)
    })

    for (const { title, early, late } of [
      { title: 'never analysed', early: '', late: '' },
      { title: 'analysed', early: '', late: 'analyze' },
      { title: 'analysed when it was nearly empty', early: 'analyze', late: '' },
    ])
      t.test(`in a full database, ${title}, only what is answered is read`, async (t) => {
        const tested = await opened(t, kind)
        const sql = openPostgres(String(tested.address), { max: 1, onnotice: () => {} })
        t.teardown(() => sql.end())
        await keepStatistics(sql)
        await fill(sql, early, late)
        const found: string[] = []
        for (const { name, act, rowsMax, undo } of actsOn(tested.store, WANTED)) {
          const statements = await sentBy(tested, act)
          if (undo !== undefined) await sql.unsafe(undo)
          for (const sent of statements) {
            const faults = (await plansOf(sql, sent)).map((plan) => faultsOf(plan, rowsMax))
            const first = faults.findIndex((faults) => faults.length > 0)
            if (first >= 0)
              found.push(`${name}, ${['our', 'first', 'later'][first]} plan: ${faults[first]?.join('; ')}`)
          }
        }
        t.strictSame(found, [])
      })

    t.test('a plan made while the tables were empty walks along indexes once they are full', async (t) => {
      const tested = await opened(t, kind)
      const sql = openPostgres(String(tested.address), { max: 1, onnotice: () => {}, connection: ONE_PLAN })
      t.teardown(() => sql.end())
      await keepStatistics(sql)
      const names = new Map<string, string>()
      const executed = ({ text, parameters }: Sent) => executionOf(names.get(text) ?? '', parameters)
      for (const { act } of actsOn(tested.store, WANTED))
        for (const sent of await sentBy(tested, () => act().catch(() => 'not there yet')))
          if (!names.has(sent.text)) {
            names.set(sent.text, `old_${names.size}`)
            await sql.unsafe(`prepare ${names.get(sent.text)} as ${sent.text}`)
            await explained(sql, executed(sent))
          }
      t.ok(names.size >= 8)
      await fill(sql, '', '')
      const found: string[] = []
      for (const { name, act, rowsMax, undo } of actsOn(tested.store, WANTED)) {
        const statements = await sentBy(tested, act)
        if (undo !== undefined) await sql.unsafe(undo)
        for (const sent of statements.filter(({ text }) => names.has(text))) {
          const faults = faultsOf(await explained(sql, executed(sent)), rowsMax)
          if (faults.length > 0) found.push(`${name}: ${faults.join('; ')}`)
        }
      }
      t.strictSame(found, [])
    })
  },
  ['postgres'],
)

overStores(
  async (t, kind) => {
    t.test('every statement of a list, a read or a look-up walks an index and sorts nothing', async (t) => {
      const { store, address } = await opened(t, kind)
      const group = someGroup(await addTenant(store))
      await store.pageGroups.add(group)
      const { tenantId, pageGroupId } = group
      await store.pages.record([somePage(group, { pageId: PAGE })])
      const seen = preparedFrom(t)
      const wanted = {
        tenantId,
        strangerId: newId('tenant'),
        small: pageGroupId,
        big: pageGroupId,
        empty: pageGroupId,
      }
      const fresh = sqliteStore({ path: String(address), busyMsMax: 5_000 }, readMigrations('sqlite'))
      t.teardown(fresh.close)
      for (const { act } of actsOn(fresh, wanted)) await act()
      const statements = [...seen].filter((sql) => /^\s*(select|update)/.test(sql))
      t.ok(statements.length >= 10)
      const database = openDatabase(String(address), 5_000)
      t.teardown(database.close)
      for (const sql of statements) {
        const steps = database
          .all<{ detail: string }>(`explain query plan ${sql}`)
          .map(({ detail }) => detail)
        t.ok(steps.length > 0)
        // Some versions make a Bloom filter of a list as they read it: no step over a table.
        t.strictSame(
          steps.filter((step) => !/^(SEARCH|LIST SUBQUERY|SCALAR SUBQUERY|CREATE BLOOM FILTER$)/.test(step)),
          [],
          sql,
        )
      }
    })
  },
  ['sqlite'],
)

const sentBy = async ({ statements }: TestedStore, act: () => Promise<unknown>): Promise<readonly Sent[]> => {
  const before = statements()?.length ?? 0
  await act()
  return statements()?.slice(before) ?? []
}

const activitiesOf = (tenantId: string): NewActivity[] =>
  Array.from({ length: 200 }, (_, i) => ({
    tenantId,
    source: 'crm',
    type: 'webhook',
    payload: { rawJson: '{}' },
    email: `${i}@example.com`,
    name: `Number ${i}`,
    idempotencyKey: `key ${i}`,
  }))

/* What is asked of a full database */

type Wanted = {
  readonly tenantId: string
  readonly strangerId: string
  /** Three page groups: of a few old pages, of very many newer ones, of none. */
  readonly small: string
  readonly big: string
  readonly empty: string
}
type Act = {
  readonly name: string
  readonly act: () => Promise<unknown>
  /** No step of a plan may read more rows than this. */
  readonly rowsMax: number
  /** Makes it possible to do it again. */
  readonly undo?: string
}

const idAt = (prefix: IdPrefix, number: number): string => `${prefix}_${String(number).padStart(26, '0')}`
const PAGE = idAt('page', 7)
const SLICE_ROWS = 21
const MANY = 20
/** As many as one list holds when the service is busy; tables of this size may be read as a whole then, but once. */
const LIST = 200
const TABLE_ROWS = 60_000
/** Versions that wait for a publisher. */
const WAITING = 3_000
const FIRST_WAITING = 31_001

const UNSETTLE = `
  update page_versions set status = 'processing', published_at = null
  where version_id >= '${idAt('pageversion', FIRST_WAITING)}'
    and version_id < '${idAt('pageversion', FIRST_WAITING + LIST)}'`

/** Every read that serves callers or the publisher, alone and gathered. */
const actsOn = ({ activities, pageGroups, pages, versions }: Store, wanted: Wanted): readonly Act[] => {
  const { tenantId, strangerId, small, big, empty } = wanted
  const groupWants: PageGroupsWant[] = [null, 'active', 'archived', 'deleted'].flatMap((status) =>
    [tenantId, strangerId].flatMap((tenantId) =>
      [null, idAt('pagegroup', 1_500)].map((beforeId) => ({
        ...{ tenantId, beforeId, limit: SLICE_ROWS - 1 },
        status: status as PageGroupsWant['status'],
      })),
    ),
  )
  const pagesWants: PagesWant[] = [small, big, empty].flatMap((pageGroupId) =>
    [null, idAt('page', 20), idAt('page', 30_000)].map((beforeId) => ({
      ...{ tenantId, pageGroupId, beforeId },
      limit: SLICE_ROWS - 1,
    })),
  )
  const pageWants: PageWant[] = [small, big, empty].flatMap((pageGroupId) =>
    [PAGE, idAt('page', 2_000), idAt('page', 9_999_999)].map((pageId) => ({ tenantId, pageGroupId, pageId })),
  )
  const cycled = <Want>(wants: readonly Want[], count: number) =>
    Array.from({ length: count }, (_, i) => wants[i % wants.length] as Want)
  const recallPages = (count: number) =>
    pages.recall({
      groups: cycled([small, big], count).map((pageGroupId) => ({ tenantId, pageGroupId })),
      keys: cycled([small, big], count).map((pageGroupId, i) => ({
        ...{ tenantId, pageGroupId },
        idempotencyKey: `key ${2_000 + i}`,
      })),
    })
  const contexts = (count: number) =>
    versions.contexts(
      tenantId,
      cycled([small, big], count).map((pageGroupId, i) => ({
        pageGroupId,
        pageId: idAt('page', 20 + 600 * i),
      })),
    )
  const claim = (max: number) => versions.claim({ now: at(0), until: at(0), max })
  const recall = (count: number) => {
    const numbers = Array.from({ length: count }, (_, i) => 500 + i * 11)
    return activities.recall({
      prospects: numbers.map((n) => ({ tenantId, prospectId: idAt('prospect', n) })),
      emails: numbers.map((n) => ({ tenantId, emailHash: emailHashOf(n) })),
      keys: numbers.map((n) => ({ tenantId, source: 'crm', idempotencyKey: `key ${n}` })),
    })
  }
  const settle = (count: number) =>
    versions.settle(
      tenantId,
      Array.from({ length: count }, (_, i) => ({
        pageId: idAt('page', FIRST_WAITING + i),
        versionId: idAt('pageversion', FIRST_WAITING + i),
        attempt: 0,
        status: 'published',
        at: at(0),
        computedName: 'Named',
      })),
    )
  const listedGroups = groupWants.map((want) => ({
    name: `page groups ${want.status} of ${want.tenantId} before ${want.beforeId}`,
    act: () => pageGroups.list([want]),
    rowsMax: SLICE_ROWS,
  }))
  const listedPages = pagesWants.map((want) => ({
    name: `pages of ${want.pageGroupId} before ${want.beforeId}`,
    act: () => pages.list([want]),
    rowsMax: SLICE_ROWS,
  }))
  const readPages = pageWants.map((want) => ({
    name: `the page ${want.pageId} of ${want.pageGroupId}`,
    act: () => pages.find([want]),
    rowsMax: 1,
  }))
  const together = [MANY, LIST].flatMap((count) =>
    [
      { name: 'lists of groups', act: () => pageGroups.list(cycled(groupWants, count)), each: SLICE_ROWS },
      { name: 'lists of pages', act: () => pages.list(cycled(pagesWants, count)), each: SLICE_ROWS },
      { name: 'reads of pages', act: () => pages.find(cycled(pageWants, count)), each: 1 },
      { name: 'activities recalled', act: () => recall(count), each: 1 },
      { name: 'pages recalled', act: () => recallPages(count), each: 1 },
      { name: 'versions settled', act: () => settle(count), each: 1, undo: UNSETTLE },
    ].map(({ each, ...act }) => ({
      ...act,
      name: `${count} ${act.name}`,
      rowsMax: count === LIST ? TABLE_ROWS : count * each,
    })),
  )
  return [
    ...listedGroups,
    ...listedPages,
    ...readPages,
    ...together,
    { name: 'what a namer needs', act: () => contexts(1), rowsMax: 1 },
    { name: 'an activity recalled', act: () => recall(1), rowsMax: 1 },
    { name: 'a page recalled', act: () => recallPages(1), rowsMax: 1 },
    { name: 'a group found by its id', act: () => pageGroups.find(big), rowsMax: 1 },
    { name: 'a version settled', act: () => settle(1), rowsMax: 1, undo: UNSETTLE },
    // PostgreSQL may look at all that waits, to find what has waited longest; not at what is published.
    { name: 'versions claimed', act: () => claim(MANY), rowsMax: WAITING },
    { name: 'many versions claimed', act: () => claim(LIST), rowsMax: TABLE_ROWS },
  ]
}

const emailHashOf = (number: number): string => `${number}`.padStart(43, '0')

/* Filling it */

const OURS = 'tenant_ours'
const THEIRS = 'tenant_theirs'
const WANTED: Wanted = {
  tenantId: OURS,
  strangerId: THEIRS,
  small: idAt('pagegroup', 1),
  big: idAt('pagegroup', 2),
  empty: idAt('pagegroup', 3),
}

/**
 * Skewed on purpose: of our groups the newest thousands are deleted; another tenant's many groups, prospects and logs
 * and another group's 30,000 pages are newer than ours; a few thousand versions wait.
 */
const fill = async (sql: Sql, early: string, late: string): Promise<void> => {
  for (const tenant of [OURS, THEIRS]) {
    await sql.unsafe(`insert into tenants values ('${tenant}', 'Acme', now())`)
    await sql.unsafe(`insert into brands values ('${tenant}', 'brand_${tenant}', 'Acme', now())`)
  }
  const { small, big } = WANTED
  await groups(sql, OURS, 1, 60, 'active')
  await pagesOf(sql, OURS, small, 1, 50, 'published')
  await people(sql, OURS, 1, 50)
  await sql.unsafe(early)
  await groups(sql, OURS, 1_000, 6_000, 'deleted')
  await groups(sql, OURS, 6_001, 6_030, 'archived')
  await groups(sql, THEIRS, 10_000, 30_000, 'active')
  await pagesOf(sql, OURS, big, 1_000, 31_000, 'published')
  await pagesOf(sql, OURS, big, FIRST_WAITING, FIRST_WAITING + WAITING - 1, 'processing')
  await pagesOf(sql, THEIRS, idAt('pagegroup', 10_000), 40_000, 60_000, 'published')
  await people(sql, OURS, 51, 20_000)
  await people(sql, THEIRS, 20_001, 40_000)
  await sql.unsafe(late)
}

/** Nothing looks at the tables, and so changes a plan, but what the test itself does. */
const keepStatistics = async (sql: Sql): Promise<void> => {
  for (const table of GROWING) await sql.unsafe(`alter table ${table} set (autovacuum_enabled = false)`)
}

/** The same as `idAt` in SQL, of `n`. */
const ID = (prefix: IdPrefix): string => `'${prefix}_' || lpad(n::text, 26, '0')`

const groups = async (sql: Sql, tenant: string, from: number, to: number, status: PageGroupStatus) => {
  await sql.unsafe(`
    insert into page_groups (tenant_id, page_group_id, brand_id, name, title, status, actions, footer_links, scripts,
      created_at, updated_at, deleted_at)
    select '${tenant}', ${ID('pagegroup')}, 'brand_${tenant}', 'offers', 'Offers', '${status}', '[]', '[]', '[]',
      now(), now(), ${status === 'deleted' ? 'now()' : 'null'}
    from generate_series(${from}, ${to}) n`)
  await sql.unsafe(`
    insert into page_counts (tenant_id, page_group_id, pages_count)
    select '${tenant}', ${ID('pagegroup')}, 1 from generate_series(${from}, ${to}) n`)
}

const pagesOf = async (
  sql: Sql,
  tenant: string,
  group: string,
  from: number,
  to: number,
  status: VersionStatus,
) => {
  const publishes = status === 'published'
  await sql.unsafe(`
    insert into pages (tenant_id, page_group_id, page_id, computed_name, supplementary_context, published_version_id,
      latest_version_id, idempotency_key, request_hash, created_at, updated_at)
    select '${tenant}', '${group}', ${ID('page')}, 'Name', 'Context', ${publishes ? ID('pageversion') : 'null'},
      ${ID('pageversion')}, 'key ' || n, 'hash', now(), now()
    from generate_series(${from}, ${to}) n`)
  await sql.unsafe(`
    insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number, status, published_at,
      claimable_at, created_at)
    select '${tenant}', ${ID('page')}, ${ID('pageversion')}, '${group}', 1, '${status}',
      ${publishes ? 'now()' : 'null'}, timestamptz '2025-01-01Z' + n * interval '1 ms', now()
    from generate_series(${from}, ${to}) n`)
}

/** Prospects with emails, and a log of each with an idempotency key. */
const people = async (sql: Sql, tenant: string, from: number, to: number) => {
  await sql.unsafe(`
    insert into prospects (tenant_id, prospect_id, email, email_hash, created_at)
    select '${tenant}', ${ID('prospect')}, 'email', lpad(n::text, 43, '0'), now() from generate_series(${from}, ${to}) n`)
  await sql.unsafe(`
    insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, idempotency_key,
      request_hash, created_prospect, created_at)
    select '${tenant}', ${ID('prospectlog')}, ${ID('prospect')}, 'crm', 'webhook', '{"a":1}', 'key ' || n, 'hash', true,
      now()
    from generate_series(${from}, ${to}) n`)
}

/* Looking at plans */

type Plan = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

/** After five executions PostgreSQL may keep one plan for all values; the driver's statements get there. */
const EXECUTIONS = 7

/**
 * How one of our statements is executed: with the one plan that our sessions ask for; and by a planner of its own mind,
 * as behind a pooler, the first time and the last. Prepared as the driver does; nothing is kept.
 */
const plansOf = async (sql: Sql, { text, parameters }: Sent): Promise<readonly Plan[]> => {
  const execute = executionOf('ours', parameters)
  for (const [setting, value] of Object.entries(ONE_PLAN)) await sql.unsafe(`set ${setting} = ${value}`)
  await sql.unsafe(`prepare ours as ${text}`)
  const ours = await explained(sql, execute)
  await sql.unsafe('deallocate ours')
  for (const setting of Object.keys(ONE_PLAN)) await sql.unsafe(`reset ${setting}`)
  await sql.unsafe(`prepare ours as ${text}`)
  const first = await explained(sql, execute)
  for (let execution = 2; execution < EXECUTIONS; execution++) await sql.unsafe(`explain ${execute}`)
  const last = await explained(sql, execute)
  await sql.unsafe('deallocate ours')
  return [ours, first, last]
}

const executionOf = (name: string, parameters: readonly unknown[]): string =>
  `execute ${name} ${parameters.length === 0 ? '' : `(${parameters.map(literal).join(', ')})`}`

/** What an execution does, undone again. */
const explained = async (sql: Sql, execute: string): Promise<Plan> => {
  await sql.unsafe('begin')
  const [row] = await sql.unsafe(`explain (analyze, buffers, timing off, format json) ${execute}`)
  await sql.unsafe('rollback')
  const [[{ Plan }]] = Object.values(row ?? {}) as [[{ Plan: Plan }]]
  return Plan
}

const literal = (value: unknown): string =>
  value === null
    ? 'null'
    : typeof value === 'number'
      ? `${value}`
      : `'${String(value).replaceAll("'", "''")}'`

/** What a plan should not do, in words. */
const faultsOf = (plan: Plan, rowsMax: number): readonly string[] => {
  const nodes = [...nodesOf(plan)]
  const scans = nodes.filter((node) => GROWING.includes(node['Relation Name'] ?? '') && isScan(node))
  const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  const writes = nodes.filter((node) => node['Node Type'] === 'ModifyTable')
  // For each row: down an index and to the row, in each table; into every index where it is written; and some more.
  const blocksMax = rowsMax * (8 * Math.max(1, scans.length) + 16 * writes.length) + 40
  return [
    ...nodes
      .filter((node) => node['Node Type'] === 'Seq Scan' && GROWING.includes(node['Relation Name'] ?? ''))
      .filter(() => rowsMax < TABLE_ROWS)
      .map((node) => `Seq Scan on ${node['Relation Name']}`),
    ...scans
      .filter((node) => rowsRead(node) > rowsMax)
      .map(
        (node) =>
          `${node['Node Type']} on ${node['Relation Name']} reads ${rowsRead(node)} rows of ${rowsMax}`,
      ),
    ...nodes
      .filter((node) => /Sort/.test(node['Node Type']) && rowsRead(node) > rowsMax)
      .map((node) => `${node['Node Type']} of ${rowsRead(node)} rows`),
    ...nodes
      .filter((node) => /Aggregate|Group/.test(node['Node Type']))
      .filter((node) => [...nodesOf(node)].some((below) => below['Relation Name'] === 'pages'))
      .map((node) => `${node['Node Type']} over pages`),
    ...(blocks > blocksMax ? [`${blocks} blocks of ${blocksMax}`] : []),
  ]
}

function* nodesOf(plan: Plan): Generator<Plan> {
  yield plan
  for (const below of plan.Plans ?? []) yield* nodesOf(below)
}

const isScan = (node: Plan): boolean => node['Node Type'].endsWith('Scan')

/** Over all loops, with the rows that were read in vain. */
const rowsRead = (node: Plan): number =>
  ((node['Actual Rows'] ?? 0) +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0)) *
  (node['Actual Loops'] ?? 1)
