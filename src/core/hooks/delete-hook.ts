import type { HookKey } from '../ports/hooks.ts'
import type { Needs } from '../ports/store.ts'
import { hookNotFound } from './get-hook.ts'

/** Deletes a hook: its address is unknown from then on. Refuses `hook_not_found`. */
export const deleteHook =
  ({ store }: Pick<Needs<'hooks'>, 'store'>) =>
  async ({ tenantId, hookId }: HookKey): Promise<void> => {
    if (!(await store.hooks.remove({ tenantId, hookId }))) hookNotFound()
  }
