import type { LoggedActivity } from '../activities/log-prospect-activity.ts'
import type { NewActivity } from '../activities/new-log.ts'
import { DomainFailure } from '../engine/failures.ts'
import { ofSharedProspect, type ReadyHook } from './ready-hook.ts'

type LogActivity = (activity: NewActivity) => Promise<LoggedActivity>

/**
 * How a hook logs an activity. What identifies no one may belong to one prospect of the hook, whose external id is the id of
 * the hook. `readyHook` finds most of these activities, but not those whose email is a placeholder of the tenant: only the
 * store knows. They are refused, and logged again for that prospect.
 */
export const logForHook = (
  { hookId, hasSharedProspect }: Pick<ReadyHook, 'hookId' | 'hasSharedProspect'>,
  logProspectActivity: LogActivity,
): LogActivity => {
  if (!hasSharedProspect) return logProspectActivity
  return async (activity) => {
    try {
      return await logProspectActivity({ ...activity, mustIdentify: true })
    } catch (error) {
      if (!(error instanceof DomainFailure) || !error.internal.isUnidentified) throw error
      return logProspectActivity(ofSharedProspect(activity, hookId))
    }
  }
}
