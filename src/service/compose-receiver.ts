import { stopwatch } from '../adapters/stopwatch.ts'
import { rememberRows } from '../adapters/stores/remember-rows.ts'
import type { HookTools } from '../core/hooks/hook-tools.ts'
import { findEnabled, type HookReceiver, receiveHooks } from '../core/hooks/receive-hook.ts'
import type { Needs } from '../core/ports/store.ts'
import type { UseCases } from './operations/operations.ts'

const HOOKS_REMEMBERED_MAX = 10_000

type Deps = Needs<'hooks' | 'hasAllSignals'> &
  Pick<UseCases, 'logProspectActivity'> & {
    readonly hooks: HookTools
    /** How long a hook needs no look-up unless hooks change. */
    readonly hooksRememberedMsMax: number
  }

/** The receiver of deliveries over a store. `forget`: call it when hooks may have changed elsewhere. */
export const composeReceiver = ({ hooksRememberedMsMax, ...deps }: Deps): HookReceiver => {
  const { store, clock, newId, hooks, logProspectActivity } = deps
  const limits = {
    rowsMax: HOOKS_REMEMBERED_MAX,
    msMax: hooksRememberedMsMax,
    hasAllSignals: () => store.hasAllSignals?.() ?? true,
  }
  const known = rememberRows(findEnabled(store.hooks), ({ hookId }) => hookId, stopwatch, limits)
  return receiveHooks({ store, clock, newId, hooks, known, logProspectActivity, later: callLater })
}

/** Calls a function later, unless the process ends first. */
const callLater = (ms: number, act: () => void): void => void setTimeout(act, ms).unref()
