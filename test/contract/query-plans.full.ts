import { ONE_PLAN, openPostgres } from '../../src/adapters/postgres/open.ts'
import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { fill, forgetStatistics, keepStatistics, PAGE, WANTED } from '../support/full-database.ts'
import { actsOn } from '../support/full-database-acts.ts'
import { executionOf, explained, faultsOf, plansOf } from '../support/plans.ts'
import { preparedFrom } from '../support/prepared.ts'
import { addTenant, newId, someGroup, somePage } from '../support/rows.ts'
import { opened, overStores, type Sent, sentBy } from '../support/stores.ts'

overStores(
  async (t, kind) => {
    const tested = await opened(t, kind, true)
    const open = (connection = {}) => {
      const sql = openPostgres(String(tested.address), { max: 1, onnotice: () => {}, connection })
      t.teardown(() => sql.end())
      return sql
    }
    const sql = open()
    const session = open(ONE_PLAN)
    await keepStatistics(sql)

    const oldPlans = new Map<string, string>()
    const executed = ({ text, parameters }: Sent) => executionOf(oldPlans.get(text) ?? '', parameters)
    for (const { act } of actsOn(tested.store, WANTED))
      for (const sent of await sentBy(tested, () => act().catch(() => 'nothing to find')))
        if (!oldPlans.has(sent.text)) {
          oldPlans.set(sent.text, `old_${oldPlans.size}`)
          await session.unsafe(`prepare ${oldPlans.get(sent.text)} as ${sent.text}`)
          await explained(session, executed(sent))
        }
    await fill(sql, 'analyze')

    /** Faults of the statements of every act, by a function that checks one of them. */
    const faultsBy = async (look: (sent: Sent, rowsMax: number) => Promise<readonly string[]>) => {
      const found: string[] = []
      for (const { name, act, rowsMax, undo } of actsOn(tested.store, WANTED)) {
        const statements = await sentBy(tested, act)
        if (undo !== undefined) await sql.unsafe(undo)
        for (const sent of statements)
          found.push(...(await look(sent, rowsMax)).map((fault) => `${name}: ${fault}`))
      }
      return found
    }

    t.test('a plan made while the tables were empty walks along indexes once they are full', async (t) => {
      t.ok(oldPlans.size >= 8)
      const look = async (sent: Sent, rowsMax: number) =>
        oldPlans.has(sent.text) ? faultsOf(await explained(session, executed(sent)), rowsMax) : []
      t.strictSame(await faultsBy(look), [])
    })

    // The order matters: each changes what the planner knows of the full tables.
    for (const [title, prepare] of [
      ['analyzed when it was nearly empty', async () => {}],
      ['analyzed', () => sql.unsafe('analyze')],
      ['never analyzed', () => forgetStatistics(sql)],
    ] as const)
      t.test(`in a full database, ${title}, only what is answered is read`, async (t) => {
        await prepare()
        const look = async (sent: Sent, rowsMax: number) => {
          const faults = (await plansOf(sql, sent)).map((plan) => faultsOf(plan, rowsMax))
          const first = faults.findIndex((faults) => faults.length > 0)
          return first < 0 ? [] : [`${['our', 'first', 'later'][first]} plan: ${faults[first]?.join('; ')}`]
        }
        t.strictSame(await faultsBy(look), [])
      })
  },
  ['postgres'],
)

/**
 * Some versions make a Bloom filter of a list as they read it: no step over a table. What is counted has a limit. A search by
 * the tenant alone goes through all that it has, which is only of a few tables a little. A file's schema, which is short, is
 * read once, as the file is opened.
 */
const HARMLESS =
  /^(SEARCH (?!.*PRIMARY KEY \(tenant_id=\?\)$)|SEARCH (counted_tenants|searched_tenants|event_counts|page_group_deletions|tenants?|webhook_endpoints) |LIST SUBQUERY|(CORRELATED )?SCALAR SUBQUERY|CREATE BLOOM FILTER$|CO-ROUTINE|MERGE \(UNION ALL\)|LEFT$|RIGHT$|SCAN CONSTANT ROW$|SCAN (\(subquery|waiting$)|SCAN \w+ USING INDEX \w+_pending$|SCAN sqlite_(schema|master)$|SCAN pragma_application_id )/

/** Logs under one key are counted before they are sorted. */
const isSortOfFew = (sql: string, step: string): boolean =>
  /idempotency_key = \S+\s+and type/.test(sql) && step === 'USE TEMP B-TREE FOR ORDER BY'

overStores(
  async (t, kind) => {
    t.test('every statement of a list, a read or a look-up walks an index and sorts nothing', async (t) => {
      const { store, address } = await opened(t, kind, true)
      const group = someGroup(await addTenant(store))
      await store.pageGroups.add(group)
      const { tenantId, pageGroupId } = group
      await store.pages.record(somePage(group, { pageId: PAGE }))
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
        t.strictSame(
          steps.filter((step) => !HARMLESS.test(step) && !isSortOfFew(sql, step)),
          [],
          sql,
        )
      }
    })
  },
  ['sqlite'],
)
