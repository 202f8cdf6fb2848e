import type { ErasureChanges } from '../../core/ports/erasures.ts'
import { isIdentified } from '../../core/prospects/identifiers.ts'
import { blockRow, newErasureRow } from '../stores/people-rows.ts'
import { COLUMNS } from '../stores/rows.ts'
import { isUnchanged } from './merges.ts'
import { joined, sql } from './sql.ts'
import { columns } from './statements.ts'

const ERASURE = columns('erasure', COLUMNS.erasures)
const BLOCK = columns('block', COLUMNS.prospects)

/**
 * The parts and the end of the statement that erases prospects. Emails and external ids must be removed from the old
 * rows, to be free, before they are blocked. PostgreSQL runs a part when it is read: the checks at the end read one
 * after the other. If they ran in another order, or a part changed nothing because another writer was faster, a
 * division by zero would take everything back.
 */
export const tombstones = ({ tenantId, now, until, prospects: [prospect], erasures }: ErasureChanges) => {
  const parts = [sql`added as (insert into erasures ${ERASURE.values(erasures.map(newErasureRow))})`]
  const checks = []
  if (prospect !== undefined) {
    const { prospectId } = prospect
    const erase = sql`
      update prospects p set email = null, email_hash = null, external_id = null, external_id_hash = null, name = null,
        erased_at = ${now}, updated_at = ${now}`
    parts.push(
      sql`erased as (${erase} where ${isUnchanged(prospect)} returning 1)`,
      sql`others as (${erase} where p.tenant_id = ${tenantId} and p.merged_into = ${prospectId} returning 1)`,
      sql`ended as (
        update merges set status = 'completed', completed_at = ${now}
        where tenant_id = ${tenantId} and into_id = ${prospectId} and status = 'processing')`,
    )
    checks.push(sql`select 1 / count(*) from erased`, sql`select count(*) from others`)
  }
  const blocks = erasures.filter(isIdentified).map((erasure) => blockRow(erasure, now, until))
  if (blocks.length > 0) {
    parts.push(sql`blocked as (
      insert into prospects as p ${BLOCK.values(blocks)}
      on conflict (tenant_id, prospect_id)
        do update set blocked_until = greatest(p.blocked_until, excluded.blocked_until)
      returning 1)`)
    checks.push(sql`select 1 / count(*) from blocked`)
  }
  return [parts, joined([...checks, sql`select 1`], sql` union all `)] as const
}
