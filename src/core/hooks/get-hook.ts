import type { Hook } from '../../shapes/hook.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import type { HookKey, StoredHook } from '../ports/hooks.ts'
import type { Needs } from '../ports/store.ts'
import { rulesOf } from './hook-rules.ts'
import type { HookTools } from './hook-tools.ts'

const HIDDEN = '•••'

type Deps = Pick<Needs<'hooks'>, 'store'> & { readonly hooks: HookTools }

/** Reads one hook. Refuses `hook_not_found`. */
export const getHook =
  ({ store, hooks }: Deps) =>
  async (key: HookKey): Promise<Result<Hook>> => ({
    value: hookOf(await existingHook(store, key), hooks),
  })

/** Refuses `hook_not_found`. */
export const existingHook = async (
  store: Deps['store'],
  { tenantId, hookId }: HookKey,
): Promise<StoredHook> => (await store.hooks.find({ tenantId, hookId })) ?? hookNotFound()

export const hookNotFound = (): never => refuse('hook_not_found', 'Hook not found.')

/** The fields of a hook that callers see. Its path contains the token only if that was just issued. */
export const hookOf = (hook: StoredHook, { publicUrl }: HookTools, token?: string): Hook => {
  const rules = rulesOf(hook)
  const { verify, hmac, map, each, redirectTo, origins, trap, challenge, answer } = rules
  const path = `/hooks/${hook.hookId}${hmac ? '' : `/${token ?? HIDDEN}`}`
  return {
    hookId: hook.hookId,
    tenantId: hook.tenantId,
    source: hook.source,
    description: hook.description,
    status: hook.status,
    verify,
    map,
    each,
    redirectTo,
    origins,
    trap,
    challenge,
    answer,
    unidentified: rules.unidentified,
    fieldsAsAttributes: rules.fieldsAsAttributes,
    attributesMode: rules.attributesMode,
    path,
    url: publicUrl === null ? null : publicUrl + path,
    createdAt: hook.createdAt,
    updatedAt: hook.updatedAt,
    lastReceivedAt: hook.lastReceivedAt,
    lastRefusal: seenAt(hook.lastRefusedAt, hook.lastRefusal),
    lastWarning: isWarned(hook) ? seenAt(hook.lastWarnedAt, hook.lastWarning) : null,
  }
}

/** Whether no delivery without a warning was accepted since the last warning. */
const isWarned = ({ lastWarnedAt, lastReceivedAt }: StoredHook): boolean =>
  lastWarnedAt !== null && lastWarnedAt >= (lastReceivedAt ?? '')

const seenAt = (at: string | null, reason: string | null) =>
  at === null || reason === null ? null : { at, reason }
