import { isExpired } from '../activities/activity-keys.ts'
import { isAboutAnother, personIn } from '../activities/log-prospect-activity.ts'
import type { NewActivity } from '../activities/new-log.ts'
import { asOutcome } from '../engine/outcome.ts'
import { isoTime } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import { ignoringPlaceholderEmail, matchProspect, recallWithSurvivor } from '../prospects/match-prospect.ts'

/** Whether an activity of a hook would be a replay of one about another person. Stores nothing. */
export const wouldRepeatAnother =
  ({ store, clock }: Pick<Needs<'activities'>, 'store' | 'clock'>) =>
  async (activity: NewActivity): Promise<boolean> => {
    if (activity.idempotencyKey === undefined) return false
    const sent = personIn(activity)
    const recalled = await recallWithSurvivor(store.activities, sent.lookup)
    const { person, known } = ignoringPlaceholderEmail(sent, recalled)
    const { receipt } = known
    if (receipt === null || isExpired(activity, receipt, isoTime(clock()))) return false
    try {
      return isAboutAnother(person, matchProspect(known, undefined, person.matchable), receipt)
    } catch (error) {
      if (asOutcome(error).kind === 'prospect_erased') return false
      throw error
    }
  }
