import { nameOf } from '../adapters/postgres/dial.ts'
import { endPool, openPostgres, type Sql } from '../adapters/postgres/open.ts'
import { withTimeout } from '../adapters/postgres/with-timeout.ts'
import { readPostgresAddress } from '../config/postgres-address.ts'
import { type Check, failed, inWords, passed } from './check.ts'

const ANSWER_MS_MAX = 5_000

/** Checks which node of a Citus cluster this is, and that the service can connect to all others. */
export const examineNodes = async (sql: Sql, others: readonly string[]): Promise<Check> => {
  const [local] = await sql<{ groupid: number }[]>`select groupid from pg_dist_local_group`
  const errors = await Promise.all(others.map(connectionError))
  const unreachable = errors.filter((error) => error !== null)
  const kind = local?.groupid === 0 ? 'the coordinator' : 'a worker'
  const detail = `connected to ${kind} of Citus; ${others.length - unreachable.length} of ${others.length} other nodes answer`
  if (unreachable.length === 0) return passed('cluster', detail)
  const remedy =
    'start the node, or let the service connect to it in pg_hba.conf: it needs every node, at the address in pg_dist_node'
  return failed('cluster', `${detail}. ${unreachable.join('. ')}`, remedy)
}

/** Why a node does not answer, or null if it does. */
const connectionError = async (url: string): Promise<string | null> => {
  const sql = openPostgres(url, { max: 1, prepare: false })
  try {
    await withTimeout(sql`select 1`, ANSWER_MS_MAX)
    return null
  } catch (error) {
    return `${readPostgresAddress(url).servers.map(nameOf)}: ${inWords(error as Error)}`
  } finally {
    await endPool(sql, 1)
  }
}
