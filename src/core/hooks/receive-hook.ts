import { ATTRIBUTES_MAX } from '../../shapes/attributes.ts'
import { ITEMS_MAX } from '../../shapes/prospect-log.ts'
import { logProspectActivities } from '../activities/log-prospect-activities.ts'
import type { LoggedActivity } from '../activities/log-prospect-activity.ts'
import { type NewActivity, weightOf } from '../activities/new-log.ts'
import { refuse } from '../engine/failures.ts'
import { asOutcome } from '../engine/outcome.ts'
import { isoTime } from '../engine/times.ts'
import type { HookKey, Hooks, StoredHook } from '../ports/hooks.ts'
import type { Needs } from '../ports/store.ts'
import type { ChallengeAnswer } from './challenge.ts'
import { type Delivery, loopIn, multiplicationIn } from './delivery.ts'
import { hookNotFound } from './get-hook.ts'
import type { HookTools } from './hook-tools.ts'
import { logForHook } from './log-for-hook.ts'
import { collectWarnings } from './read-body.ts'
import { isUnidentified, type ReadyHook, readyHook } from './ready-hook.ts'
import { warnAboutKeys } from './warn-about-keys.ts'

/** The result of a delivery. */
export type Received =
  | {
      readonly prospectLogIds: readonly string[]
      /** Whether all of them were logged by an earlier delivery. */
      readonly replayed: boolean
      /** Present if some of it is about an erased person; that is not stored. */
      readonly ignored?: 'prospect_erased'
    }
  | { readonly ignored: 'prospect_erased' }
  /** The text to return to a vendor that checks the address. */
  | ChallengeAnswer
type Steps = {
  /** Called once a delivery is verified, before anything is logged. May refuse. */
  readonly onVerified?: () => void
  /** Called after each thousand with how many activities were logged, replays aside. */
  readonly onLogged?: (activities: number) => void
  /** Called if the trap is filled: nothing is logged, and the result does not show it. */
  readonly onTrapped?: () => void
  /** Called if the delivery was accepted with a warning. */
  readonly onWarned?: () => void
  /** Resolves when this many activities may be logged. */
  readonly nextTurn?: (items: number) => Promise<void> | undefined
}
type Seen = { receivedMs?: number; refusedMs?: number; refusal?: string; warnedMs?: number; warning?: string }
/** Minimum time between two writes of a hook's last deliveries. */
const SEEN_MS = 10_000
const HOOK_ID = /^hook_[a-z0-9]{26}$/

/** Hooks that are enabled, kept in memory like API keys. */
type KnownHooks = {
  readonly find: (hookId: string) => StoredHook | Promise<StoredHook | null>
  /** Looks one up as if it were not remembered, so that both take equally long. */
  readonly findUncached: (hookId: string) => Promise<StoredHook | null>
  readonly forget: () => void
}
type Deps = Needs<'hooks'> & {
  readonly hooks: HookTools
  readonly known: KnownHooks
  readonly logProspectActivity: (activity: NewActivity) => Promise<LoggedActivity>
  /** Calls this after so many milliseconds, if the process still runs. */
  readonly later: (ms: number, act: () => void) => void
}

/** The hooks of these ids that are enabled. */
export const findEnabled =
  (hooks: Pick<Hooks, 'findByIds'>) =>
  async (hookIds: readonly string[]): Promise<readonly StoredHook[]> =>
    (await hooks.findByIds(hookIds)).filter(({ status }) => status === 'enabled')

/** Receives deliveries from vendors: finds the hook, verifies the delivery, and logs the activities in it. */
export const receiveHooks = ({ store, clock, newId, hooks, known, logProspectActivity, later }: Deps) => {
  /** Most deliveries hold one activity, which needs neither waves nor another turn. */
  const logAll = (
    hook: ReadyHook,
    activities: readonly NewActivity[],
    beforeList: Steps['nextTurn'],
  ): Promise<readonly (LoggedActivity | Error)[]> => {
    const logOne = logForHook(hook, logProspectActivity)
    const [only] = activities
    if (only !== undefined && activities.length === 1)
      return logOne(only).then(
        (logged) => [logged],
        (error) => [error],
      )
    const logMany = logProspectActivities({ logProspectActivity: logOne, clock, newId })
    return logMany({ inputs: activities, prepare: (activity) => activity, weightOf, beforeList })
  }
  const ready = new WeakMap<StoredHook, ReadyHook>()
  /** The unsaved facts of each hook seen within the last ten seconds, saved when they are over. */
  const seen = new Map<string, Seen>()

  /** Saves at once unless that was just done. Not awaited: losing one does no harm. */
  const markSeen = ({ tenantId, hookId }: HookKey, now: Seen): void => {
    const waiting = seen.get(hookId)
    if (waiting !== undefined) {
      Object.assign(waiting, now)
      return
    }
    const { receivedMs, refusedMs, warnedMs, refusal = null, warning = null } = now
    const timeOf = (ms: number | undefined) => (ms === undefined ? null : isoTime(ms))
    const received = {
      lastReceivedAt: timeOf(receivedMs),
      lastWarnedAt: timeOf(warnedMs),
      lastWarning: warning,
    }
    const refused = { lastRefusedAt: timeOf(refusedMs), lastRefusal: refusal }
    store.hooks.markSeen({ tenantId, hookId }, { ...received, ...refused }).catch(() => {})
    const unsaved: Seen = {}
    seen.set(hookId, unsaved)
    later(SEEN_MS, () => {
      seen.delete(hookId)
      if (Object.keys(unsaved).length > 0) markSeen({ tenantId, hookId }, unsaved)
    })
  }

  return {
    /** Call it after the signal `keys`. */
    forget: known.forget,
    /**
     * The hook at this address. Refuses `hook_not_found`: unknown, disabled, or a wrong token, after a look-up in
     * each case.
     */
    find: async (hookId: string, token?: string): Promise<ReadyHook> => {
      const remembered = HOOK_ID.test(hookId) ? await known.find(hookId) : null
      if (remembered === null) return hookNotFound()
      const hook = ready.get(remembered) ?? readyHook(remembered, hooks)
      ready.set(remembered, hook)
      if (hook.isAddressedBy(token, clock())) return hook
      const stored = await known.findUncached(hookId)
      const current = stored && readyHook(stored, hooks)
      return current?.isAddressedBy(token, clock()) ? current : hookNotFound()
    },

    /**
     * Verifies a delivery and logs it. Another body under the same idempotency key is a replay, because vendors change
     * counters between attempts. Refuses `invalid_signature`, `loop_detected`, `unavailable`, and `invalid_request` for a
     * GET that identifies no one.
     */
    receive: async (hook: ReadyHook, received: Delivery, steps: Steps = {}): Promise<Received> => {
      const now = clock()
      const asked = hook.challengeIn(received, 'unverified')
      if (asked !== null) return asked
      if (!hook.isDelivery(received)) return NOTHING
      const opened = hook.opened(received, now)
      const reason = opened.refusal ?? loopIn(received)
      if (reason !== null) {
        markSeen(hook, { refusedMs: now, refusal: reason })
        return refuse(opened.refusal === null ? 'loop_detected' : 'invalid_signature', reason)
      }
      steps.onVerified?.()
      const delivery = opened.delivery()
      const challenge = hook.challengeIn(delivery, 'verified')
      if (challenge !== null) return challenge
      const warnings = collectWarnings('The last body')
      const activities = await hook.activitiesIn(delivery, now, warnings.warn)
      if (activities === null) {
        steps.onTrapped?.()
        return { prospectLogIds: [newId('prospectlog')], replayed: false }
      }
      const multiplication = multiplicationIn(received, activities.length)
      if (multiplication !== null) {
        markSeen(hook, { refusedMs: now, refusal: multiplication })
        return refuse('loop_detected', multiplication)
      }
      // Anything may follow a link or read an address again: only a query with a person in it is meant as a delivery.
      if (received.method === 'GET' && activities.every(isUnidentified)) {
        markSeen(hook, { refusedMs: now, refusal: NO_ONE_IN_QUERY })
        return refuse('invalid_request', NO_ONE_IN_QUERY)
      }
      const results: ReturnType<typeof resultOf>[] = []
      let loggedCount = 0
      for (let begin = 0; begin < activities.length; begin += ITEMS_MAX) {
        const outcomes = await logAll(hook, activities.slice(begin, begin + ITEMS_MAX), steps.nextTurn)
        loggedCount += outcomes.filter((outcome) => !(outcome instanceof Error) && !outcome.replayed).length
        steps.onLogged?.(loggedCount)
        results.push(...outcomes.map(resultOf))
      }
      warnAboutKeys(
        results.map((result) => result?.isAboutAnother === true),
        warnings.warn,
      )
      if (results.some((result) => result?.isOverfull)) warnings.warn(NO_ROOM)
      const warning = warnings.text()
      markSeen(hook, { receivedMs: now, ...(warning !== null && { warnedMs: now, warning }) })
      if (warning !== null) steps.onWarned?.()
      const logged = results.flatMap((result) => result ?? [])
      const ignored = logged.length < results.length ? ({ ignored: 'prospect_erased' } as const) : {}
      if (logged.length === 0 && results.length > 0) return { ignored: 'prospect_erased' }
      const prospectLogIds = logged.map(({ prospectLogId }) => prospectLogId)
      const replayed = logged.length > 0 && logged.every(({ replayed }) => replayed)
      return { prospectLogIds, replayed, ...ignored }
    },
  }
}
export type HookReceiver = ReturnType<typeof receiveHooks>

/** The answer to a GET or HEAD by which some vendors check the address. */
const NOTHING: ChallengeAnswer = { challenge: '', contentType: 'text/plain' }
const NO_ONE_IN_QUERY =
  'The query has no email or ID at a mapped place. If a form sent it, its tag needs method="post".'

const NO_ROOM = `has attributes that were not stored: the prospect would have more than ${ATTRIBUTES_MAX}`

/** The result to return; null for a person who was erased. */
const resultOf = (outcome: LoggedActivity | Error) => {
  if (!(outcome instanceof Error)) {
    const { value, replayed, isAboutAnother } = outcome
    const isOverfull = value.ignored?.some((name) => name.startsWith('attributes/')) === true
    return { prospectLogId: value.prospectLogId, replayed, isAboutAnother, isOverfull }
  }
  if (asOutcome(outcome).kind === 'prospect_erased') return null
  throw outcome
}
