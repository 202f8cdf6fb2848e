import type { Signal, SignalListener } from '../../core/ports/store.ts'

/**
 * The listeners of one store. What they are notified of is already committed, so a listener that fails is reported on
 * stderr and disturbs neither the write nor the other listeners.
 */
export const createListeners = () => {
  const listeners = new Set<SignalListener>()
  const call = async (listener: SignalListener, signal: Signal) => listener(signal)
  const emit = (...signals: readonly Signal[]): void => {
    for (const signal of signals)
      for (const listener of listeners) call(listener, signal).catch(console.error)
  }
  return {
    /** Returns what removes the listener again. */
    add: (listener: SignalListener) => {
      listeners.add(listener)
      return (): void => void listeners.delete(listener)
    },
    emit,
    /**
     * Some signals of other processes may have been missed. Not those of prospects: they only save time, and memories of
     * them end soon. Nor those of deliveries: they come only from this process.
     */
    emitAll: (): void => emit('keys', 'versions', 'events', 'numbered'),
    clear: (): void => listeners.clear(),
  }
}
