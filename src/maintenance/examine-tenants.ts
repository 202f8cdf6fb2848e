import { askOn } from '../adapters/postgres/connect.ts'
import { nameOf } from '../adapters/postgres/dial.ts'
import { endPool, openPostgres } from '../adapters/postgres/open.ts'
import { withTimeout } from '../adapters/postgres/with-timeout.ts'
import { readPostgresAddress } from '../config/postgres-address.ts'
import { type Check, passed } from './check.ts'
import { findLargestTenants, SHARDS_VISIBLE } from './cluster.ts'

const ANSWER_MS_MAX = 5_000
const NAMED_MAX = 3

/** Names the largest tenants of a cluster, each with the node that has it. Nodes that do not answer are named elsewhere. */
export const examineTenants = async (nodes: readonly string[]): Promise<Check> => {
  const tenants = (await Promise.all(nodes.map(largestOn))).flat()
  const largest = tenants.sort((a, b) => b.bytes - a.bytes).slice(0, NAMED_MAX)
  if (largest.length === 0)
    return passed('tenants', 'no tenant is larger than others, as of the last analyze')
  const sizes = largest.map(
    ({ tenantId, bytes, part, node }) =>
      `${tenantId} ${Math.round(bytes)} bytes, ${Math.round(100 * part)} % of ${node}`,
  )
  return passed('tenants', `the largest, estimated: ${sizes.join('; ')}`)
}

const largestOn = async (url: string) => {
  const sql = openPostgres(url, { max: 1, prepare: false, connection: SHARDS_VISIBLE })
  const node = String(readPostgresAddress(url).servers.map(nameOf))
  try {
    const tenants = await withTimeout(findLargestTenants(askOn(sql)), ANSWER_MS_MAX)
    return tenants.map((tenant) => ({ ...tenant, node }))
  } catch {
    return []
  } finally {
    await endPool(sql, 1)
  }
}
