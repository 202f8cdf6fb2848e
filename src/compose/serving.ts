import { sharedCall } from '../adapters/shared-call.ts'
import { unavailable } from '../core/engine/failures.ts'
import type { Store } from '../core/ports/store.ts'

/** Whether the service is starting, serving or stopping, and what it refuses because of that. */
export const createServing = (store: Store, ready: Store['ready']) => {
  let state: 'starting' | 'serving' | 'stopping' = 'starting'
  const onceStarted =
    <Row>(find: (ids: readonly string[]) => Promise<readonly Row[]>) =>
    async (ids: readonly string[]) => {
      if (state === 'starting') throw unavailable('The service is starting.')
      return find(ids)
    }
  const askStore = async () => {
    if (state !== 'serving') throw unavailable(`The service is ${state}.`)
    return ready()
  }
  return {
    /** Refuses look-ups of keys and hooks before the start: the store may not be migrated yet. */
    store: {
      ...store,
      apiKeys: { ...store.apiKeys, findByHashes: onceStarted(store.apiKeys.findByHashes) },
      hooks: { ...store.hooks, findByIds: onceStarted(store.hooks.findByIds) },
    },
    /** Checks that arrive together ask the database once. */
    ready: sharedCall(askStore),
    start: (): void => {
      state = 'serving'
    },
    stop: (): void => {
      state = 'stopping'
    },
    isStopping: (): boolean => state === 'stopping',
  }
}
