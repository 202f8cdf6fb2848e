import type { ShareLoop } from '../core/ports/world.ts'

/** Work begins for this long in a tick of the event loop. Then sockets are read, and waiting callers get their turns. */
const TICK_MS_MAX = 8
/** How long ticks may pass without running waiting work, as long as each brings a new connection. */
const CONNECTIONS_MS_MAX = 8

/** Divides the time of the event loop among tenants. A *tick* is one pass of the loop; a *turn* is a tenant's. */
export const createLoopShare = () => {
  /** Callers that wait for the loop, by tenant, in the order of their turns. */
  const waiting = new Map<string, (() => void)[]>()
  let isTickOpen = false
  let tickEndsMs = 0
  let hasNewConnection = false
  let connectionsUntilMs = 0

  /** Called before the first work of a tick, so a tick without any costs nothing. */
  const openTick = (): void => {
    isTickOpen = true
    tickEndsMs = performance.now() + TICK_MS_MAX
    setImmediate(beginNextTick)
  }

  const beginNextTick = (): void => {
    isTickOpen = false
    if (waiting.size === 0) return
    openTick()
    const isForConnections = hasNewConnection && performance.now() < connectionsUntilMs
    hasNewConnection = false
    if (!isForConnections) runWaiting()
  }

  const runWaiting = (): void => {
    const [first] = waiting
    if (first === undefined || performance.now() >= tickEndsMs) {
      connectionsUntilMs = performance.now() + CONNECTIONS_MS_MAX
      return
    }
    const [tenantId, queue] = first
    waiting.delete(tenantId)
    const resume = queue.shift()
    if (queue.length > 0) waiting.set(tenantId, queue)
    resume?.()
    // The caller's work runs in microtasks. Node runs `nextTick` callbacks that a microtask adds once no microtask is
    // left. So the work is done, and its time has passed, when `runWaiting` runs again.
    queueMicrotask(() => process.nextTick(runWaiting))
  }

  const shareLoop: ShareLoop = (tenantId, wasBegun = false) => {
    if (!isTickOpen) openTick()
    if (waiting.size === 0 && performance.now() < tickEndsMs) return undefined
    return new Promise((resolve) => {
      const queue = waiting.get(tenantId)
      if (queue === undefined) waiting.set(tenantId, [resolve])
      else if (wasBegun) queue.unshift(resolve)
      else queue.push(resolve)
    })
  }

  return {
    /**
     * Call this before each piece of work that may take milliseconds. Returns undefined if the work may begin at once,
     * else a promise of the tenant's turn. A tick begins no more work once it has taken `TICK_MS_MAX`; waiting callers
     * then go on one by one, each tenant once before any other goes on again. So a tenant waits for at most one piece of
     * each other tenant. Within a tenant, work that `wasBegun` goes first: it holds memory until its end.
     *
     * Without it the floods `listProspectLogCounts` and `getPageGroup` (test/faults/fair-share.fault.ts) stop SQLite's
     * service: another tenant's small write takes 15 seconds, and `/healthz` does not answer.
     */
    shareLoop,

    /**
     * Call this for each new connection. A tick accepts one, so ticks stay short while more arrive: otherwise probes and
     * new callers would wait for a piece of work for each connection before them.
     */
    noteConnection: (): void => {
      hasNewConnection = true
    },
  }
}

/** All services of a process share its one event loop. */
export const { shareLoop, noteConnection } = createLoopShare()
