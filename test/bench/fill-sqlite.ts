import { closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { timelineKey } from '../../src/adapters/stores/timeline-key.ts'
import { identifiersOf } from '../../src/core/prospects/identifiers.ts'
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

/** Makes an embedded database and fills it with the same rows as `fillPostgres`. */
export const fillSqlite = async (path: string, size: Size): Promise<Filled> => {
  const owner = await createOwner(`sqlite:${path}`)
  const file = new DatabaseSync(path)
  try {
    file.function(
      'email_hash',
      { deterministic: true },
      (email) => identifiersOf({ email: String(email) }).email?.hash ?? null,
    )
    file.function('timeline_key', { deterministic: true }, (prospectId, when) =>
      timelineKey(String(prospectId), String(when)),
    )
    file.exec('pragma synchronous = off; pragma cache_size = -262144; begin')
    for (const statement of statementsOf(owner, size)) file.exec(statement)
    file.exec('commit; analyze; pragma wal_checkpoint(truncate)')
  } finally {
    file.close()
  }
  // Nothing has been flushed yet; without this, the first measured commit would pay for it.
  const written = openSync(path, 'r+')
  fsyncSync(written)
  closeSync(written)
  return filledOf(owner, size)
}

const ID_DIGITS = 23
const idIn = (prefix: string, number: string): string =>
  `${quoted(idOf(prefix, 0).slice(0, -ID_DIGITS))} || printf('%0${ID_DIGITS}d', ${number})`
const emailIn = (number: string): string => {
  const [before = '', after = ''] = emailOf(0).split('0')
  return `${quoted(before)} || (${number}) || ${quoted(after)}`
}
/** A table such as `ns`, whose column `n` counts from 1. */
const series = (name: string, count: number): string => `
  with recursive ${name}s (${name}) as (
    select 1 where ${count} > 0 union all select ${name} + 1 from ${name}s where ${name} < ${count}
  )`

const WHEN = "'2026-01-01T00:00:00.000Z'"

const statementsOf = (owner: Owner, size: Size): string[] => {
  const smallGroups = size.groups - 1
  const groupOfPage = `1 + (n - 1) / ${size.pagesOfOthers}`
  return [
    ...prospectRows(owner, size.prospects),
    activityRows(owner, size),
    ...groupRows(owner, size),
    ...pageRows(owner, groupOfPage, smallGroups * size.pagesOfOthers),
    ...pageRows(owner, String(size.groups), size.bigGroupPages),
  ]
}

const prospectRows = ({ tenantId }: Owner, count: number): string[] => [
  `insert into prospects (tenant_id, prospect_id, email, name, created_at, updated_at)
    ${series('n', count)}
    select ${quoted(tenantId)}, ${idIn('prospect', 'n')}, ${emailIn('n')}, null, ${WHEN}, ${WHEN} from ns`,
  `insert into identifiers (tenant_id, kind, hash, value, prospect_id)
    ${series('n', count)}
    select ${quoted(tenantId)}, 'email', email_hash(${emailIn('n')}), ${emailIn('n')}, ${idIn('prospect', 'n')} from ns`,
]

const activityRows = ({ tenantId }: Owner, { logs, prospects, skewed }: Size): string => {
  const prospect = skewed ? `iif(n % 10 = 0, 1, 2 + n % ${prospects - 1})` : `1 + n % ${prospects}`
  const prospectId = idIn('prospect', prospect)
  return `insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
      idempotency_key, request_hash, created_prospect, occurred_at, timeline_key, created_at)
    ${series('n', logs)}
    select ${quoted(tenantId)}, ${idIn('prospectlog', 'n')}, ${prospectId}, 'fill', 'form_submitted',
      ${quoted(BODY_TEXT.payload)}, ${emailIn(prospect)}, null,
      case when n % 2 = 0 then 'fill-' || printf('%012d', n) end,
      case when n % 2 = 0 then printf('%.43c', 'h') end, 0, ${WHEN}, timeline_key(${prospectId}, ${WHEN}), ${WHEN}
    from ns`
}

const groupRows = ({ tenantId, brandId }: Owner, size: Size): string[] => [
  `insert into page_groups (tenant_id, page_group_id, brand_id, name, title, page_context, status, actions,
      footer_links, scripts, header_action_id, revision, created_at, updated_at, deleted_at)
    ${series('g', size.groups)}
    select ${quoted(tenantId)}, ${idIn('pagegroup', 'g')}, ${quoted(brandId)}, 'group-' || g, 'Offers ' || g,
      ${quoted(BODY_TEXT.pageContext)}, 'active', ${quoted(BODY_TEXT.actions)}, ${quoted(BODY_TEXT.footerLinks)},
      ${quoted(BODY_TEXT.scripts)}, 'call', 1, ${WHEN}, ${WHEN}, null
    from gs`,
  `insert into page_counts (tenant_id, page_group_id, pages_count, changes)
    ${series('g', size.groups)}
    select ${quoted(tenantId)}, ${idIn('pagegroup', 'g')},
      case when g = ${size.groups} then ${size.bigGroupPages} else ${size.pagesOfOthers} end, 0
    from gs`,
]

/** Pages with their published versions. `group` is the number of the group of page `n`, in SQL. */
const pageRows = ({ tenantId }: Owner, group: string, count: number): string[] => {
  const tenant = quoted(tenantId)
  const groupId = idIn('pagegroup', group)
  const number = `(${group}) * ${PAGES_PER_GROUP_MAX} + n`
  const pageId = idIn('page', number)
  const versionId = idIn('pageversion', number)
  return [
    `insert into pages (tenant_id, page_group_id, page_id, custom_name, computed_name, revision,
        published_version_id, published_at, latest_version_id, created_at, updated_at)
      ${series('n', count)}
      select ${tenant}, ${groupId}, ${pageId},
        case when n % 2 = 0 then 'Spring sale ' || n end, ${quoted(BODY_TEXT.computedName)},
        2, ${versionId}, ${WHEN}, ${versionId}, ${WHEN}, ${WHEN}
      from ns`,
    `insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number,
        supplementary_context, computed_name, status, published_at, publish, attempts, claimable_at, created_at)
      ${series('n', count)}
      select ${tenant}, ${pageId}, ${versionId}, ${groupId},
        1, ${quoted(BODY_TEXT.supplementaryContext)}, ${quoted(BODY_TEXT.computedName)}, 'published', ${WHEN}, 1,
        1, ${WHEN}, ${WHEN}
      from ns`,
  ]
}
