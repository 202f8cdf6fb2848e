import { keyOf } from '../../core/engine/keys.ts'
import {
  CONFLICT_REST_MS,
  type ProspectConflicts,
  type StoredConflict,
} from '../../core/ports/prospect-conflicts.ts'
import { isLiving, type People } from './people.ts'
import { indexBy, tableOf } from './table.ts'

export const memoryProspectConflicts = ({ prospects, outbox }: People): ProspectConflicts => {
  const conflicts = outbox.registerTable(
    'prospect_conflicts',
    tableOf({
      byProspect: indexBy<StoredConflict>(['tenantId', 'prospectId'], ['otherId']),
      byOther: indexBy<StoredConflict>(['tenantId', 'otherId'], ['prospectId']),
      byTime: indexBy<StoredConflict>(['tenantId'], ['at', 'prospectId', 'otherId']),
    }),
  )
  const isCurrent = ({ tenantId, prospectId, otherId }: StoredConflict): boolean =>
    [prospectId, otherId].every((id) => {
      const prospect = prospects.byId.at({ tenantId, prospectId: id })
      return prospect !== undefined && isLiving(prospect)
    })

  return {
    note: async (noted) => {
      for (const { tenantId, prospectId, otherId, field, at } of noted) {
        const conflict = { tenantId, prospectId, otherId, field, at }
        const known = conflicts.byProspect.at(conflict)
        if (!isCurrent(conflict)) continue
        if (known === undefined) conflicts.add(conflict)
        else if (Date.parse(known.at) <= Date.parse(at) - CONFLICT_REST_MS) conflicts.change(known, conflict)
      }
    },
    list: async ({ tenantId, before, max }) => {
      const place = before && keyOf(before.at, before.prospectId, before.otherId)
      const found: StoredConflict[] = []
      for (const conflict of conflicts.byTime.backFrom({ tenantId }, place)) {
        if (found.push(conflict) === max) break
      }
      return found.map((conflict) => ({ ...conflict, isCurrent: isCurrent(conflict) }))
    },
    removeOf: async ({ tenantId, prospectId }, max) => {
      const gone = [
        ...conflicts.byProspect.after({ tenantId, prospectId }),
        ...conflicts.byOther.after({ tenantId, otherId: prospectId }),
      ].slice(0, max)
      for (const conflict of gone) conflicts.remove(conflict)
      return gone.length
    },
  }
}
