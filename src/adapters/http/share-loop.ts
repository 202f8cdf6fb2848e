import type { ShareLoop } from '../../core/ports/world.ts'

/** Work begins for this long in a turn of the event loop. Then sockets are read and waiting callers get their turns. */
const TURN_MS_MAX = 8
/** How long turns may pass without running waiting work, as long as each brings a new connection. */
const CONNECTIONS_MS_MAX = 8

/** Callers that wait for the loop, by tenant, in the order of their turns. */
const waiting = new Map<string, (() => void)[]>()
let turnEndsMs = 0
let isTurnOpen = false
let hasNewConnection = false
let connectionsUntilMs = 0

/**
 * Call this for each new connection. A turn of the loop accepts one, so turns stay short while others wait for that:
 * probes and new callers would wait for a piece of work for each connection before them.
 */
export const noteConnection = (): void => {
  hasNewConnection = true
}

/**
 * Call this before each piece of work that may take milliseconds. Returns undefined if the work may begin at once, else
 * a promise of the tenant's turn. A turn of the event loop begins no more work once it has taken `TURN_MS_MAX`; waiting
 * callers then go on one by one, each tenant once before any other goes on again. So a tenant waits for at most one
 * piece of each other tenant. Within a tenant, work that `wasBegun` goes first: it holds memory until its end.
 *
 * Without it the floods `listProspectLogCounts` and `getPageGroup` (test/faults/fair-share.fault.ts) stop SQLite's
 * service: another tenant's small write takes 15 seconds, and `/healthz` does not answer. All services of a process
 * share its one loop, so the state belongs to the module.
 */
export const shareLoop: ShareLoop = (tenantId, wasBegun = false) => {
  if (!isTurnOpen) beginTurn()
  if (waiting.size === 0 && performance.now() < turnEndsMs) return undefined
  return new Promise((resolve) => {
    const queue = waiting.get(tenantId)
    if (queue === undefined) waiting.set(tenantId, [resolve])
    else if (wasBegun) queue.unshift(resolve)
    else queue.push(resolve)
  })
}

/** Called before the first work of a turn, so a turn without any costs nothing. */
const beginTurn = (): void => {
  isTurnOpen = true
  turnEndsMs = performance.now() + TURN_MS_MAX
  setImmediate(() => {
    isTurnOpen = false
    if (waiting.size === 0) return
    beginTurn()
    const isShort = hasNewConnection && performance.now() < connectionsUntilMs
    hasNewConnection = false
    if (!isShort) runWaiting()
  })
}

const runWaiting = (): void => {
  const [first] = waiting
  if (first === undefined || performance.now() >= turnEndsMs) {
    connectionsUntilMs = performance.now() + CONNECTIONS_MS_MAX
    return
  }
  const [tenantId, queue] = first
  waiting.delete(tenantId)
  const resolve = queue.shift()
  if (queue.length > 0) waiting.set(tenantId, queue)
  resolve?.()
  // Microtasks end before the next tick: the work that waited for this is done before `runWaiting` runs.
  queueMicrotask(() => process.nextTick(runWaiting))
}
