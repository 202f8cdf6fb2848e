import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgres } from '../../../src/adapters/postgres/open.ts'
import { postgresBin } from '../../support/postgres.ts'
import type { CaseName, ReadName } from '../cases.ts'
import { run } from '../children.ts'
import type { Address } from '../database.ts'
import { BODY_TEXT, type Filled, PAGES_PER_GROUP_MAX, quoted, type Size } from '../fill.ts'
import { emailHashIn, emailIn, idIn, timelineKeyIn } from '../fill-postgres.ts'
import { newFolder, removeFolder } from '../folders.ts'
import type { Sample } from '../load.ts'
import type { Contestant } from './contestant.ts'

/** PostgreSQL takes 200 connections here, and the services want theirs. */
const CONNECTIONS_MAX = 150
const LOGGED_PART = 0.2
/** pgbench reports the time for connecting separately, and leaves it out of the rate. */
const CONNECTED_A_SECOND = 50

/** pgbench running each case as a single prepared statement, one connection a caller; null where there is none. */
export const pgbench = (address: Address, filled: Filled, size: Size): Contestant | null => {
  const program = join(postgresBin() ?? '', 'pgbench')
  if (!existsSync(program)) return null
  const scripts = scriptsOf(filled, size)
  return {
    name: 'pgbench',
    start: async () => {
      const sql = openPostgres(address.url, { max: 1, onnotice: () => {} })
      await sql.unsafe('create sequence if not exists bench_ids cache 1000')
      await sql.end({ timeout: 5 })
    },
    measure: async (one, { callers, seconds }) => {
      const folder = newFolder('pgbench')
      try {
        const script = join(folder, 'script.sql')
        writeFileSync(script, scripts[one.name as keyof typeof scripts])
        const connections = Math.min(callers, CONNECTIONS_MAX)
        const secondsInAll = seconds + Math.ceil(connections / CONNECTED_A_SECOND)
        const flags = ['-n', '-M', 'prepared', '-j', '1', '-c', String(connections)]
        const timing = ['-l', '--log-prefix', join(folder, 'times'), '--sampling-rate', String(LOGGED_PART)]
        const where = [
          '-h',
          address.folder,
          '-U',
          'postgres',
          '-T',
          String(secondsInAll),
          '-f',
          script,
          address.name,
        ]
        const said = await run(program, [...flags, ...timing, ...where], {
          msMax: secondsInAll * 1e3 + 60_000,
        })
        return sampleOf(said, timesIn(folder))
      } finally {
        removeFolder(folder)
      }
    },
    stop: async () => {},
  }
}

const sampleOf = (said: string, timesUs: number[]): Sample => {
  const numberAfter = (words: RegExp) => Number(words.exec(said)?.[1] ?? Number.NaN)
  const rate = numberAfter(/^tps = ([\d.]+)/m)
  const requests = numberAfter(/transactions actually processed: (\d+)/)
  if (!(rate > 0) || numberAfter(/number of failed transactions: (\d+)/) > 0)
    throw new Error(`pgbench: ${said}`)
  timesUs.sort((a, b) => a - b)
  const quantileMs = (part: number) => (timesUs[Math.floor(timesUs.length * part)] ?? 0) / 1e3
  return {
    rate,
    requests,
    failed: 0,
    meanMs: numberAfter(/latency average = ([\d.]+) ms/),
    p50Ms: quantileMs(0.5),
    p99Ms: quantileMs(0.99),
  }
}

/** The third word of each line is the time of one transaction. */
const timesIn = (folder: string): number[] =>
  globSync('times*', { cwd: folder }).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8')
      .split('\n')
      .flatMap((line) => line.split(' ')[2] ?? [])
      .map(Number),
  )

const scriptsOf = (filled: Filled, size: Size): Record<Exclude<CaseName, ReadName>, string> => {
  const tenant = quoted(filled.tenantId)
  const newId = (prefix: string) => idIn(prefix, "nextval('bench_ids')").replace('_01h', '_01m')
  const known = emailIn(':r')
  // To pgbench `:true` is a variable.
  const payload = quoted(BODY_TEXT.payload.replaceAll(':', ': '))
  const log = (prospectId: string, email: string, key: string, created: boolean, from: string) => `
    insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email,
      idempotency_key, request_hash, created_prospect, occurred_at, timeline_key, created_at)
    select ${tenant}, ${newId('prospectlog')}, ${prospectId}, 'bench', 'form_submitted',
      ${payload}, ${email}, ${key}, ${key === 'null' ? 'null' : "repeat('h', 43)"}, ${created}, now(),
      ${timelineKeyIn(prospectId, 'now()')}, now()
    from ${from}
    on conflict do nothing
    returning prospect_log_id, created_at;`
  const byKnownEmails = (count: number) =>
    `generate_series(:r, :r + ${count - 1}) n join identifiers on tenant_id = ${tenant} and kind = 'email' and hash = ${emailHashIn(emailIn('n'))}`
  const byKnownEmail = `identifiers where tenant_id = ${tenant} and kind = 'email' and hash = ${emailHashIn(known)}`
  const list = (beforeId: string) => `
    select p.tenant_id, p.page_group_id, p.page_id, p.custom_name, p.computed_name, p.created_at, p.updated_at
    from pages p join page_groups g using (tenant_id, page_group_id)
    where p.tenant_id = ${tenant} and p.page_group_id = ${quoted(filled.bigGroupId)} and p.page_id < ${beforeId}
      and g.status <> 'deleted'
    order by p.page_id desc limit 21;`
  const create = (pageGroupId: string) => `
    with page as (
      insert into pages (tenant_id, page_group_id, page_id, computed_name, latest_version_id,
        revision, created_at, updated_at)
      select tenant_id, page_group_id, ${newId('page')}, ${quoted(BODY_TEXT.computedName)}, ${newId('pageversion')},
        1, now(), now()
      from page_groups
      where tenant_id = ${tenant} and page_group_id = ${pageGroupId} and status = 'active'
      returning *
    ), versioned as (
      insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number, status,
        supplementary_context, computed_name, publish, attempts, claimable_at, created_at)
      select tenant_id, page_id, latest_version_id, page_group_id, 1, 'processing',
        ${quoted(BODY_TEXT.supplementaryContext)}, computed_name, true, 0, created_at, created_at
      from page
    )
    update page_counts c set pages_count = pages_count + 1
    from page where c.tenant_id = page.tenant_id and c.page_group_id = page.page_group_id
    returning page.page_id, page.created_at;`
  const pickProspect = `\\set r random(1, ${size.prospects})`
  const statements: Record<Exclude<CaseName, ReadName>, string> = {
    'log-known': `${pickProspect}${log('prospect_id', known, 'null', false, byKnownEmail)}`,
    'log-new': `
      with email as (select 'new-' || nextval('bench_ids') || '@example.com' as email),
      added as (
        insert into prospects (tenant_id, prospect_id, email, created_at, updated_at)
        select ${tenant}, ${newId('prospect')}, email, now(), now() from email
        returning prospect_id, email
      ), identified as (
        insert into identifiers (tenant_id, kind, hash, value, prospect_id)
        select ${tenant}, 'email', ${emailHashIn('email')}, email, prospect_id from added
      ) ${log('prospect_id', 'email', 'null', true, 'added')}`,
    'log-key': `${pickProspect}${log('prospect_id', known, "'pgbench-' || nextval('bench_ids')", false, byKnownEmail)}`,
    'batch-100': `${pickProspect}${log('prospect_id', 'value', 'null', false, byKnownEmails(100))}`,
    'batch-1000': `${pickProspect}${log('prospect_id', 'value', 'null', false, byKnownEmails(1_000))}`,
    groups: `
      select g.*, c.pages_count
      from page_groups g join page_counts c using (tenant_id, page_group_id)
      where g.tenant_id = ${tenant} and g.page_group_id < '~' and g.status <> 'deleted'
      order by g.page_group_id desc limit 21;`,
    'pages-first': list("'~'"),
    'pages-deep': list(quoted(filled.deepPageId)),
    page: `\\set r random(1, ${size.bigGroupPages})
      select p.*, published.version_number, published.published_at, latest.version_number, latest.status,
        latest.failure_reason
      from pages p
        join page_groups g using (tenant_id, page_group_id)
        join page_versions latest on latest.tenant_id = p.tenant_id and latest.page_id = p.page_id
          and latest.version_id = p.latest_version_id
        left join page_versions published on published.tenant_id = p.tenant_id
          and published.page_id = p.page_id and published.version_id = p.published_version_id
      where p.tenant_id = ${tenant} and p.page_group_id = ${quoted(filled.bigGroupId)}
        and p.page_id = ${idIn('page', `${size.groups}::bigint * ${PAGES_PER_GROUP_MAX} + :r`)}
        and g.status <> 'deleted';`,
    'create-one': create(quoted(filled.oneGroupId)),
    'create-many': `\\set r random(1, ${filled.manyGroupIds.length})\n${create(idIn('pagegroup', ':r'))}`,
  }
  return statements
}
