import { asOutcome } from '../../core/outcome.ts'
import type { FoundProspect, Prospects, ProspectsWant } from '../../core/ports/prospects.ts'
import type { LookedAt } from '../../core/ports/world.ts'
import { AFTER_ALL_IDS, SHOWN_PROSPECT } from '../rows.ts'
import { byTenant, upTo, wantedTenant } from './by-tenant.ts'
import type { Ask } from './connect.ts'
import { columns, ifOvertaken } from './statements.ts'
import { walked } from './walk.ts'

const SHOWN = columns('l', SHOWN_PROSPECT)
const WANTS = columns('want', 'number int, tenant_id, prospect_id')

/** Calls `changed` after a prospect was updated. */
export const postgresProspects = (ask: Ask, changed: () => void, isCluster: boolean): Prospects => ({
  find: async (wants) => {
    const numbered = wants.map((want, number) => ({ ...want, number }))
    const rows = await byTenant(isCluster, { numbered }, (tenantId, its) =>
      ask(
        (sql) => sql<(FoundProspect & { number: number })[]>`
          select want.number, ${SHOWN.selected(sql)}
          from ${WANTS.from(sql, its.numbered)}
            cross join lateral (
              select l.* from prospects l
              where l.tenant_id = ${wantedTenant(sql, tenantId)} and l.prospect_id = want.prospect_id
                ${upTo(1, sql, tenantId)}
            ) l`,
        tenantId,
      ),
    )
    const found = new Map(rows.map(({ number, ...prospect }) => [number, prospect]))
    return wants.map((_, number) => found.get(number) ?? null)
  },

  list: (wants) =>
    Promise.all(
      wants.map((want) => (want.emailHash === null ? slice(ask, want) : byEmail(ask, want)).catch(asOutcome)),
    ),

  update: async ({ tenantId, prospectId, email, name, updatedAt }) => {
    const updated = await ask(
      (sql) => sql<FoundProspect[]>`
        update prospects l set
          ${email === undefined ? sql`` : sql`email = ${email.email}, email_hash = ${email.emailHash},`}
          ${name === undefined ? sql`` : sql`name = ${name},`}
          updated_at = ${updatedAt}
        where l.tenant_id = ${tenantId} and l.prospect_id = ${prospectId} and l.erased_at is null
        returning ${SHOWN.selected(sql)}`,
      tenantId,
    ).catch(ifOvertaken('overtaken' as const))
    if (updated === 'overtaken') return updated
    const [prospect = null] = updated
    if (prospect !== null) changed()
    return prospect
  },
})

type ListedRow = FoundProspect & { readonly resume: string | null; readonly one: number }

const slice = async (
  ask: Ask,
  { tenantId, beforeId, limit }: ProspectsWant,
): Promise<LookedAt<FoundProspect>> => {
  const rows = await ask(
    (sql) =>
      sql<ListedRow[]>`${walked(sql, {
        along: sql`from prospects l where l.tenant_id = ${tenantId} and l.prospect_id < ${beforeId ?? AFTER_ALL_IDS}`,
        key: sql`l.prospect_id`,
        newest: sql`l.prospect_id desc`,
        matches: sql`l.erased_at is null`,
        selected: SHOWN.selected(sql),
        bytes: sql`coalesce(octet_length(l.email), 0) + coalesce(octet_length(l.name), 0)`,
        limit,
      })}`,
    tenantId,
  )
  const listed = rows.filter(({ prospectId }) => prospectId !== null)
  return { rows: listed.map(({ resume, one, ...row }) => row), resume: rows[0]?.resume ?? null }
}

const byEmail = async (ask: Ask, { tenantId, emailHash, beforeId }: ProspectsWant) => {
  const rows = await ask(
    (sql) => sql<FoundProspect[]>`
      select ${SHOWN.selected(sql)} from prospects l
      where l.tenant_id = ${tenantId} and l.email_hash = ${emailHash} and l.erased_at is null
        and l.prospect_id < ${beforeId ?? AFTER_ALL_IDS}`,
    tenantId,
  )
  return { rows: [...rows], resume: null }
}
