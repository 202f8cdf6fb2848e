import type { FoundProspect, Prospects } from '../../core/ports/prospects.ts'
import { SHOWN_PROSPECT } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { findBy } from './by-tenant.ts'
import { sqlStateOf } from './error-codes.ts'
import type { Outbox } from './outbox.ts'
import { type Fragment, joined, nothing, type Query, sql } from './sql.ts'
import { columns, ifOvertaken } from './statements.ts'
import { eachAlone, walk } from './walk.ts'

type Row = FoundProspect & { readonly want?: number; readonly resume?: string | null; readonly one?: number }

const SHOWN = columns('l', SHOWN_PROSPECT)

/** Calls `changed` after a prospect was updated. */
export const postgresProspects = (
  query: Query,
  changed: (tenantId: string) => void,
  isCluster: boolean,
  outbox: Outbox,
): Prospects => {
  const findByEmail = findBy(query, false, 'prospects', 'email_hash', SHOWN_PROSPECT, prospectOf)
  return {
    find: findBy(query, !isCluster, 'prospects', 'prospect_id', SHOWN_PROSPECT, prospectOf),

    list: (wants) =>
      eachAlone(wants, async (want) => {
        const { tenantId, emailHash, limit } = want
        const beforeId = want.beforeId ?? AFTER_ALL_IDS
        if (emailHash !== null) {
          const [found] = await findByEmail([want])
          const isShown = found && found.erasedAt === null && found.prospectId < beforeId
          return { rows: isShown ? [found] : [], resume: null }
        }
        const { rows, resume } = await walk<Row>(query, tenantId, {
          along: sql`from prospects l where l.tenant_id = ${tenantId} and l.prospect_id < ${beforeId}`,
          key: sql`l.prospect_id`,
          newest: sql`l.prospect_id desc`,
          matches: sql`l.erased_at is null`,
          selected: SHOWN.selected,
          bytes: sql`coalesce(octet_length(l.email), 0) + coalesce(octet_length(l.name), 0)`,
          limit,
        })
        return { rows: rows.map(prospectOf), resume }
      }),

    /** With events it divides by zero if there is no such prospect. */
    update: async (update, events) => {
      const { tenantId, prospectId, email, name, updatedAt } = update
      const changes = sql`
        update prospects l set
          ${email === undefined ? nothing : sql`email = ${email.email}, email_hash = ${email.emailHash},`}
          ${name === undefined ? nothing : sql`name = ${name},`}
          updated_at = ${updatedAt}
        where l.tenant_id = ${tenantId} and l.prospect_id = ${prospectId} and l.erased_at is null
        returning ${SHOWN.selected}`
      const write = (eventInserts: readonly Fragment[], assumptionHolds: Fragment) => {
        const ifUpdated =
          eventInserts.length === 0 ? nothing : sql`and 1 / (select count(*) from updated) = 1`
        return query(tenantId)<FoundProspect>`
          with ${joined([sql`updated as (${changes})`, ...eventInserts], sql`, `)}
          select * from updated where ${assumptionHolds} ${ifUpdated}`
      }
      const updated = await outbox.withEvents([update], events, write).catch((why) => {
        return sqlStateOf(why) === '22012' ? [] : ifOvertaken('overtaken' as const)(why)
      })
      if (updated === 'overtaken') return updated
      const [prospect = null] = updated
      if (prospect !== null) changed(tenantId)
      return prospect
    },
  }
}

const prospectOf = ({ want, resume, one, ...prospect }: Row): FoundProspect => prospect
