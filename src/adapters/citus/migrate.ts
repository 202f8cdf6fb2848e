import type { PostgresUrl } from '../../config/database-address.ts'
import { isUnavailable, unavailable } from '../../core/engine/failures.ts'
import { askOn } from '../postgres/connect.ts'
import { unavailableUnlessRejected } from '../postgres/error-codes.ts'
import { inMigration, isUpToDate, migratePostgres, planPostgres, type Warn } from '../postgres/migrate.ts'
import { endPool, openPostgres, type Sql } from '../postgres/open.ts'
import { findMissingPrivileges } from '../postgres/privileges.ts'
import { withTimeout } from '../postgres/with-timeout.ts'
import type { Migration } from '../stores/migrations.ts'
import { rolesFile } from '../stores/sql-files.ts'
import { namesOf, refuseOtherDatabase, refuseWorker } from './obstacle.ts'
import { findMisplaced, findUnplaced, type Misplaced, nextStep } from './placement.ts'
import { withParameters } from './session.ts'
import type { Ask } from './sql.ts'

const CONNECT_MS_MAX = 5_000
/** Time limit to ask the coordinator which nodes it cannot reach. */
const LOOK_MS_MAX = 30_000
/** Bytes of a table and its indexes, on two busy cores: a rough estimate for operators. */
const COPIED_PER_SECOND = 30_000_000
/** The role that serves, whose privileges sql/roles.sql grants. */
const SERVING_ROLE = 'prospect_pages'
/**
 * A migration that alters several tables must alter their shards one after another. Citus alters a distributed table only
 * by a statement that is sent alone, so a migration that does is a file of one statement.
 */
const ONE_SHARD_AT_A_TIME = { 'citus.multi_shard_modify_mode': 'sequential' }

export type Distributing = {
  /** Whether tables that have rows are distributed. They are locked against writes while their rows are copied. */
  readonly withRows?: boolean
  /** Called after each step. */
  readonly onDistributed?: (tables: readonly string[]) => void
}
export type ClusterChanges = {
  readonly applied: readonly string[]
  readonly distributed: readonly string[]
  /** The role that was granted its privileges on what is new. */
  readonly granted: string | null
}

/**
 * Makes all changes of the schema on the coordinator: applies migrations, distributes tables, and grants the serving role
 * its privileges. Each step is one transaction on all nodes, so after an interruption the next call goes on. Refuses
 * tables with rows, unless they are asked for, before it changes anything.
 */
export const migrateCluster = (
  url: PostgresUrl,
  migrations: readonly Migration[],
  warn: Warn,
  { withRows = false, onDistributed = () => {} }: Distributing = {},
): Promise<ClusterChanges> =>
  onCluster(url, async (sql, address) => {
    const ask = askOn(sql)
    const isMigrated = await isUpToDate(ask, migrations, warn)
    const unplaced = await findUnplaced(ask)
    if (isMigrated && unplaced.length === 0 && !(await isGrantMissing(ask)))
      return { applied: [], distributed: [], granted: null }
    await refuseWorker(ask)
    await refuseWhileNodesAreAway(ask)
    const filled = withRows ? [] : await filledOf(ask, unplaced)
    if (filled.length > 0) throw new Error(refusalOf(filled))
    try {
      // It has warned already.
      const applied = await migratePostgres(address, migrations, () => {})
      const distributed = await placeAll(sql, onDistributed)
      return { applied, distributed, granted: await grantMissing(sql) }
    } catch (error) {
      if (isUnavailable(error)) await refuseWhileNodesAreAway(ask, error)
      throw error
    }
  })

/** What `migrateCluster` would do. Migrations are applied and rolled back, to find their locks. */
export const planCluster = (url: PostgresUrl, migrations: readonly Migration[]) =>
  onCluster(url, async (sql, address) => {
    const ask = askOn(sql)
    const unplaced = await findUnplaced(ask)
    if (unplaced.length > 0 || !(await isUpToDate(ask, migrations, () => {}))) {
      await refuseWorker(ask)
      await refuseWhileNodesAreAway(ask)
    }
    const plan = await planPostgres(address, migrations)
    const isNew = plan.pending.length > 0 || unplaced.length > 0
    const isGranted = isNew ? await hasServingRole(ask) : await isGrantMissing(ask)
    const filled = await filledOf(ask, unplaced)
    return {
      ...plan,
      distribute: unplaced.map(({ table }) => table),
      /** Only `--distribute` distributes these. Each takes no writes until its rows are copied. */
      withRows: filled.map(({ table, bytes }) => ({
        table,
        bytes,
        lockedS: Math.ceil(bytes / COPIED_PER_SECOND),
      })),
      grant: isGranted ? SERVING_ROLE : null,
    }
  })

const onCluster = async <Done>(
  url: PostgresUrl,
  use: (sql: Sql, address: PostgresUrl) => Promise<Done>,
): Promise<Done> => {
  const address = withParameters(url, ONE_SHARD_AT_A_TIME)
  const sql = openPostgres(address, { max: 1, prepare: false })
  try {
    await withTimeout(refuseOtherDatabase(askOn(sql), true), CONNECT_MS_MAX).catch(unavailableUnlessRejected)
    return await use(sql, address)
  } finally {
    await endPool(sql, 1)
  }
}

/** A change that begins while a node is away would wait for it, holding its locks. */
const refuseWhileNodesAreAway = async (ask: Ask, cause?: unknown): Promise<void> => {
  const away = await withTimeout(findNodesAway(ask), LOOK_MS_MAX).catch(() => null)
  if (away !== null)
    throw unavailable(
      `A change needs every node, and ${away} does not answer. What is done stays done: once every node is back, run prospect-pages migrate again.`,
      cause,
    )
}

const findNodesAway = async (ask: Ask): Promise<string | null> => {
  await ask((sql) => sql.unsafe(`set citus.node_connection_timeout = '${CONNECT_MS_MAX}ms'`))
  const [away] = await ask(
    (sql) => sql<{ nodes: string | null }[]>`
      select string_agg(nodename || ':' || nodeport, ', ') as nodes from pg_dist_node
      where noderole = 'primary' and groupid <> 0 and not citus_check_connection_to_node(nodename, nodeport)`,
  )
  return away?.nodes ?? null
}

const placeAll = async (sql: Sql, onDistributed: (tables: readonly string[]) => void) => {
  const placed: string[] = []
  for (let tables = await placeNext(sql); tables !== null; tables = await placeNext(sql)) {
    placed.push(...tables)
    onDistributed(tables)
  }
  return placed
}

/** Puts the next tables in their place. Returns null if every table is in its place. */
const placeNext = async (sql: Sql): Promise<readonly string[] | null> => {
  const connection = await sql.reserve()
  const ask = askOn(connection)
  return inMigration(connection, ask, async () => {
    const step = nextStep(await findMisplaced(ask))
    if (step === null) return null
    for (const statement of step.statements) await ask((sql) => sql.unsafe(statement))
    return step.tables
  })
}

const grantMissing = async (sql: Sql): Promise<string | null> => {
  if (!(await isGrantMissing(askOn(sql)))) return null
  const connection = await sql.reserve()
  const ask = askOn(connection)
  return inMigration(connection, ask, async () => {
    for (const statement of await grantsFor(ask)) await ask((sql) => sql.unsafe(statement))
    return SERVING_ROLE
  })
}

const hasServingRole = async (ask: Ask): Promise<boolean> =>
  (await ask((sql) => sql`select 1 from pg_roles where rolname = ${SERVING_ROLE}`)).length > 0

const isGrantMissing = async (ask: Ask): Promise<boolean> =>
  (await hasServingRole(ask)) && (await findMissingPrivileges(ask, SERVING_ROLE)) !== null

/**
 * The statements of sql/roles.sql. Part II, for commands, is the operator's choice: a role that has the privileges to
 * serve, but not these, does not get them again.
 */
const grantsFor = async (ask: Ask): Promise<readonly string[]> => {
  const [role] = await ask(
    (sql) => sql<{ serves: boolean; commands: boolean }[]>`
      select has_table_privilege(${SERVING_ROLE}, 'schema_migrations', 'select') as serves,
        has_table_privilege(${SERVING_ROLE}, 'tenants', 'insert') as commands`,
  )
  const isForServing = role?.serves && !role.commands
  const text = isForServing ? rolesFile().replace(/^-- II\..*^(?=-- III\.)/ms, '') : rolesFile()
  return text.split(/;$/m).filter((statement) => /^[a-z]/m.test(statement))
}

/** The tables by tenant that have rows, which must be copied. */
const filledOf = async (ask: Ask, unplaced: readonly Misplaced[]): Promise<readonly Misplaced[]> => {
  const filled: Misplaced[] = []
  for (const found of unplaced) {
    if (!found.exists || found.place !== 'the tenant') continue
    const rows = await ask((sql) => sql.unsafe(`select 1 from ${found.table} limit 1`))
    if (rows.length > 0) filled.push(found)
  }
  return filled
}

const refusalOf = (filled: readonly Misplaced[]): string => {
  const bytes = filled.reduce((sum, table) => sum + table.bytes, 0)
  return `There are rows in ${namesOf(filled)}: ${bytes} bytes to copy to the workers, roughly ${Math.ceil(bytes / COPIED_PER_SECOND)} s. Each table takes no writes until its rows are copied. Stop the service, then run prospect-pages migrate --distribute.`
}
