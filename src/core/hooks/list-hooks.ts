import type { SliceQuery } from '../../shapes/slice.ts'
import { sliceOf } from '../engine/slices.ts'
import type { StoredHook } from '../ports/hooks.ts'
import type { Needs } from '../ports/store.ts'
import { hookOf } from './get-hook.ts'
import type { HookTools } from './hook-tools.ts'

type Deps = Pick<Needs<'hooks'>, 'store'> & { readonly hooks: HookTools }

/** Lists a tenant's hooks, newest first. Refuses `invalid_cursor`. */
export const listHooks = ({ store, hooks }: Deps) =>
  sliceOf({
    nameOf: (_: SliceQuery & { readonly tenantId: string }) => 'hooks',
    find: (query) => store.hooks.list(query),
    positionOf: ({ hookId }) => hookId,
    itemOf: (hook: StoredHook) => hookOf(hook, hooks),
  })
