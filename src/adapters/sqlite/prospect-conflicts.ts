import { isoTime } from '../../core/engine/times.ts'
import {
  CONFLICT_REST_MS,
  type FoundConflict,
  type ProspectConflicts,
  type StoredConflict,
} from '../../core/ports/prospect-conflicts.ts'
import { COLUMNS } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import type { Database } from './open.ts'
import { insertInto } from './statements.ts'

const COLUMN_NAMES = Object.keys(COLUMNS.prospect_conflicts)
const livingOf = (id: string) => `
  exists (
    select 1 from prospects p
    where p.tenant_id = :tenantId and p.prospect_id = ${id} and p.erased_at is null and p.merged_into is null
  )`
const ARE_LIVING = `select 1 where ${livingOf(':prospectId')} and ${livingOf(':otherId')}`
const IS_RECENT = `
  select 1 from prospect_conflicts
  where tenant_id = :tenantId and prospect_id = :prospectId and other_id = :otherId and at > :recentFrom`
const NOTE = `
  ${insertInto('prospect_conflicts', COLUMNS.prospect_conflicts)}
  on conflict (tenant_id, prospect_id, other_id) do update set field = excluded.field, at = excluded.at`
const LIST = `
  select ${COLUMN_NAMES.map((name) => `c.${name}`)},
    ${livingOf('c.prospect_id')} and ${livingOf('c.other_id')} as is_current
  from prospect_conflicts c indexed by prospect_conflicts_by_time
  where c.tenant_id = :tenantId and (c.at, c.prospect_id, c.other_id) < (:at, :beforeProspectId, :beforeOtherId)
  order by c.at desc, c.prospect_id desc, c.other_id desc limit :max`
const REMOVE = `
  delete from prospect_conflicts
  where (tenant_id, prospect_id, other_id) in (
    select tenant_id, prospect_id, other_id from prospect_conflicts
    where tenant_id = :tenantId and prospect_id = :prospectId limit :max
  )`
const REMOVE_OTHER = `
  delete from prospect_conflicts
  where (tenant_id, prospect_id, other_id) in (
    select tenant_id, prospect_id, other_id from prospect_conflicts indexed by prospect_conflicts_of_other
    where tenant_id = :tenantId and other_id = :prospectId limit :max
  )`

export const sqliteProspectConflicts = (database: Database): ProspectConflicts => ({
  note: async (conflicts) => {
    const isNew = (conflict: StoredConflict): boolean => {
      const recentFrom = isoTime(Date.parse(conflict.at) - CONFLICT_REST_MS)
      return !database.has(IS_RECENT, { ...conflict, recentFrom })
    }
    // Usually none is: then no other process need wait for a transaction.
    if (!conflicts.some(isNew)) return
    await database.write(() => {
      for (const conflict of conflicts)
        if (isNew(conflict) && database.has(ARE_LIVING, conflict)) database.run(NOTE, conflict)
    })
  },

  list: async ({ tenantId, before, max }) => {
    const rows = database.all<FoundConflict>(LIST, {
      tenantId,
      at: before?.at ?? AFTER_ALL_TIMES,
      beforeProspectId: before?.prospectId ?? AFTER_ALL_IDS,
      beforeOtherId: before?.otherId ?? AFTER_ALL_IDS,
      max,
    })
    return rows.map(({ isCurrent, ...conflict }) => ({ ...conflict, isCurrent: Boolean(isCurrent) }))
  },

  removeOf: (prospect, max) =>
    database.write(
      () => database.run(REMOVE, { ...prospect, max }) + database.run(REMOVE_OTHER, { ...prospect, max }),
    ),
})

const AFTER_ALL_TIMES = 'z'
