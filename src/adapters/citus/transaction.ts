import { isConnectionFatal } from '../postgres/error-codes.ts'
import { type Ask, type Query, queryOver } from '../postgres/sql.ts'

/** Sends one statement of a transaction. Those that are not waited for are sent at once, one after another. */
export type Send = ReturnType<Query>
/**
 * Runs a transaction at the node of a tenant, for tenants of that node. It commits after all statements that were sent,
 * awaited or not, unless one fails.
 */
export type Transact = <Answer>(tenantId: string, run: (send: Send) => Promise<Answer>) => Promise<Answer>

/**
 * Citus sends a part of a statement that inserts to all nodes, by a two-phase commit. Sent separately, it stays on
 * the node that has the rows. So a write is a transaction of small statements: it reads what its decision assumed, and
 * writes what may be saved.
 */
export const transactOver =
  (ask: Ask): Transact =>
  async <Answer>(tenantId: string, run: (send: Send) => Promise<Answer>) => {
    const [result] = await ask(
      (sql) => transaction(sql, run) as unknown as ReturnType<typeof sql.unsafe<{ answer: Answer }[]>>,
      tenantId,
    )
    return (result as { answer: Answer }).answer
  }

/**
 * COMMIT waits for no answer: it is sent with the last statements. If one of these has failed, it takes all back. Once the
 * transaction has ended, or its connection is lost, nothing more can be sent: it would be saved alone.
 *
 * If the connection is lost, the driver rejects `begin` as soon as it is closed. It must not learn of the statements that
 * failed: it would send ROLLBACK to the closed connection, which throws where nobody catches it.
 */
const transaction = async <Answer>(
  sql: Parameters<Parameters<Ask>[0]>[0],
  run: (send: Send) => Promise<Answer>,
) => {
  const sent: Promise<unknown>[] = []
  let hasEnded = false
  let isLost = false
  try {
    const result = await sql.begin(async (connection) => {
      const query = queryOver((statement) => statement(connection as unknown as typeof sql).execute())()
      const send: Send = (...statement) => {
        if (hasEnded || isLost) throw new Error('The transaction has ended.')
        const asked = query(...statement)
        // The caller that awaits it, or the end of the transaction, learns of its error.
        asked.catch((error) => {
          isLost ||= isConnectionFatal(error)
        })
        sent.push(asked)
        return asked as never
      }
      try {
        return [{ answer: await run(send) }]
      } catch (error) {
        if (isLost) await untilClosed()
        throw error
      }
    })
    await Promise.all(sent)
    return result
  } finally {
    hasEnded = true
  }
}

const untilClosed = () => new Promise<never>(() => {})
