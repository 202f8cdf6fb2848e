import { openPostgres, type Sql } from '../../src/adapters/postgres/open.ts'
import { timelineKey } from '../../src/adapters/stores/timeline-key.ts'
import {
  BODY_TEXT,
  emailOf,
  type Filled,
  filledOf,
  idOf,
  type Owner,
  PAGES_PER_GROUP_MAX,
  quoted,
  type Size,
} from './fill.ts'
import { createOwner } from './program.ts'

/** Migrates an empty PostgreSQL database and fills it, in one statement for each table. */
export const fillPostgres = async (url: string, size: Size): Promise<Filled> => {
  const owner = await createOwner(url)
  const sql = openPostgres(url, { max: 1, onnotice: () => {}, connection: { statement_timeout: 0 } })
  try {
    await sql.unsafe(FILL_SETTINGS)
    await withoutIndexes(sql, async () => {
      for (const statement of statementsOf(owner, size)) await sql.unsafe(statement)
    })
    await sql.unsafe('vacuum analyze')
    await sql.unsafe('checkpoint')
  } finally {
    await sql.end({ timeout: 5 })
  }
  return filledOf(owner, size)
}

/** Settings of this one connection, which is closed when all is filled. */
const FILL_SETTINGS =
  "set synchronous_commit = off; set maintenance_work_mem = '512MB'; set work_mem = '64MB'"
const FILLED_TABLES = ['prospects', 'identifiers', 'prospect_logs', 'page_counts', 'pages', 'page_versions']

type Index = { readonly drop: string; readonly create: string }

/** Ten million rows are sorted into an index in far less time than they are put into it one by one. */
const withoutIndexes = async (sql: Sql, fill: () => Promise<void>): Promise<void> => {
  const indexes: readonly Index[] = await sql.unsafe(`
    select
      case when c.conname is null then format('drop index %I', i.relname)
        else format('alter table %I drop constraint %I', t.relname, c.conname) end as drop,
      case when c.conname is null then pg_get_indexdef(i.oid)
        else format('alter table %I add constraint %I %s', t.relname, c.conname, pg_get_constraintdef(c.oid))
        end as create
    from pg_index x
      join pg_class i on i.oid = x.indexrelid
      join pg_class t on t.oid = x.indrelid
      left join pg_constraint c on c.conindid = i.oid and c.conrelid = t.oid
    where t.relnamespace = 'public'::regnamespace and t.relname = any('{${FILLED_TABLES}}')`)
  for (const { drop } of indexes) await sql.unsafe(drop)
  await fill()
  for (const { create } of indexes) await sql.unsafe(create)
}

/** As `idOf`, in SQL. */
export const idIn = (prefix: string, number: string): string =>
  `${quoted(idOf(prefix, 0).slice(0, -23))} || lpad((${number})::text, 23, '0')`
/** As the service hashes a normalised email, in SQL. */
export const emailHashIn = (email: string): string =>
  `rtrim(translate(encode(sha256(convert_to(${email}, 'UTF8')), 'base64'), '+/', '-_'), '=')`
/** As `emailOf`, in SQL. */
export const emailIn = (number: string): string => {
  const [before = '', after = ''] = emailOf(0).split('0')
  return `${quoted(before)} || (${number})::text || ${quoted(after)}`
}

/** As far apart as ours, though not the same. */
export const timelineKeyIn = (prospectId: string, when: string): string =>
  `(hashtext(${prospectId}) & 8388607) * 1073741824::bigint + floor(extract(epoch from ${when}) / 4)::bigint`
const WHEN = "timestamptz '2026-01-01T00:00:00Z'"

const statementsOf = ({ tenantId, brandId }: Owner, size: Size): string[] => {
  const tenant = quoted(tenantId)
  const prospect = size.skewed
    ? `case when n % 10 = 0 then 1 else 2 + n % ${size.prospects - 1} end`
    : `1 + n % ${size.prospects}`
  // Ours for prospect 1, whose timeline is read.
  const keyOfFirst = `${timelineKey(idOf('prospect', 1), '1970-01-01T00:00:00Z')}::bigint`
  const when = `${WHEN} + n * interval '1 s'`
  const type = size.skewed
    ? "case when n % 1000000 = 1 then 'rare' else 'form_submitted' end"
    : "'form_submitted'"
  const pageNumber = `g::bigint * ${PAGES_PER_GROUP_MAX} + n`
  const pagesIn = `
    generate_series(1, ${size.groups}) g
      cross join lateral generate_series(1, case when g = ${size.groups} then ${size.bigGroupPages} else ${size.pagesOfOthers} end) n`
  return [
    `insert into prospects (tenant_id, prospect_id, email, name, created_at, updated_at)
      select ${tenant}, ${idIn('prospect', 'n')}, ${emailIn('n')}, null, ${WHEN}, ${WHEN}
      from generate_series(1, ${size.prospects}) n`,
    `insert into identifiers (tenant_id, kind, hash, value, prospect_id)
      select ${tenant}, 'email', ${emailHashIn(emailIn('n'))}, ${emailIn('n')}, ${idIn('prospect', 'n')}
      from generate_series(1, ${size.prospects}) n`,
    `insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
        idempotency_key, request_hash, created_prospect, occurred_at, timeline_key, created_at)
      select ${tenant}, ${idIn('prospectlog', 'n')}, ${idIn('prospect', prospect)}, 'fill',
        ${type}, ${quoted(BODY_TEXT.payload)}, ${emailIn(prospect)}, null,
        case when n % 2 = 0 then 'fill-' || lpad(n::text, 12, '0') end,
        case when n % 2 = 0 then repeat('h', 43) end, false, ${when}, case ${prospect} when 1 then ${keyOfFirst} + floor(extract(epoch from ${when}) / 4)::bigint
          else ${timelineKeyIn(idIn('prospect', prospect), when)} end, ${when}
      from generate_series(1, ${size.logs}) n`,
    `insert into page_groups (tenant_id, page_group_id, brand_id, name, title, page_context, status, actions,
        footer_links, scripts, header_action_id, revision, created_at, updated_at, deleted_at)
      select ${tenant}, ${idIn('pagegroup', 'g')}, ${quoted(brandId)}, 'group-' || g, 'Offers ' || g,
        ${quoted(BODY_TEXT.pageContext)}, 'active', ${quoted(BODY_TEXT.actions)}, ${quoted(BODY_TEXT.footerLinks)},
        ${quoted(BODY_TEXT.scripts)}, 'call', 1, ${WHEN}, ${WHEN}, null
      from generate_series(1, ${size.groups}) g`,
    `insert into page_counts (tenant_id, page_group_id, pages_count, changes)
      select ${tenant}, ${idIn('pagegroup', 'g')},
        case when g = ${size.groups} then ${size.bigGroupPages} else ${size.pagesOfOthers} end, 0
      from generate_series(1, ${size.groups}) g`,
    `insert into pages (tenant_id, page_group_id, page_id, custom_name, computed_name, revision,
        published_version_id, published_at, latest_version_id, created_at, updated_at)
      select ${tenant}, ${idIn('pagegroup', 'g')}, ${idIn('page', pageNumber)},
        case when n % 2 = 0 then 'Spring sale ' || n end, ${quoted(BODY_TEXT.computedName)},
        2, ${idIn('pageversion', pageNumber)}, ${WHEN},
        ${idIn('pageversion', pageNumber)}, ${WHEN}, ${WHEN}
      from ${pagesIn}`,
    `insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number,
        supplementary_context, computed_name, status, published_at, publish, attempts, claimable_at, created_at)
      select ${tenant}, ${idIn('page', pageNumber)}, ${idIn('pageversion', pageNumber)}, ${idIn('pagegroup', 'g')},
        1, ${quoted(BODY_TEXT.supplementaryContext)}, ${quoted(BODY_TEXT.computedName)}, 'published', ${WHEN}, true,
        1, ${WHEN}, ${WHEN}
      from ${pagesIn}`,
  ]
}
