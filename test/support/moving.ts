import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { embeddedDatabase } from './program.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  at,
  emailIdentifier,
  foundProspect,
  identifiersOf,
  keyFields,
  logChangeOf,
  newId,
  recordAll,
  someClaim,
  someEndpoint,
  someErasure,
  someEvent,
  someGroup,
  someHook,
  someKey,
  someLog,
  somePage,
  someProspect,
} from './rows.ts'
import { NOT_MOVED_COLUMNS } from './schema.ts'

/** Payloads that parsing and writing again would change. */
const EXACT_PAYLOADS = [
  '{ "n" : 12345678901234567890, "big":1e131071,\n"twice":1,"twice":2 }',
  '{"nul":"\\u0000","lone":"\\ud800","escaped":"\\u00e9\\/"}',
  `{"texts":${JSON.stringify(AWKWARD_TEXTS)}}`,
]

/** Attributes that parsing and writing again would change. */
const EXACT_ATTRIBUTES = '{"n":12345678901234567890,"__proto__":1.0,"\\u00e9":"\\u00e9\\/"}'

/**
 * Fills an embedded database: every table has rows and every column a value. One prospect has `logs` further logs.
 */
export const fillSource = async (path: string, logs = 0): Promise<void> => {
  const store = sqliteStore({ path, busyMsMax: 5_000 }, readMigrations('sqlite'))
  await store.migrate()
  const other = await addTenant(store)
  const tenant = await addTenant(store)
  const { tenantId } = tenant
  await fillKeys(store, tenantId)
  await fillHooks(store, tenantId)
  await fillActivities(store, tenantId, logs)
  await fillCorrections(store, tenantId)
  await fillPlaceholders(store, tenantId)
  await fillPages(store, tenant)
  await fillErasures(store, tenantId)
  await fillMerge(store, tenantId)
  await fillMerge(store, tenantId)
  for (const owner of [tenant, other]) {
    await fillEvents(store, owner)
    await fillCounts(store, owner.tenantId)
  }
  await store.close()
}

const fillKeys = async ({ apiKeys }: Store, tenantId: string): Promise<void> => {
  await apiKeys.add(someKey(tenantId))
  await apiKeys.add(
    someKey(tenantId, {
      name: 'crm',
      scopes: ['pages:read'],
      expiresAt: at(1_000),
      revokedAt: at(500),
      rotatedAt: at(450),
      lastUsedAt: at(400),
    }),
  )
}

const fillHooks = async ({ hooks }: Store, tenantId: string): Promise<void> => {
  await hooks.add(someHook(tenantId))
  await hooks.add(
    someHook(tenantId, {
      slot: 2,
      description: 'billing',
      status: 'disabled',
      lastReceivedAt: at(5),
      lastRefusedAt: at(6),
      lastRefusal: 'why',
      lastWarnedAt: at(7),
      lastWarning: 'what',
      previousSecret: 'plain:b2xkZXI=',
      previousSecretUntil: at(80),
    }),
  )
}

/** A prospect with every field, and its logs; and prospects whose names are hard to copy. */
const fillActivities = async ({ activities }: Store, tenantId: string, logs: number): Promise<void> => {
  const prospect = someProspect(tenantId, {
    email: 'ada@example.com',
    externalId: 'crm 1',
    name: 'Ada',
    attributes: { rawJson: EXACT_ATTRIBUTES },
  })
  const complete = someLog(prospect, {
    ...keyFields('one'),
    email: 'Ada@example.com',
    externalId: 'crm 1',
    name: 'Ada',
    createdProspect: true,
    createdAt: at(7),
  })
  const exact = EXACT_PAYLOADS.map((rawJson) => someLog(prospect, { payload: { rawJson } }))
  const awkward = AWKWARD_TEXTS.map((text) => someLog(prospect, { email: text, name: text }))
  const awkwardProspects = AWKWARD_TEXTS.map((name) => someProspect(tenantId, { name }))
  await recordAll(activities, [prospect, ...awkwardProspects], [complete, ...exact, ...awkward])
  const further = Array.from({ length: logs }, (_, n) =>
    someLog(prospect, { payload: { rawJson: `{"n":${n}}` } }),
  )
  await Promise.all(further.map((log) => activities.record(logChangeOf(prospect, log))))
}

/** A prospect with more former emails than are kept as texts. */
const fillCorrections = async ({ activities, prospects }: Store, tenantId: string): Promise<void> => {
  const prospect = someProspect(tenantId, { email: 'grace+0@example.com', externalId: 'crm 3' })
  await recordAll(activities, [prospect])
  let before = foundProspect(prospect)
  for (let i = 1; i <= FORMER_EMAILS; i++) {
    const after = { ...before, email: `grace+${i}@example.com`, externalId: null, updatedAt: at(i) }
    const added = identifiersOf(after)
    const released = identifiersOf(before)
    await prospects.correct({ before, after, added, released, forgotten: [] })
    before = after
  }
}
const FORMER_EMAILS = 22

/** Placeholders of the tenant: an email and a domain. */
const fillPlaceholders = async ({ placeholders }: Store, tenantId: string): Promise<void> => {
  const email = 'noreply@shop.example'
  await placeholders.add({ ...emailIdentifier(tenantId, email), kind: 'email', value: email }, null, at(0))
  const domain = 'pos.example'
  const { hash } = emailIdentifier(tenantId, domain)
  await placeholders.add({ tenantId, kind: 'emailDomain', hash, value: domain }, null, at(0))
}

/** A completed erasure, and one in progress with its tombstone and the identifiers that it blocks. */
const fillErasures = async (store: Store, tenantId: string): Promise<void> => {
  await store.tenants.update(tenantId, { retentionDays: 365 })
  const eve = someProspect(tenantId, { email: 'eve@example.com', externalId: 'crm 2' })
  await recordAll(store.activities, [eve], [someLog(eve)])
  await store.erasures.record({
    tenantId,
    now: at(600),
    until: at(900),
    prospects: [],
    identifier: emailIdentifier(tenantId, 'mallory@example.com'),
    erasures: [someErasure(tenantId, { formerlyOf: [newId('prospect'), newId('prospect')] })],
  })
  const [claimed] = await store.erasures.claim(someClaim())
  if (claimed)
    await store.erasures.settle(tenantId, [
      { ...claimed, status: 'completed', completedAt: at(700), claimableAt: at(700), settlesAfter: '7 8' },
    ])
  await store.erasures.record({
    tenantId,
    now: at(600),
    until: at(900),
    prospects: [foundProspect(eve)],
    identifier: null,
    erasures: [someErasure(tenantId, { prospectId: eve.prospectId })],
  })
}

/** A prospect that is merged into another one, with a log that has not moved, and a step of the merge. */
const fillMerge = async (store: Store, tenantId: string): Promise<void> => {
  const merged = someProspect(tenantId, { email: `${newId('prospect')}@example.com` })
  const survivor = someProspect(tenantId)
  await recordAll(store.activities, [merged, survivor], [someLog(merged)])
  const [prospectId = '', otherId = ''] = [merged.prospectId, survivor.prospectId].toSorted()
  await store.prospectConflicts.note([{ tenantId, prospectId, otherId, field: 'email', at: at(0) }])
  const before = foundProspect(merged)
  const other = foundProspect(survivor)
  const mergeId = newId('merge')
  const ids = { prospectId: merged.prospectId, intoId: survivor.prospectId, apiKeyId: newId('apikey') }
  await store.merges.record({
    merge: { tenantId, mergeId, ...ids, requestedAt: at(600) },
    merged: { before, after: { ...before, mergedInto: survivor.prospectId, updatedAt: at(600) } },
    survivor: { before: other, after: { ...other, updatedAt: at(600) } },
  })
  const claimed = await store.merges.claim(someClaim({ now: at(600), until: at(700) }))
  const merge = claimed.find((found) => found.mergeId === mergeId)
  if (merge)
    await store.merges.settle({ ...merge, settlesAfter: '7 8', claimableAt: at(700), completedAt: null })
}

/** Some counts of a tenant's activities, and how far its activities are counted. */
const fillCounts = async ({ activities, counts }: Store, tenantId: string): Promise<void> => {
  const prospect = someProspect(tenantId)
  await recordAll(activities, [prospect])
  await counts.markRead(tenantId, at(3))
  await counts.close(tenantId, 'prospectlog_02', at(3))
  const count = { at: at(0), source: 'crm', type: 'webhook', count: 3, newProspects: 2 }
  const place = { kind: 'page', name: newId('page'), day: 20_454 } as const
  const add = [
    { ...count, unit: 'hour' as const },
    { ...count, unit: 'day' as const },
  ]
  await counts.record({
    tenantId,
    from: '',
    to: 'prospectlog_01',
    removeFrom: null,
    addProspects: [{ ...place, daysSince: 32, count: 3, newProspects: 2 }],
    addDays: [{ ...place, prospectId: prospect.prospectId }],
    add,
  })
  const used = { tenantId, apiKeyId: newId('apikey'), requests: 3, activities: 2, bytes: 2 ** 40 }
  await counts.addUsage(at(0), [used], { before: at(0), after: at(1), max: 1 })
}

/** Numbered and unnumbered events, and deliveries of each status. */
const fillEvents = async (store: Store, tenant: { tenantId: string; brandId: string }): Promise<void> => {
  const { tenantId } = tenant
  await fillEndpoints(store, tenantId)
  const events = [1, 2, 3].map(() => someEvent(tenantId, { apiKeyId: newId('apikey') }))
  await store.pageGroups.add(someGroup(tenant), events)
  await store.events.number({ tenantId, now: at(0), max: 2 })
  await settleDeliveries(store, events[0]?.eventId ?? '', events[1]?.eventId ?? '')
}

const fillEndpoints = async ({ webhooks }: Store, tenantId: string): Promise<void> => {
  await webhooks.add(
    someEndpoint(tenantId, {
      types: ['page.created', 'page_group.created'],
      description: '{"a b", NULL}',
      disabledReason: 'why',
      sources: '["crm"]',
      logTypes: '[ "it\'s" ]',
      headers: 'plain:e30=',
      method: 'PUT',
      body: '{ "n" : 1e400 }',
      previousSecret: 'plain:b2xkZXI=',
      previousSecretUntil: at(80),
      failures: 3,
      failingSince: at(60),
    }),
  )
  await webhooks.add(someEndpoint(tenantId, { slot: 2 }))
}

const settleDeliveries = async (
  { webhooks }: Store,
  deliveredId: string,
  failedId: string,
): Promise<void> => {
  const [claimed] = await webhooks.claim({
    now: at(0),
    until: at(1),
    horizon: at(99),
    afterTenantId: '',
    max: 1,
  })
  if (!claimed) return
  const attempt = JSON.stringify({ at: at(9), ms: 8, status: 200, error: null, answer: 'it\'s {"ü"}' })
  const ended = { attempts: 2, nextAttemptAt: null, attempt }
  const results = [
    {
      ...ended,
      eventId: deliveredId,
      status: 'delivered',
      lastStatus: 200,
      lastError: null,
      deliveredAt: at(9),
    },
    {
      ...ended,
      eventId: failedId,
      status: 'failed',
      lastStatus: 500,
      lastError: "it's {down}",
      deliveredAt: null,
    },
  ] as const
  await webhooks.settle(claimed, results, {
    failures: 3,
    failingSince: at(60),
    lastError: '{ "reason": "it\'s" }',
    claimableAt: at(2),
    readAt: at(1),
  })
}

const fillPages = async (store: Store, tenant: { tenantId: string; brandId: string }): Promise<void> => {
  const group = someGroup(tenant, {
    pageContext: 'Spring',
    actions: { rawJson: '[ 1e400, {"a" :1} ]' },
    headerActionId: 'header',
  })
  const groups = [group, someGroup(tenant, { status: 'deleted', deletedAt: at(9) })]
  for (const added of groups) await store.pageGroups.add(added)
  const pages = [
    somePage(group, { customName: 'Mine', supplementaryContext: 'Sale', ...keyFields('page') }),
    ...AWKWARD_TEXTS.filter((text) => text !== '').map((computedName) => somePage(group, { computedName })),
  ]
  for (const page of pages) await store.pages.record(page)
  for (const apiKeyId of [null, newId('apikey')]) await fillDeletion(store, tenant, apiKeyId)
}

/** A deleted page group, the first of whose pages is unpublished. */
const fillDeletion = async (
  store: Store,
  tenant: { tenantId: string; brandId: string },
  apiKeyId: string | null,
): Promise<void> => {
  const group = someGroup(tenant)
  const { tenantId, pageGroupId, updatedAt } = group
  await store.pageGroups.add(group)
  await store.deletions.begin({ tenantId, pageGroupId, apiKeyId, deletedAt: at(9) }, updatedAt)
  const begun = { tenantId, pageGroupId, apiKeyId, afterPageId: '', afterEventId: '' }
  await store.deletions.record(begun, { afterPageId: newId('page'), afterEventId: newId('event') })
}

const isoTime = (column: string): string => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Tables that a move leaves out. They describe a database rather than what it stores. */
const NOT_MOVED = "('schema_migrations', 'served', 'identity_copies', 'searched_tenants')"

/** Every row of every table that is moved, or of every view. The database itself lists the tables and their columns. */
export const sqliteRows = async (
  path: string,
  type: 'table' | 'view' = 'table',
): Promise<Record<string, string[]>> => {
  const { rows } = embeddedDatabase(path)
  const tables = await rows<{ name: string }>(
    `select name from sqlite_schema where type = '${type}' and name not in ${NOT_MOVED} order by name`,
  )
  const all: Record<string, string[]> = {}
  for (const { name } of tables)
    all[name] = (await rows(`select * from ${name}`)).map((row) => JSON.stringify(sorted(row))).sort()
  return all
}

/** The rows of a file with the columns that a move copies: those of the search are filled again. */
export const movedRows = async (path: string): Promise<Record<string, string[]>> => {
  const withoutComputed = (row: string) =>
    JSON.stringify(JSON.parse(row), (key, value) => (NOT_MOVED_COLUMNS.includes(key) ? undefined : value))
  const rows = await sqliteRows(path)
  return { ...rows, prospects: (rows['prospects'] ?? []).map(withoutComputed).sort() }
}

/** The rows of PostgreSQL, each value in the form SQLite stores. */
export const postgresRows = async (
  url: string,
  type: 'table' | 'view' = 'table',
): Promise<Record<string, string[]>> => {
  const sql = openPostgres(url, { max: 1, transform: {} })
  const columns = await sql<{ table: string; column: string; type: string }[]>`
    select table_name as "table", column_name as "column", data_type as type from information_schema.columns
    where table_schema = 'public' and column_name not in ('is_copied', 'is_searched') and table_name not in ${sql.unsafe(NOT_MOVED)}
      and table_name in (select ${sql(`${type}name`)} from ${sql(`pg_${type}s`)}) order by table_name`
  const all: Record<string, string[]> = {}
  for (const [table, tableColumns] of Map.groupBy(columns, (column) => column.table)) {
    const selected = tableColumns.map(({ column, type }) => `${readAs(column, type)} as ${column}`)
    const rows = await sql.unsafe(`select ${selected.join(', ')} from ${table}`)
    all[table] = rows.map((row) => JSON.stringify(sorted(row))).sort()
  }
  await sql.end()
  return all
}

const readAs = (column: string, type: string): string => {
  if (type.startsWith('timestamp')) return isoTime(column)
  if (type === 'json') return `${column}::text`
  if (type === 'ARRAY') return `array_to_string(${column}, ' ')`
  if (type === 'bigint') return `${column}::float8`
  if (type === 'boolean') return `${column}::int`
  return column
}

const sorted = (row: object): object =>
  Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))
