import postgres from 'postgres'

/** The code of PostgreSQL or of the driver. */
export const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')

/** Errors of the connection, and those by which PostgreSQL says: not now. */
export const isWaiting = (error: unknown): boolean => {
  const code = codeOf(error)
  return AWAY_CLASSES.has(code.slice(0, 2)) || CONNECTION_CODES.test(code)
}
/**
 * PostgreSQL itself refused the statement for what it says, so nothing of it was done. After anything else, a fault
 * of the connection above all, nobody knows.
 */
export const serverSaidNo = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && !isWaiting(error) && !NOT_NOW_CODES.has(codeOf(error))
/** A lock not got, a standby, no such database, a wrong password, completion unknown, a fault inside. */
const NOT_NOW_CODES = new Set(['55P03', '25006', '3D000', '28P01', '40003', 'XX000'])
/** 08 connection, 53 out of something, 57 stopped by a limit or an operator, 58 a fault of the system. */
const AWAY_CLASSES = new Set(['08', '53', '57', '58'])
const CONNECTION_CODES = /^(CONNECT|CONNECTION_|ECONN|EPIPE|ENOENT|EAI_|ENOTFOUND|ETIMEDOUT|EHOST|ENET)/
