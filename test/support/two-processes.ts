import type { Test } from 'tap'
import { createNewId } from '../../src/adapters/ids.ts'
import { composeUseCases } from '../../src/compose/use-cases.ts'
import { stoppedClock } from './setting.ts'
import { opened, type StoreKind } from './stores.ts'

/** Two processes on one database: each has a store, ids and gathered use cases of its own. */
export const twoProcesses = async (t: Test, kind: StoreKind) => {
  const tested = await opened(t, kind)
  const clock = stoppedClock()
  const start = async () => {
    const world = { store: await tested.another(), clock, newId: createNewId() }
    return {
      ...world,
      ...composeUseCases({
        ...world,
        requireIdentity: false,
        prospectsRememberedMax: 3,
        listsInFlightMax: 2,
      }),
    }
  }
  const processes = [await start(), await start()] as const
  return { ...tested, clock, processes, turnOf: (i: number) => processes[i % 2 === 0 ? 0 : 1] }
}
