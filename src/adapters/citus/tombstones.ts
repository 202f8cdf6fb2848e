import type { ErasureChanges } from '../../core/ports/erasures.ts'
import { isIdentified } from '../../core/prospects/identifiers.ts'
import { blockRow, newErasureRow } from '../stores/people-rows.ts'
import { COLUMNS } from '../stores/rows.ts'
import type { Forms } from './forms.ts'
import { isUnchanged } from './merges.ts'
import { AND_CHANGED, IS_CHANGED } from './outbox.ts'
import { columns, sql } from './sql.ts'

const ERASURE = columns('erasure', COLUMNS.erasures)
const BLOCK = columns('block', COLUMNS.prospects)

/**
 * The parts of the statement that erases prospects; `changed` has a row if the prospect was unchanged. Emails and
 * external ids must be removed from the old rows, to be free, before they are blocked: PostgreSQL runs a part when it is
 * read.
 */
export const tombstones = (
  { inserted }: Forms,
  { tenantId, now, until, prospects: [prospect], erasures }: ErasureChanges,
) => {
  const parts = [
    sql`added as (
      insert into erasures ${inserted(ERASURE, erasures.map(newErasureRow), IS_CHANGED)})`,
  ]
  if (prospect === undefined) parts.unshift(sql`changed as (select 1 as done), others as (select 1 as done)`)
  else {
    const { prospectId } = prospect
    const erase = sql`
      update prospects p set email = null, email_hash = null, external_id = null, external_id_hash = null, name = null,
        erased_at = ${now}, updated_at = ${now}`
    parts.unshift(
      sql`changed as (${erase} where ${isUnchanged(prospect)} returning 1)`,
      sql`others as (
        ${erase} where p.tenant_id = ${tenantId} and p.merged_into = ${prospectId} ${AND_CHANGED} returning 1)`,
      sql`ended as (
        update merges set status = 'completed', completed_at = ${now}
        where tenant_id = ${tenantId} and into_id = ${prospectId} and status = 'processing' ${AND_CHANGED})`,
    )
  }
  const blocks = erasures.filter(isIdentified).map((erasure) => blockRow(erasure, now, until))
  if (blocks.length > 0)
    parts.push(sql`blocked as (
      insert into prospects as p ${inserted(BLOCK, blocks, IS_CHANGED)}
      on conflict (tenant_id, prospect_id)
        do update set blocked_until = greatest(p.blocked_until, excluded.blocked_until)
      returning 1)`)
  const read =
    blocks.length === 0 ? undefined : sql`(select count(*) from others) + (select count(*) from blocked)`
  return [parts, read] as const
}
