import type { HookTrial, HookTrialResult } from '../../shapes/hook.ts'
import type { HookWant } from '../ports/hooks.ts'
import type { Needs } from '../ports/store.ts'
import { existingHook, type HookTools } from './hooks.ts'
import { readyHook } from './ready-hook.ts'

type Deps = Omit<Needs<'hooks'>, 'newId'> & { readonly hooks: HookTools }

/** What would become of a delivery. Nothing is stored. Refuses `hook_not_found`. */
export const tryHook =
  ({ store, clock, hooks }: Deps) =>
  async ({ tenantId, hookId, headers, body }: HookWant & HookTrial): Promise<HookTrialResult> => {
    const hook = readyHook(await existingHook(store, { tenantId, hookId }), hooks)
    const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
    const url = hooks.publicUrl && `${hooks.publicUrl}/hooks/${hookId}`
    const delivery = { headers: Object.fromEntries(named), body: Buffer.from(body), method: 'POST', url }
    const now = clock()
    const reason = hook.refusalOf(delivery, now)
    const activities = hook
      .activitiesIn(delivery, now)
      .map(({ tenantId, apiKeyId, isVerified, ...shown }) => shown)
    return { verified: reason === null, reason, activities }
  }
