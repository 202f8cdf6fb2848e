import type { Hook, NewHook } from '../../shapes/hook.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
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
  HookRules & { readonly tenantId: string }

/** Creates a hook. Its path contains its token, if it has one, for the only time. Refuses `limit_reached`, `invalid_request`. */
export const createHook =
  ({ store, clock, newId, hooks }: Deps) =>
  async ({ tenantId, source, description, ...rules }: HookCreation): Promise<Result<Hook>> => {
    const { sealed, token } = issueSecret(hooks, rules.verify)
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
    }
    const added = await decideAndSave({
      recall: () => store.hooks.slots(tenantId),
      decide: (taken) => {
        const slot = freeSlot(taken)
        const added: StoredHook = { ...hook, hookId: newId('hook'), slot }
        return { answer: added, change: added }
      },
      record: (change) => store.hooks.add(change),
    })
    return { value: hookOf(added, hooks, token) }
  }

/** Refuses `limit_reached`. */
const freeSlot = (taken: readonly number[]): number => {
  const slot = SLOTS.find((slot) => !taken.includes(slot))
  return slot ?? refuse('limit_reached', `A tenant has at most ${SLOTS.length} hooks.`)
}
