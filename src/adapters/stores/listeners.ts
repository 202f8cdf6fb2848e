import type { Signal, SignalListener } from '../../core/ports/store.ts'

/**
 * The listeners of one store. They are notified of committed changes, so a listener that fails is reported on stderr
 * and affects neither the write nor the other listeners.
 */
export const createListeners = () => {
  const listeners = new Set<SignalListener>()
  const call = async (listener: SignalListener, signal: Signal) => listener(signal)
  const emit = (...signals: readonly Signal[]): void => {
    for (const signal of signals) {
      for (const listener of listeners) call(listener, signal).catch(console.error)
    }
  }
  return {
    /** Returns a function that removes the listener. */
    add: (listener: SignalListener) => {
      listeners.add(listener)
      return (): void => void listeners.delete(listener)
    },
    emit,
    /**
     * Emits the signals of other processes that may have been missed. Not `prospects`: its listeners also poll. Not
     * `deliveries`: they come only from this process.
     */
    emitAll: (): void => emit('keys', 'versions', 'events', 'numbered'),
    clear: (): void => listeners.clear(),
  }
}
