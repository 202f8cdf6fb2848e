import { unavailable } from '../../core/engine/failures.ts'
import { isConnectionFatal, unavailableUnlessRejected } from './error-codes.ts'
import { endPool, openConnection, type Pool, type PostgresSettings, type Sql } from './open.ts'
import { createSemaphore } from './semaphore.ts'
import type { Ask } from './sql.ts'
import { withTimeout } from './with-timeout.ts'

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
