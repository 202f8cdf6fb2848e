import { unavailable } from '../../core/engine/failures.ts'
import { isConnectionFatal, unavailableUnlessRejected } from './error-codes.ts'
import {
  endPool,
  openConnection,
  type Pool,
  type PoolCounts,
  type PostgresSettings,
  type Sql,
} from './open.ts'
import type { Ask } from './sql.ts'

type Connection = { readonly pool: Pool; readonly until: number }

export type Connected = { readonly ask: Ask; readonly close: () => Promise<void> }
/** Sends statements without limits, on connections that the embedder manages. */
export const askOn =
  (sql: Sql): Ask =>
  async (statement) =>
    statement(sql)

/** Time after the statement timeout for PostgreSQL's error to arrive. */
const GRACE_MS = 1_000
/** Random lifetime, so that connections are not all replaced at the same moment. */
const lifeMs = (): number => 60_000 * (1 + Math.random())

/**
 * Connections to PostgreSQL behind a semaphore, which limits the statements in flight and those waiting. The driver
 * does not settle every statement whose connection died, so each has a timeout here. A connection that misses it is
 * replaced, as is one lost during a statement: the driver keeps unsent bytes and the last error for the next.
 *
 * Each connection is a driver pool of one: a larger, partly idle pool gets slower with every statement, because it
 * searches every slot that has ever held a connection. Each is replaced after a minute or two: a plan made when the
 * tables were empty may be a bad one later.
 */
export const connect = (settings: PostgresSettings): Connected => {
  const connections = new Set<Connection>()
  const free: Connection[] = []
  let closed = false
  const semaphore = createSemaphore({ ...settings, inFlightMax: settings.connectionsMax })
  settings.observer?.pool(semaphore.counts)

  const discard = (connection: Connection): void => {
    connections.delete(connection)
    void endPool(connection.pool, 0)
  }
  const take = (): Connection => {
    const used = free.pop()
    if (used !== undefined && performance.now() < used.until) return used
    if (used !== undefined) discard(used)
    const connection = { pool: openConnection(settings), until: performance.now() + lifeMs() }
    connections.add(connection)
    return connection
  }

  const ask: Ask = async (statement, tenantId) => {
    const acquired = semaphore.acquire(tenantId ?? '')
    const release = acquired instanceof Promise ? await acquired : acquired
    if (closed) {
      release()
      throw unavailable('The service is stopping.')
    }
    const connection = take()
    const beganMs = performance.now()
    let isLost = false
    let outcome: 'answered' | 'failed' = 'failed'
    try {
      const rows = await withTimeout(statement(connection.pool), settings.statementMsMax + GRACE_MS)
      outcome = 'answered'
      return rows
    } catch (error) {
      isLost = isConnectionFatal(error)
      return unavailableUnlessRejected(error)
    } finally {
      settings.observer?.statement(performance.now() - beganMs, outcome)
      if (isLost) discard(connection)
      else free.push(connection)
      release()
    }
  }
  const close = async (): Promise<void> => {
    closed = true
    await Promise.all([...connections].map(({ pool }) => endPool(pool, 5)))
  }
  return { ask, close }
}

export const NO_ANSWER_IN_TIME = 'The database did not answer in time.'

/**
 * Refuses `unavailable` if PostgreSQL has not answered in time. The driver itself retries for ever when an address does
 * not exist, or accepts connections and drops them.
 */
export const withTimeout = <Answer>(asked: PromiseLike<Answer>, msMax: number): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const cancel = callAfter(msMax, () => reject(unavailable(NO_ANSWER_IN_TIME)))
    const end =
      <Result>(settle: (result: Result) => void) =>
      (result: Result) => {
        cancel()
        settle(result)
      }
    asked.then(end(resolve), end(reject))
  })

/** A timer that is this late belongs to a process that stood still: it was stopped, or nothing was left for it to run on. */
const LATE_MS = 500

/**
 * Calls a function after this time, unless it is cancelled. After a process stood still its timers are over before it has
 * read what arrived meanwhile, or sent what it held: then it has the same time once more.
 */
const callAfter = (ms: number, act: () => void): (() => void) => {
  const dueMs = performance.now() + ms
  let timer = setTimeout(() => {
    if (performance.now() - dueMs < LATE_MS) act()
    else timer = setTimeout(act, ms)
  }, ms)
  return () => clearTimeout(timer)
}

type Limits = { readonly inFlightMax: number; readonly waitingMax: number; readonly waitMsMax: number }
type Queue = { readonly key: string; inFlight: number; readonly waiting: Set<Waiter> }
type Waiter = { readonly admit: () => void; readonly refuse: () => void }

/**
 * At most `inFlightMax` callers hold it at a time; up to `waitingMax` wait, none longer than `waitMsMax`. Callers with
 * the same key, such as a tenant's, hold at most half of it, and keys take turns. If too many wait, the key with most
 * callers loses one. `acquire` returns the function that releases, or a promise of it, and refuses all others with
 * `unavailable`. Without keys, another tenant's small write takes 1.6 times as long beside the flood `updatePageGroup`
 * of test/faults/fair-share.fault.ts.
 */
export const createSemaphore = ({ inFlightMax, waitingMax, waitMsMax }: Limits) => {
  const queues = new Map<string, Queue>()
  const ofOneKeyMax = Math.max(1, Math.floor(inFlightMax / 2))
  let inFlight = 0
  let waiting = 0

  const hasRoom = ({ key, inFlight }: Queue): boolean => key === '' || inFlight < ofOneKeyMax
  const admitNext = () => {
    for (const queue of queues.values()) {
      const [first] = queue.waiting
      if (first === undefined || !hasRoom(queue)) continue
      // The other keys have their turns before this key's next caller.
      queues.delete(queue.key)
      queues.set(queue.key, queue)
      return first.admit()
    }
  }
  const count = (queue: Queue, change: 1 | -1) => {
    inFlight += change
    queue.inFlight += change
    forgetIdle(queue)
  }
  const forgetIdle = ({ key, inFlight, waiting }: Queue) => {
    if (inFlight === 0 && waiting.size === 0) queues.delete(key)
  }
  const take = (queue: Queue) => {
    count(queue, 1)
    return () => {
      count(queue, -1)
      admitNext()
    }
  }
  const longest = () => [...queues.values()].reduce((a, b) => (b.waiting.size > a.waiting.size ? b : a), NONE)

  return {
    acquire: (key = ''): (() => void) | Promise<() => void> => {
      const queue = queues.get(key) ?? { key, inFlight: 0, waiting: new Set() }
      const isFree = inFlight < inFlightMax && hasRoom(queue)
      if (!isFree && waiting >= waitingMax) {
        const most = longest().waiting
        if (most.size <= queue.waiting.size + 1) throw tooMany()
        const [oldest] = most
        oldest?.refuse()
      }
      queues.set(key, queue)
      if (isFree) return take(queue)
      return new Promise((resolve, reject) => {
        const leave = () => {
          cancel()
          queue.waiting.delete(waiter)
          waiting--
        }
        const waiter: Waiter = {
          admit: () => {
            leave()
            resolve(take(queue))
          },
          refuse: () => {
            leave()
            forgetIdle(queue)
            reject(tooMany())
          },
        }
        const cancel = callAfter(waitMsMax, waiter.refuse)
        queue.waiting.add(waiter)
        waiting++
      })
    },
    counts: (): PoolCounts => ({ inFlight, waiting }),
  }
}

const NONE: Queue = { key: '', inFlight: 0, waiting: new Set() }
const tooMany = () => unavailable('Too many statements wait for the database.')
