import type { Signal, SignalListener } from '../core/ports/store.ts'

/**
 * The listeners of one store. What they are notified of is already committed, so a listener that fails is reported on
 * stderr and disturbs neither the write nor the other listeners.
 */
export const createListeners = () => {
  const listeners = new Set<SignalListener>()
  const call = async (listener: SignalListener, signal: Signal) => listener(signal)
  const emit = (signal: Signal): void => {
    for (const listener of listeners) call(listener, signal).catch(console.error)
  }
  return {
    add: (listener: SignalListener): void => void listeners.add(listener),
    emit,
    /** Some signals may have been missed. Not those of prospects: they only save time, and memories of them end soon. */
    emitAll: (): void => {
      emit('keys')
      emit('versions')
      emit('events')
    },
    clear: (): void => listeners.clear(),
  }
}
