import type { ProspectLog } from '../../shapes/prospect-log.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import type { ProspectLogKey } from '../ports/prospect-logs.ts'
import type { Needs } from '../ports/store.ts'

/** Reads a logged activity. Refuses `prospect_log_not_found`. */
export const getProspectLog =
  ({ store }: Pick<Needs<'prospectLogs'>, 'store'>) =>
  async (key: ProspectLogKey): Promise<Result<ProspectLog>> => {
    const log = await store.prospectLogs.find(key)
    return { value: log ?? refuse('prospect_log_not_found', 'Prospect log not found.') }
  }
