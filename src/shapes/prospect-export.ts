import * as v from 'valibot'
import { Erasure } from './erasure.ts'
import { Prospect, ProspectWithIdentifiers } from './prospect.ts'
import { ProspectLog } from './prospect-log.ts'
import { described, whole } from './text.ts'

// Each has a name, so that generated clients have readable types.
export const ExportedProspect = v.object({ prospect: ProspectWithIdentifiers })
/** The remaining fields of a prospect that was merged into this one. */
export const MergedProspect = v.pick(Prospect, ['prospectId', 'email', 'externalId'])
export const ExportedMerged = v.object({ merged: MergedProspect })
export const ExportedLog = v.object({ prospectLog: ProspectLog })
export const ExportedErasure = v.object({ erasure: Erasure })
export const ExportEnd = v.object({
  done: described(v.literal(true), 'The last line: the export is complete.'),
  logs: described(whole(0), 'How many activities it contains.'),
})
/** One line of `GET /v0/prospects/{prospect_id}/export`. */
export const ProspectExportLine = v.union([
  ExportedProspect,
  ExportedMerged,
  ExportedLog,
  ExportedErasure,
  ExportEnd,
])
export type ProspectExportLine = v.InferOutput<typeof ProspectExportLine>
