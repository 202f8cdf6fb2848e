import { askOn } from '../adapters/postgres/connect.ts'
import { nameOf } from '../adapters/postgres/dial.ts'
import { endPool, openPostgres, type Sql } from '../adapters/postgres/open.ts'
import { withTimeout } from '../adapters/postgres/with-timeout.ts'
import { readPostgresAddress } from '../config/postgres-address.ts'
import { type Check, failed, inWords, passed } from './check.ts'
import { otherNodes } from './cluster.ts'

const ANSWER_MS_MAX = 5_000

/** Which node of a Citus cluster it is, and whether the service can connect to the others, as it must. */
export const examineNodes = async (sql: Sql, url: string): Promise<Check> => {
  const [local] = await sql<{ groupid: number }[]>`select groupid from pg_dist_local_group`
  const others = await otherNodes(askOn(sql), url)
  const silent = (await Promise.all(others.map(whySilent))).flat()
  const kind = local?.groupid === 0 ? 'the coordinator' : 'a worker'
  const detail = `connected to ${kind} of Citus; ${others.length - silent.length} of ${others.length} other nodes answer`
  if (silent.length === 0) return passed('cluster', detail)
  const remedy =
    'start the node, or let the service connect to it in pg_hba.conf: it needs every node, at the address in pg_dist_node'
  return failed('cluster', `${detail}. ${silent.join('. ')}`, remedy)
}

const whySilent = async (url: string): Promise<string[]> => {
  const sql = openPostgres(url, { max: 1, prepare: false })
  try {
    await withTimeout(sql`select 1`, ANSWER_MS_MAX)
    return []
  } catch (error) {
    return [`${readPostgresAddress(url).servers.map(nameOf)}: ${inWords(error as Error)}`]
  } finally {
    await endPool(sql, 1)
  }
}
