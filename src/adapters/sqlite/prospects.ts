import { eachInTurn } from '../../core/engine/share-loop.ts'
import type { FoundProspect, Prospects } from '../../core/ports/prospects.ts'
import { SHOWN_PROSPECT } from '../stores/rows.ts'
import { scan } from '../stores/take-slice.ts'
import type { Outbox } from './events.ts'
import { BEFORE_ID, type Database } from './open.ts'

const SHOWN = Object.keys(SHOWN_PROSPECT)
const OF_TENANT = `select ${SHOWN} from prospects where tenant_id = :tenantId`
const FIND = `${OF_TENANT} and prospect_id = :prospectId`
const BY_EMAIL = `${OF_TENANT} and email_hash = :emailHash and prospect_id < ${BEFORE_ID} and erased_at is null`
const LIST = `${OF_TENANT} and prospect_id < ${BEFORE_ID} order by prospect_id desc`
const UPDATE = `
  update prospects set
    email = case when :setsEmail then :email else email end,
    email_hash = case when :setsEmail then :emailHash else email_hash end,
    name = case when :setsName then :name else name end, updated_at = :updatedAt
  where tenant_id = :tenantId and prospect_id = :prospectId and erased_at is null
  returning ${SHOWN}`

/** Calls `changed` after a prospect was updated. */
export const sqliteProspects = (
  database: Database,
  outbox: Outbox,
  changed: (tenantId: string) => () => void,
): Prospects => ({
  find: async (wants) => wants.map((want) => database.get<FoundProspect>(FIND, want)),

  list: (wants) =>
    eachInTurn(wants, (want) => {
      if (want.emailHash !== null) return { rows: database.all<FoundProspect>(BY_EMAIL, want), resume: null }
      const isShown = ({ erasedAt }: FoundProspect) => erasedAt === null
      const look = (rows: Iterable<FoundProspect>) =>
        scan(rows, want.limit, isShown, ({ prospectId }) => prospectId)
      return database.from(look, LIST, want)
    }),

  update: async ({ email, name, ...prospect }, events) => {
    const sets = { setsEmail: email !== undefined, setsName: name !== undefined }
    const row = { ...prospect, ...sets, email: null, emailHash: null, ...email, name: name ?? null }
    return database.record(() => {
      const updated = database.get<FoundProspect>(UPDATE, row)
      if (updated) outbox(events)
      return updated
    }, changed(prospect.tenantId))
  },
})
