import type { FoundProspect, Prospects } from '../../core/ports/prospects.ts'
import { AFTER_ALL_IDS, lookThrough, SHOWN_PROSPECT } from '../rows.ts'
import type { Database } from './open.ts'

const SHOWN = Object.keys(SHOWN_PROSPECT)
const FIND = `select ${SHOWN} from prospects where tenant_id = ? and prospect_id = ?`
const BY_EMAIL = `
  select ${SHOWN} from prospects where tenant_id = ? and email_hash = ? and prospect_id < ? and erased_at is null`
const LIST = `
  select ${SHOWN} from prospects where tenant_id = ? and prospect_id < ? order by prospect_id desc`
const UPDATE = `
  update prospects set
    email = case when ? then ? else email end, email_hash = case when ? then ? else email_hash end,
    name = case when ? then ? else name end, updated_at = ?
  where tenant_id = ? and prospect_id = ? and erased_at is null
  returning ${SHOWN}`

/** Calls `changed` after a prospect was updated. */
export const sqliteProspects = (database: Database, changed: () => void): Prospects => ({
  find: async (wants) =>
    wants.map((want) => database.get<FoundProspect>(FIND, want.tenantId, want.prospectId) ?? null),

  list: async (wants) =>
    wants.map(({ tenantId, emailHash, beforeId, limit }) => {
      const before = beforeId ?? AFTER_ALL_IDS
      if (emailHash !== null)
        return { rows: database.all<FoundProspect>(BY_EMAIL, tenantId, emailHash, before), resume: null }
      const idOf = ({ prospectId }: FoundProspect) => prospectId
      const look = (rows: Iterable<FoundProspect>) =>
        lookThrough(rows, limit, ({ erasedAt }) => erasedAt === null, idOf)
      return database.from(look, LIST, tenantId, before)
    }),

  update: async ({ tenantId, prospectId, email, name, updatedAt }) => {
    let updated: FoundProspect | null = null
    const [emails, names] = [Number(email !== undefined), Number(name !== undefined)]
    const { email: text = null, emailHash = null } = email ?? {}
    const values = [emails, text, emails, emailHash, names, name ?? null, updatedAt, tenantId, prospectId]
    const recorded = await database.record(() => {
      updated = database.get<FoundProspect>(UPDATE, ...values) ?? null
      return 'recorded'
    })
    if (recorded === 'overtaken') return recorded
    if (updated !== null) changed()
    return updated
  },
})
