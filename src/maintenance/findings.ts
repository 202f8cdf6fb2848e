import { type Applied, lastOf, readMigrations } from '../adapters/stores/migrations.ts'
import type { Config } from '../config/config.ts'
import { DAY_MS, HOUR_MS, isoTime } from '../core/engine/times.ts'
import { IDENTIFIES_NO_ONE } from '../core/hooks/ready-hook.ts'
import { ATTEMPTS_MAX } from '../core/pages/name-version.ts'
import { FAILURES_UNTIL_REST } from '../core/webhooks/webhook-attempts.ts'
import { type Check, checkMigrations, inWords } from './check.ts'
import { examineSecrets, FINDINGS_MAX } from './examine-secrets.ts'
import { lateBackups } from './late-backups.ts'
import { type Database, type Row, readDatabase, type WritesRefused } from './read-database.ts'

/** One thing that needs attention, of one tenant or of the service. The shell command shows more or fixes it. */
export type Finding = {
  readonly kind: string
  readonly tenantId?: unknown
  readonly tenant?: unknown
  readonly detail: string
  readonly command: string
}
const DOCTOR = 'prospect-pages doctor'

/** A word of a shell command, quoted if it needs to be. */
const shellWord = (value: unknown): string => {
  const text = `${value}`
  return /^[\w./:-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** The command that runs the operation of a row. */
export const commandOf = ({ method = 'GET', path = '', tenantId = '' }: Row): string =>
  `prospect-pages api ${method} ${shellWord(path)} --tenant ${shellWord(tenantId)}`

const TENANT = 't.tenant_id as "tenantId", t.name as tenant,'
/** Of a suspended tenant only erasures need attention, because they continue. */
const OF_TENANT = 'join tenants t on t.suspended_at is null and t.tenant_id ='
const ENDPOINT = "'/v0/webhook_endpoints/' || e.webhook_endpoint_id"
const DELIVERIES = `webhook_deliveries d
  where d.tenant_id = e.tenant_id and d.webhook_endpoint_id = e.webhook_endpoint_id and d.status =`
const VERSION =
  "'/v0/page_groups/' || v.page_group_id || '/pages/' || v.page_id || '/versions/' || v.version_id as path"

/** Problems by kind. Each statement uses an index of the problems, except that failed deliveries are found by endpoint. */
const SELECTS: Readonly<Record<string, (before: (ms: number) => string) => string>> = {
  'webhook endpoint': (before) => `
    select ${TENANT} e.failing_since as since,
      ${ENDPOINT} || '/deliveries?status=' || case e.status when 'enabled' then 'pending' else 'failed' end as path,
      e.webhook_endpoint_id || ' is ' || e.status || ' and fails: ' || coalesce(e.disabled_reason,
        (select d.last_error from ${DELIVERIES} 'pending' order by d.next_attempt_at desc limit 1), 'see the log') as detail
    from webhook_endpoints e ${OF_TENANT} e.tenant_id
    where e.failing_since is not null and (
      (e.status = 'enabled' and (e.failures >= ${FAILURES_UNTIL_REST} or e.failing_since < ${before(HOUR_MS / 12)}))
      or (e.status = 'disabled' and e.disabled_reason is not null))`,
  'failed deliveries': (before) => `
    select ${TENANT} ${ENDPOINT} || '/deliveries?status=failed' as path, 'events did not reach ' || e.webhook_endpoint_id
      || ': ' || (select d.last_error from ${DELIVERIES} 'failed' order by d.created_at desc limit 1) as detail
    from webhook_endpoints e ${OF_TENANT} e.tenant_id
    where e.status = 'enabled' and exists (
      select 1 from ${DELIVERIES} 'failed' and d.created_at > ${before(7 * DAY_MS)})`,
  'failed version': (before) => `
    select ${TENANT} v.created_at as since, ${VERSION},
      'the latest version of ' || v.page_id || ' failed: ' || v.failure_reason as detail
    from page_versions v join pages p on p.tenant_id = v.tenant_id and p.page_group_id = v.page_group_id
      and p.page_id = v.page_id and p.latest_version_id = v.version_id ${OF_TENANT} v.tenant_id
    where v.status = 'failed' and v.created_at > ${before(7 * DAY_MS)}`,
  'stuck version': (before) => `
    select ${TENANT} v.claimable_at as since, ${VERSION},
      'a version of ' || v.page_id || ' waits for a publisher after ' || v.attempts || ' attempts' as detail
    from page_versions v ${OF_TENANT} v.tenant_id
    where v.status = 'processing' and (v.attempts >= ${ATTEMPTS_MAX} or v.claimable_at < ${before(HOUR_MS / 6)})`,
  hook: (before) => `
    select ${TENANT} h.last_refused_at as since, '/v0/hooks/' || h.hook_id as path,
      h.hook_id || ' (' || h.source || ') refuses deliveries: ' || h.last_refusal as detail
    from hooks h ${OF_TENANT} h.tenant_id
    where h.last_refused_at > ${before(DAY_MS)} and h.status = 'enabled'
      and (h.last_received_at is null or h.last_received_at < h.last_refused_at)`,
  'hook warning': (before) => `
    select ${TENANT} h.last_warned_at as since, '/v0/hooks/' || h.hook_id as path,
      h.hook_id || ' (' || h.source || ') stores activities of unknown people: ' || h.last_warning as detail
    from hooks h ${OF_TENANT} h.tenant_id
    where h.last_warned_at > ${before(DAY_MS)} and h.status = 'enabled'
      and (h.last_received_at is null or h.last_received_at <= h.last_warned_at)
      and h.last_warning like '%${IDENTIFIES_NO_ONE}%'`,
  deletion: (before) => `
    select ${TENANT} t.deleted_at as since, 'the tenant has not been removed yet' as detail, 'prospect-pages tenants list' as command
    from tenants t where t.deleted_at < ${before(26 * HOUR_MS)} or t.deleted_at > ${before(-HOUR_MS)}`,
  // Rewriting a large embedded file may wait for a day.
  erasure: (before) => `
    select ${TENANT} e.requested_at as since, '/v0/erasures/' || e.erasure_id as path,
      e.erasure_id || ' has not been completed' as detail
    from erasures e join tenants t on t.tenant_id = e.tenant_id
    where e.status = 'processing' and e.part_of is null and e.requested_at < ${before(26 * HOUR_MS)}`,
}

export const KINDS: readonly string[] = [...Object.keys(SELECTS), 'writes', 'secret', 'lock', 'backup']

/** Problems of one kind: at most `FINDINGS_MAX`, and one more if there are more. */
export const findingsOf = async (
  { read, locks, whyNoWrites }: Database,
  config: Config,
  kind: string,
  nowMs: number,
) => {
  const rowsOf = async (): Promise<readonly Row[]> => {
    if (kind === 'lock') return locks()
    if (kind === 'backup') return backupRows(lateBackups(config, nowMs))
    if (kind === 'writes') return noWritesRows(await whyNoWrites())
    if (kind === 'secret') return (await examineSecrets(read, config, nowMs)).lost
    const before = (ms: number) => `'${isoTime(nowMs - ms)}'`
    return read(`${SELECTS[kind]?.(before)} limit ${FINDINGS_MAX + 1}`)
  }
  return (await rowsOf()).map((row): Finding => {
    const { tenantId, tenant, since, command = commandOf(row) } = row
    const detail = `${row['detail']}${since ? ` (since ${since})` : ''}`
    return { kind, tenantId, tenant, detail, command: `${command}` }
  })
}

const backupRows = (checks: readonly Check[]): readonly Row[] =>
  checks
    .filter(({ state }) => state !== 'ok')
    .map(({ detail }) => ({ detail, command: 'prospect-pages backup' }))

const noWritesRows = (refused: WritesRefused | null): readonly Row[] => {
  if (refused === null) return []
  const { reason, lastWriteMs } = refused
  const last = lastWriteMs === null ? '' : `; the last one was at ${isoTime(lastWriteMs)}`
  return [{ detail: `the database takes no writes: ${reason}${last}`, command: DOCTOR }]
}

/** All problems that need attention, of all tenants. A failed read is a finding, too. */
export const findAttention = (config: Config, nowMs: number): Promise<readonly Finding[]> =>
  readDatabase(config, async (database) => {
    await database.read('select 1')
    const schemaFinding = await otherSchema(database, config)
    if (schemaFinding !== null) return [schemaFinding]
    const findings: Finding[] = []
    for (const kind of KINDS) {
      const other = (detail: string) => [{ kind, detail, command: DOCTOR }]
      const unread = (error: Error) => other(`could not be checked: ${inWords(error)}`)
      const found = await findingsOf(database, config, kind, nowMs).catch(unread)
      const more = found.length > FINDINGS_MAX ? other(`there are more than ${FINDINGS_MAX} of these`) : []
      findings.push(...found.slice(0, FINDINGS_MAX), ...more)
    }
    return findings
  }).catch((error) => [{ kind: 'database', detail: inWords(error), command: DOCTOR }])

/** A database with another schema than this program's, whose tables may lack what the other findings read. */
const otherSchema = async ({ read }: Database, { database }: Config): Promise<Finding | null> => {
  const known = readMigrations(database.kind === 'sqlite' ? 'sqlite' : 'postgres')
  const found = await read('select * from schema_migrations order by number').catch((error: Error) =>
    /no such table|does not exist/.test(error.message) ? [] : Promise.reject(error),
  )
  const applied = lastOf(known, found as unknown as Applied[])
  const { state, detail, remedy = '' } = checkMigrations(applied, known.length)
  const [command = DOCTOR] = /prospect-pages migrate/.exec(remedy) ?? []
  return state === 'ok' ? null : { kind: 'migrations', detail, command }
}
