import { canonical } from '../../json/canonical-json.ts'
import type { Hook, NewHook } from '../../shapes/hook.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import { requestHashOf, requireSame } from '../engine/keys.ts'
import type { Replayable } from '../engine/result.ts'
import { isoTime } from '../engine/times.ts'
import type { StoredHook } from '../ports/hooks.ts'
import type { Needs } from '../ports/store.ts'
import { hookOf } from './get-hook.ts'
import { type HookRules, rulesText } from './hook-rules.ts'
import { issueSecret } from './hook-secret.ts'
import type { HookTools } from './hook-tools.ts'

/** How many hooks a tenant may have. */
const SLOTS = Array.from({ length: 100 }, (_, i) => i + 1)

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
          // A hash that was sealed with a lost key is not compared.
          const firstHash = first.requestHash && hooks.secrets.open(first.requestHash)
          requireSame({ requestHash: firstHash }, requestHash, { hookId: first.hookId })
          return { answer: { created: first, replayed: true }, change: null }
        }
        const slot = freeSlot(taken)
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

/** Refuses `limit_reached`. */
const freeSlot = (taken: readonly number[]): number => {
  const slot = SLOTS.find((slot) => !taken.includes(slot))
  return slot ?? refuse('limit_reached', `A tenant has at most ${SLOTS.length} hooks.`)
}
