import type { FoundProspect, Prospects } from '../../core/ports/prospects.ts'
import { scan } from '../stores/take-slice.ts'
import type { KeptProspect, People } from './people.ts'

/** Calls `changed` after a prospect was updated. */
export const memoryProspects = (
  { prospects, outbox }: People,
  changed: (tenantId: string) => void,
): Prospects => ({
  find: async (wants) =>
    wants.map((want) => {
      const prospect = prospects.byId.at(want)
      return prospect === undefined ? null : foundProspect(prospect)
    }),
  list: async (wants) =>
    wants.map((want) => {
      const { byId, byEmail } = prospects
      const all = want.emailHash === null ? byId.backFrom(want, want.beforeId) : byEmail.backFrom(want)
      const isListed = ({ erasedAt }: KeptProspect) => erasedAt === null
      const { rows, resume } = scan(all, want.limit, isListed, ({ prospectId }) => prospectId)
      return { rows: rows.map(foundProspect), resume }
    }),
  update: async ({ email, name, updatedAt, ...want }, events) => {
    const before = prospects.byId.at(want)
    if (before === undefined || before.erasedAt !== null) return null
    const after = { ...before, ...email, ...(name !== undefined && { name }), updatedAt }
    const owner = prospects.byEmail.at(after)
    if (owner !== undefined && owner !== before) return 'overtaken'
    outbox.save(events)
    prospects.change(before, after)
    changed(want.tenantId)
    return foundProspect(after)
  },
})

const foundProspect = ({ emailHash, blockedUntil, ...prospect }: KeptProspect): FoundProspect => prospect
