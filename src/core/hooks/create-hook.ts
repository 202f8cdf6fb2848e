import { canonical } from '../../json/canonical-json.ts'
import type { Hook, NewHook } from '../../shapes/hook.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { requestHashOf, requireSameSealed } from '../engine/keys.ts'
import type { Replayable } from '../engine/result.ts'
import { freeSlot } from '../engine/slots.ts'
import { isoTime } from '../engine/times.ts'
import type { StoredHook } from '../ports/hooks.ts'
import type { Needs } from '../ports/store.ts'
import { hookOf } from './get-hook.ts'
import { type HookRules, rulesText } from './hook-rules.ts'
import { issueSecret } from './hook-secret.ts'
import type { HookTools } from './hook-tools.ts'

/** How many hooks a tenant may have. */
const HOOKS_MAX = 100

type Deps = Needs<'hooks'> & { readonly hooks: HookTools }
type HookCreation = Pick<NewHook, 'source' | 'description' | 'verify'> &
  HookRules & { readonly tenantId: string; readonly idempotencyKey?: string | undefined }

/**
 * Creates a hook. Its path contains its token, if it has one, for the only time: a replay returns the hook as it is now,
 * without it. Refuses `limit_reached`, `idempotency_key_reused`, `invalid_request`.
 */
export const createHook =
  ({ store, clock, newId, hooks }: Deps) =>
  async ({
    tenantId,
    idempotencyKey,
    source,
    description,
    ...rules
  }: HookCreation): Promise<Replayable<Hook>> => {
    const { sealed, token } = issueSecret(hooks, rules.verify)
    const requestHash = idempotencyKey === undefined ? null : hashOf({ source, description, ...rules })
    const now = isoTime(clock())
    const hook: Omit<StoredHook, 'hookId' | 'slot'> = {
      tenantId,
      source,
      description,
      status: 'enabled',
      rules: rulesText(rules),
      secret: sealed,
      previousSecret: null,
      previousSecretUntil: null,
      createdAt: now,
      updatedAt: now,
      lastReceivedAt: null,
      lastRefusedAt: null,
      lastRefusal: null,
      lastWarnedAt: null,
      lastWarning: null,
      idempotencyKey: idempotencyKey ?? null,
      requestHash: requestHash && hooks.secrets.seal(requestHash),
    }
    const { created, replayed } = await decideAndSave({
      recall: async () => ({
        taken: await store.hooks.slots(tenantId),
        first: idempotencyKey ? await store.hooks.findByKey({ tenantId, idempotencyKey }) : null,
      }),
      decide: ({ taken, first }) => {
        if (first !== null) {
          requireSameSealed(first, requestHash, hooks.secrets, { hookId: first.hookId })
          return { answer: { created: first, replayed: true }, change: null }
        }
        const slot = freeSlot(taken, HOOKS_MAX, 'hooks')
        const created: StoredHook = { ...hook, hookId: newId('hook'), slot }
        return { answer: { created, replayed: false }, change: created }
      },
      record: (change) => store.hooks.add(change),
    })
    return { value: hookOf(created, hooks, replayed ? undefined : token), replayed }
  }

/** The request's hash, by its fields. */
const hashOf = ({ source, description, ...rules }: Omit<HookCreation, 'tenantId'>): string => {
  const { secret }: NewHook['verify'] = rules.verify
  return requestHashOf({ source, description, secret }, canonical(rulesText(rules)))
}
