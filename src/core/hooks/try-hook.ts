import type { HookTrial, HookTrialResult } from '../../shapes/hook.ts'
import { ITEMS_MAX } from '../../shapes/prospect-log.ts'
import type { NewActivity } from '../activities/new-log.ts'
import type { Result } from '../engine/result.ts'
import type { HookKey } from '../ports/hooks.ts'
import type { Needs } from '../ports/store.ts'
import { loopIn, multiplicationIn } from './delivery.ts'
import { existingHook } from './get-hook.ts'
import type { HookTools } from './hook-tools.ts'
import { collectWarnings } from './read-body.ts'
import { readyHook } from './ready-hook.ts'
import { warnAboutKeys } from './warn-about-keys.ts'
import { wouldRepeatAnother } from './would-repeat-another.ts'

type Deps = Omit<Needs<'hooks' | 'activities'>, 'newId'> & { readonly hooks: HookTools }

type Tried = HookKey & Pick<HookTrial, 'headers' | 'query' | 'map'> & { readonly body: string | Uint8Array }

/** Tries a delivery, on another map if one is given: returns its result without storing anything. Refuses `hook_not_found`. */
export const tryHook =
  ({ store, clock, hooks }: Deps) =>
  async ({ tenantId, hookId, headers, query, body, map }: Tried): Promise<Result<HookTrialResult>> => {
    const stored = await existingHook(store, { tenantId, hookId })
    const rules = map && { rawJson: JSON.stringify({ ...JSON.parse(stored.rules.rawJson), map }) }
    const hook = readyHook(rules ? { ...stored, rules } : stored, hooks)
    const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
    const url = hooks.publicUrl && `${hooks.publicUrl}/hooks/${hookId}${query && `?${query}`}`
    const sent = { headers: Object.fromEntries(named), body: Buffer.from(body), method: 'POST', url, query }
    const now = clock()
    const opened = hook.opened(sent, now)
    const delivery = opened.delivery()
    const isAsked = hook.challengeIn(sent, 'unverified') !== null
    const refusal = isAsked ? null : (opened.refusal ?? loopIn(sent))
    const isLogged = !isAsked && hook.challengeIn(delivery, 'verified') === null
    const { warn, text: warning } = collectWarnings('The body')
    const activities = isLogged ? await hook.activitiesIn(delivery, now, warn) : []
    const multiplication = multiplicationIn(sent, activities?.length ?? 0)
    const reason = stored.status === 'disabled' ? 'The hook is disabled.' : (refusal ?? multiplication)
    if (activities === null) warn('was not stored: the field in `trap` is filled')
    else warnAboutKeys(await repeatAnother(activities, { store, clock }), warn)
    const shown = (activities ?? []).map(
      ({ tenantId, apiKeyId, isVerified, isShared, hops, keyScope, isKeyOfBody, attributesMode, ...shown }) =>
        shown,
    )
    return { value: { verified: reason === null, reason, warning: warning(), activities: shown } }
  }

/** Which activities would be replays of activities about other people. Looks up as many at once as a batch may hold. */
const repeatAnother = async (
  activities: readonly NewActivity[],
  deps: Parameters<typeof wouldRepeatAnother>[0],
): Promise<readonly boolean[]> => {
  const results: boolean[] = []
  for (let begin = 0; begin < activities.length; begin += ITEMS_MAX) {
    const slice = activities.slice(begin, begin + ITEMS_MAX)
    results.push(...(await Promise.all(slice.map(wouldRepeatAnother(deps)))))
  }
  return results
}
