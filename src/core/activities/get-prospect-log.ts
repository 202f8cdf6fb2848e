import type { ProspectLog } from '../../shapes/prospect-log.ts'
import { refuse } from '../engine/failures.ts'
import { attemptEach, type Outcome } from '../engine/outcome.ts'
import type { ProspectLogWant } from '../ports/prospect-logs.ts'
import type { Needs } from '../ports/store.ts'

/** Reads logged activities, many at once. Refuses, per activity: `prospect_log_not_found`. */
export const getProspectLogs =
  ({ store }: Pick<Needs<'prospectLogs'>, 'store'>) =>
  async (wants: readonly ProspectLogWant[]): Promise<readonly Outcome<ProspectLog>[]> =>
    attemptEach(
      await store.prospectLogs.find(wants),
      (log) => log ?? refuse('prospect_log_not_found', 'Prospect log not found.'),
    )
