import { setTimeout as pause } from 'node:timers/promises'
import type { PostgresUrl } from '../../config/database-address.ts'
import type { Signal, SignalListener } from '../../core/ports/store.ts'
import { createListeners } from '../stores/listeners.ts'
import { endPool, openPostgres } from './open.ts'
import type { Ask } from './sql.ts'
import { textArray } from './sql.ts'
import { withTimeout } from './with-timeout.ts'

const NOTIFY_PAUSE_MS = 200
const SIGNALS_MAX = 100
const HEARTBEAT_MS = 400
const ANSWER_MS_MAX = 5_000
const CLOSE_MS_MAX = 1_000
/** Less than a second: until a key that was revoked elsewhere is refused, a request takes its time, too. */
const SIGNALS_AGE_MS_MAX = 900
/** The heart rests once nobody has asked for this long whether all signals have arrived. */
const RESTS_AFTER_MS = 2_000

/**
 * Signals between the processes on one database, by LISTEN and NOTIFY. PostgreSQL sends them before the answer to a later
 * statement, so the answer to a heartbeat proves that none from before it was missed. While a heartbeat is not answered,
 * this process emits every signal again and again, because it may have missed one. That is always so without a `url` to
 * listen at.
 *
 * An idle process has no heartbeat, so that a database without work can sleep. The first request finds that signals may
 * be missing, looks up its key, and starts the heart.
 */
export const postgresSignals = (url: PostgresUrl | null, ask: Ask) => {
  const listeners = createListeners()
  const closing = new AbortController()
  let running: Promise<void> | undefined
  const unsent = new Set<Signal>()
  let timer: NodeJS.Timeout | undefined
  /** All signals from before this time were emitted. */
  let completeUntilMs = Number.NEGATIVE_INFINITY
  let lastAskedMs = performance.now()
  let endRest = () => {}

  const emitAll = (): void => {
    completeUntilMs = performance.now()
    listeners.emitAll()
  }

  /** Sends all signals in one transaction. If there are too many, it signals that any tenant may have changed. */
  const send = async (): Promise<void> => {
    const kinds = unsent.size > SIGNALS_MAX ? [...unsent].map((signal) => signal.split(' ')[0] ?? '') : unsent
    const signals = textArray([...new Set(kinds)])
    unsent.clear()
    timer = undefined
    await ask((sql) => sql`select pg_notify('prospect_pages', unnest(${signals}::text[]))`).catch(() => {})
  }

  const beat = () => pause(HEARTBEAT_MS, undefined, { signal: closing.signal })
  const mayRest = () => performance.now() - lastAskedMs > RESTS_AFTER_MS

  /** Listens on one connection until it is lost or silent, or the store is closed. */
  const listen = async (address: PostgresUrl): Promise<void> => {
    let isLost = false
    let rejectPending = () => {}
    const onLost = () => {
      isLost = true
      rejectPending()
      endRest()
    }
    closing.signal.addEventListener('abort', onLost)
    const sql = openPostgres(address, {
      max: 1,
      idle_timeout: 0,
      max_lifetime: null,
      onnotify: (_channel, signal) => listeners.emit(signal as Signal),
      onclose: onLost,
    })
    const whileUnsure = async (asked: PromiseLike<unknown>): Promise<void> => {
      // No race with one long-lived promise, which would keep memory of every heartbeat.
      const answer = new Promise((resolve, reject) => {
        rejectPending = () => reject(new Error('The listening connection is lost.'))
        asked.then(resolve, reject)
      })
      const unsure = setInterval(emitAll, HEARTBEAT_MS)
      await withTimeout(answer, ANSWER_MS_MAX).finally(() => clearInterval(unsure))
    }
    try {
      await whileUnsure(sql`listen prospect_pages`)
      emitAll()
      listeners.emit('prospects')
      while (!isLost) {
        const sentMs = performance.now()
        await whileUnsure(sql`select 1`)
        completeUntilMs = Math.max(completeUntilMs, sentMs)
        await beat()
        if (mayRest() && !isLost)
          await new Promise<void>((resolve) => {
            endRest = resolve
          })
      }
    } finally {
      closing.signal.removeEventListener('abort', onLost)
      await endPool(sql, 0)
    }
  }

  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      if (url !== null) await listen(url).catch(() => {})
      emitAll()
      await beat().catch(() => {})
    }
  }

  return {
    watch: (listener: SignalListener) => {
      const remove = listeners.add(listener)
      running ??= run()
      return remove
    },
    hasAllSignals: (): boolean => {
      lastAskedMs = performance.now()
      endRest()
      return lastAskedMs - completeUntilMs <= SIGNALS_AGE_MS_MAX
    },
    /**
     * Notifies this process at once, and the others after a pause, once for all signals of that time: commits with a
     * NOTIFY wait for each other. A statement that ends a key notifies itself. Deliveries concern only this process.
     */
    notify: (...signals: readonly Signal[]): void => {
      listeners.emit(...signals)
      for (const signal of signals) if (signal !== 'keys' && signal !== 'deliveries') unsent.add(signal)
      if (unsent.size > 0) timer ??= setTimeout(send, NOTIFY_PAUSE_MS)
    },
    close: async (): Promise<void> => {
      listeners.clear()
      closing.abort()
      clearTimeout(timer)
      // What a command changed last, other processes must hear of too.
      if (unsent.size > 0) await withTimeout(send(), CLOSE_MS_MAX).catch(() => {})
      await running
    },
  }
}
