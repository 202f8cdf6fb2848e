import { setTimeout as pause } from 'node:timers/promises'
import type { Signal, SignalListener } from '../../core/ports/store.ts'
import { endPool, openPostgres } from '../postgres/open.ts'
import { withTimeout } from '../postgres/with-timeout.ts'
import { createListeners } from '../stores/listeners.ts'
import type { Ask } from './sql.ts'
import { textArray } from './sql.ts'

const NOTIFY_PAUSE_MS = 200
const SIGNALS_MAX = 100
/** A connection that goes silent right after a heartbeat is noticed after two intervals: less than a second. */
const HEARTBEAT_MS = 400
const ANSWER_MS_MAX = 5_000
/** How long the list of nodes is kept: nodes may be added to a cluster. */
const NODES_AGE_MS_MAX = 10_000

/**
 * Signals between the processes on one database, by LISTEN and NOTIFY. As long as a process cannot be sure that its
 * listening connection works, it emits every signal at each heartbeat, because it may have missed one. That is always so
 * without a `url` to listen at.
 *
 * On a cluster a NOTIFY stays on its node, so a process listens at the `others` too. One of them may be away for hours:
 * its connection counts as unsure for some seconds only.
 */
export const postgresSignals = (
  url: string | null,
  ask: Ask,
  others: () => Promise<readonly string[]> = async () => [],
) => {
  const listeners = createListeners()
  const closing = new AbortController()
  let running: Promise<void> | undefined
  const unsent = new Set<Signal>()
  let timer: NodeJS.Timeout | undefined

  /** Sends all signals in one transaction. If there are too many, it signals that any tenant may have changed. */
  const send = (): void => {
    const kinds = unsent.size > SIGNALS_MAX ? [...unsent].map((signal) => signal.split(' ')[0] ?? '') : unsent
    const signals = textArray([...new Set(kinds)])
    unsent.clear()
    timer = undefined
    ask((sql) => sql`select pg_notify('prospect_pages', unnest(${signals}::text[]))`).catch(() => {})
  }

  const beat = () => pause(HEARTBEAT_MS, undefined, { signal: closing.signal })

  const wanted = new Set([url])
  /** Listens on one connection until it is lost, silent or no longer needed, or the store is closed. */
  const listen = async (address: string, emitIfStale: (isSure: boolean) => void): Promise<void> => {
    let isLost = false
    let fail = () => {}
    const lose = () => {
      isLost = true
      fail()
    }
    closing.signal.addEventListener('abort', lose)
    const sql = openPostgres(address, {
      max: 1,
      idle_timeout: 0,
      max_lifetime: null,
      onnotify: (_channel, signal) => listeners.emit(signal as Signal),
      onclose: lose,
    })
    const answered = async (asked: PromiseLike<unknown>): Promise<void> => {
      // No race with one long-lived promise, which would keep memory of every heartbeat.
      const answer = new Promise((resolve, reject) => {
        fail = () => reject(new Error('The listening connection is lost.'))
        asked.then(resolve, reject)
      })
      const unsure = setInterval(emitIfStale, HEARTBEAT_MS, false)
      await withTimeout(answer, ANSWER_MS_MAX).finally(() => clearInterval(unsure))
      emitIfStale(true)
    }
    try {
      await answered(sql`listen prospect_pages`)
      listeners.emitAll()
      listeners.emit('prospects')
      while (!isLost && wanted.has(address)) {
        await answered(sql`select 1`)
        await beat()
      }
    } finally {
      closing.signal.removeEventListener('abort', lose)
      await endPool(sql, 0)
    }
  }

  const listenAlways = async (address: string | null, doubtfulMsMax = Infinity): Promise<void> => {
    let sureAt = -Infinity
    const emitIfStale = (isSure: boolean) => {
      if (isSure) sureAt = performance.now()
      else if (!(performance.now() - sureAt > doubtfulMsMax)) listeners.emitAll()
    }
    while (!closing.signal.aborted && wanted.has(address)) {
      if (address !== null) await listen(address, emitIfStale).catch(() => {})
      emitIfStale(false)
      await beat().catch(() => {})
    }
  }

  const run = async (): Promise<void> => {
    const own = listenAlways(url)
    const heard = new Map<string, Promise<unknown>>()
    while (!closing.signal.aborted) {
      const addresses = await others().catch(() => null)
      for (const address of heard.keys()) if (addresses?.includes(address) === false) wanted.delete(address)
      for (const address of addresses ?? []) {
        wanted.add(address)
        if (heard.has(address)) continue
        const listening = listenAlways(address, ANSWER_MS_MAX).finally(() => heard.delete(address))
        heard.set(address, listening)
      }
      const restMs = addresses === null ? HEARTBEAT_MS : NODES_AGE_MS_MAX
      await pause(restMs, undefined, { signal: closing.signal }).catch(() => {})
    }
    await Promise.all([own, ...heard.values()])
  }

  return {
    watch: (listener: SignalListener) => {
      const remove = listeners.add(listener)
      running ??= run()
      return remove
    },
    /**
     * Notifies this process at once, and the others after a pause, once for all signals of that time: commits with a
     * NOTIFY wait for each other. Ending a key notifies in its statement. Deliveries concern only this process.
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
      await running
    },
  }
}
