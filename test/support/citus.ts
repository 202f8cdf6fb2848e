import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { migrateCluster } from '../../src/adapters/citus/migrate.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { postgresBin, startPostgres, type ThrowawayPostgres } from './postgres.ts'

/** A coordinator and two workers of the test's own, which reach each other by their sockets. */
export type ThrowawayCitus = {
  readonly coordinator: ThrowawayPostgres
  readonly workers: readonly [ThrowawayPostgres, ThrowawayPostgres]
  /** A new, empty database on all three, as a `DATABASE_URL` at the coordinator. */
  readonly newDatabase: () => Promise<string>
  /** The same, migrated and distributed. */
  readonly newDistributed: () => Promise<string>
  /** Such a `DATABASE_URL` at the coordinator and at both workers. */
  readonly atEachNode: (url: string) => readonly [string, string, string]
  /** How many transactions the workers have been asked to prepare for a two-phase commit. */
  readonly preparedTransactions: () => number
  readonly stop: () => Promise<void>
}

const SHARDS = 4
const SETTINGS = {
  shared_preload_libraries: 'citus',
  wal_level: 'logical',
  max_prepared_transactions: '100',
  // Each database of a node has a maintenance process.
  max_worker_processes: '40',
  'citus.node_conninfo': 'sslmode=disable',
  'citus.shard_count': String(SHARDS),
  log_statement: 'all',
}

/** Why nothing can be tested on Citus here, or null. */
export const whyNoCitus = (): string | null => {
  if (process.env['STORES']?.includes('citus') === false) return 'STORES leaves Citus out'
  const bin = postgresBin()
  const config = bin === null ? '' : join(bin, 'pg_config')
  if (existsSync(config)) {
    const libraries = execFileSync(config, ['--pkglibdir'], { encoding: 'utf8' }).trim()
    if (existsSync(join(libraries, 'citus.so'))) return null
  }
  return 'Citus is not installed: nothing was tested on it'
}

export const startCitus = async (): Promise<ThrowawayCitus> => {
  let prepared = 0
  const onLog = (text: string) => {
    prepared += text.split('PREPARE TRANSACTION').length - 1
  }
  const start = () => startPostgres({ settings: SETTINGS, onLog })
  const [coordinator, ...workers] = await Promise.all([start(), start(), start()])
  const newDatabase = async () => {
    const urls = await Promise.all([coordinator, ...workers].map((node) => node.newDatabase()))
    const [url = ''] = urls
    await Promise.all(urls.map((url) => runOn(url, ['create extension citus'])))
    await runOn(url, [
      `select citus_set_coordinator_host('${coordinator.folder}', 5432)`,
      ...workers.map(({ folder }) => `select citus_add_node('${folder}', 5432)`),
    ])
    return url
  }
  return {
    coordinator,
    workers,
    newDatabase,
    newDistributed: async () => {
      const url = await newDatabase()
      await migrateCluster(url, readMigrations('postgres'), () => {})
      return url
    },
    atEachNode: (url) => {
      const at = ({ folder }: ThrowawayPostgres) =>
        url.replace(/host=.*/, `host=${encodeURIComponent(folder)}`)
      return [at(coordinator), at(workers[0]), at(workers[1])]
    },
    preparedTransactions: () => prepared,
    stop: async () => {
      await Promise.all([coordinator, ...workers].map(({ stop }) => stop()))
    },
  }
}

/** Which of the workers has the rows of a tenant, or of another value that a table is distributed by. */
export const workerOf = async (
  { workers }: ThrowawayCitus,
  url: string,
  value: string,
  table = 'pages',
): Promise<number> => {
  const [row] = await runOn(url, [
    `select nodename as folder from pg_dist_shard_placement
      where shardid = get_shard_id_for_distribution_column('${table}', '${value}')`,
  ])
  return workers.findIndex(({ folder }) => folder === row?.['folder'])
}

/** On one connection; answers the rows of the last statement. */
export const runOn = async (
  url: string,
  statements: readonly string[],
): Promise<Record<string, unknown>[]> => {
  const connection = openPostgres(url, { max: 1, prepare: false, onnotice: () => {} })
  let rows: Record<string, unknown>[] = []
  try {
    for (const statement of statements) rows = [...(await connection.unsafe(statement))]
    return rows
  } finally {
    await connection.end()
  }
}
