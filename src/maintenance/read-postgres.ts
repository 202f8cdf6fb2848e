import { askOn } from '../adapters/postgres/connect.ts'
import { findNoWrites } from '../adapters/postgres/no-writes.ts'
import { findObstacle, HALF_MOVED, MOVE_MARK } from '../adapters/postgres/obstacle.ts'
import { endPool, ONE_PLAN, openPostgres } from '../adapters/postgres/open.ts'
import { withTimeout } from '../adapters/postgres/with-timeout.ts'
import type { Config } from '../config/config.ts'
import { findSessionObstacle, PLAN_EACH } from './cluster.ts'
import type { Row, Use } from './read-database.ts'

/** Part of each statement, because a pooler does not pass session settings on. */
const LIMITS = "set local lock_timeout = '500ms'; set local statement_timeout = '3s';"
const LOCKED_OR_LATE = ['55P03', '57014']
const MS_MAX = 5_000

/** Sessions that hold a lock that blocks writes, or that have blocked others for over a second. Every role can see them. */
const SELECT_HOLDERS = `
  with blocked as (select distinct pid, unnest(pg_blocking_pids(pid)) as holder from pg_locks where not granted),
  held as (
    select pid, string_agg(distinct relation::regclass::text, ', ') as tables
    from pg_locks join pg_class on pg_class.oid = relation
    where granted and database = (select oid from pg_database where datname = current_database()) and relkind in ('r', 'p')
      and relnamespace = (select relnamespace from pg_class where oid = to_regclass('tenants'))
      and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') group by pid
  ), sessions as (
    select a.*, h.tables, format('pid %s (%s)', a.pid, coalesce(nullif(a.application_name, ''), a.usename)) as session,
      (select string_agg(pid::text, ', ') from blocked where holder = a.pid) as waiting,
      (select string_agg(holder::text, ', ') from blocked where pid = a.pid) as holders
    from pg_stat_activity a left join held h on h.pid = a.pid
    where a.pid <> pg_backend_pid() and a.datname = current_database()
  )
  select tables, session, concat_ws('; ', session, state, 'locks ' || tables, 'holds up pid ' || waiting, 'waits for pid ' || holders,
      'last statement at ' || to_char(query_start, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) as detail,
    format('psql "$DATABASE_URL" -c ''select pg_terminate_backend(%s)''', pid) as command
  from sessions
  where (tables is not null and backend_type is distinct from 'autovacuum worker')
    or (waiting is not null and coalesce(xact_start < now() - interval '1 second', true))
  order by holders nulls first, pid limit 51`

/** Reads PostgreSQL without waiting for other sessions: a statement that would wait fails, and names the holder. */
export const readPostgres = async <Answer>(url: string, settings: Config, use: Use<Answer>) => {
  const options = { max: 1, prepare: false }
  const connection = settings.databaseCluster ? PLAN_EACH : ONE_PLAN
  const sql = openPostgres(url, settings.databasePooler ? options : { ...options, connection })
  const ask = async (text: string): Promise<readonly Row[]> =>
    lastRows(await withTimeout(sql.unsafe(LIMITS + text), MS_MAX))
  const locks = () => ask(SELECT_HOLDERS)
  const read = (text: string) =>
    ask(text).catch(async (error) => {
      if (!LOCKED_OR_LATE.includes(error.code)) throw error
      const blocker = (await locks()).find(({ tables }) => readsAnyOf(text, `${tables}`.split(', ')))
      throw blocker ? new Error(`${blocker['tables']}: locked by ${blocker['session']}`) : error
    })
  try {
    const [mark] = await ask(`select to_regclass('${MOVE_MARK}')::text as mark`)
    if (mark?.['mark']) throw new Error(HALF_MOVED)
    // A server would refuse to start, for a reason that no finding names.
    const find = settings.databaseCluster ? findSessionObstacle : findObstacle
    const obstacle = await withTimeout(
      find(askOn(sql), settings.databasePooler, settings.databaseDirectUrl),
      MS_MAX,
    )
    if (obstacle !== null) throw new Error(obstacle)
    const whyNoWrites = async () => {
      const reason = await withTimeout(findNoWrites(askOn(sql), true), MS_MAX)
      return reason && { reason, lastWriteMs: null }
    }
    return await use({ read, locks, whyNoWrites })
  } finally {
    await endPool(sql, 1)
  }
}

/** A text of several statements returns several lists. The last one is the answer. */
const lastRows = (results: unknown): readonly Row[] => (results as Row[][]).at(-1) ?? []

/** The statements are constants of this program, so their words show which tables they wait for. */
const readsAnyOf = (statement: string, tables: readonly string[]): boolean =>
  tables.some((table) => new RegExp(`\\b(from|join) ${table}\\b`).test(statement))
