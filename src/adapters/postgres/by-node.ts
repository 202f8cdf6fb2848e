import { DomainFailure, unavailable } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/keys.ts'
import type { Ask, PostgresSettings } from './connect.ts'
import { sqlStateOf } from './error-codes.ts'
import { createSemaphore } from './semaphore.ts'
import { ALL_TENANTS, queryOver } from './sql.ts'
import { NO_ANSWER_IN_TIME } from './with-timeout.ts'

/** In case tenants are moved to another machine. */
const NODES_KNOWN_MS_MAX = 60_000

/**
 * Keeps a node that does not respond from using up the pool: at most 80 % of the connections go to one node. A statement
 * to all nodes may wait for it too, so only one of these is in flight at a time. After a timeout, one statement at a time
 * tries the node until one succeeds; the others are refused at once.
 */
export const askByNode = (ask: Ask, settings: PostgresSettings): Ask => {
  const newNode = (inFlightMax: number) => ({
    semaphore: createSemaphore({ ...settings, inFlightMax }),
    isSilent: false,
  })
  const allNodes = newNode(1)
  const inFlightMax = Math.max(1, Math.floor(settings.connectionsMax * 0.8) - 1)
  const nodeBy = memoized((_groupId: number) => newNode(inFlightMax))
  const known = new Map<string, Promise<number>>()
  let knownUntil = 0

  /** The group of machines on which a tenant lives: the coordinator knows it. */
  const lookUp = async (tenantId: string): Promise<number> => {
    const [row] = await queryOver(ask)()<{ node: number }>`
      select groupid as node from pg_dist_placement
      where shardid = get_shard_id_for_distribution_column('page_versions', ${tenantId}::text)`
    return row?.node ?? -1
  }
  const nodeOf = async (tenantId: string) => {
    if (performance.now() > knownUntil) known.clear()
    if (known.size === 0) knownUntil = performance.now() + NODES_KNOWN_MS_MAX
    const found = known.get(tenantId) ?? lookUp(tenantId)
    known.set(tenantId, found)
    found.catch(() => known.delete(tenantId))
    return nodeBy(await found)
  }

  return async (statement, tenantId = null) => {
    if (tenantId === null) return ask(statement)
    const node = tenantId === ALL_TENANTS ? allNodes : await nodeOf(tenantId)
    const release = await node.semaphore.acquire(tenantId)
    try {
      if (node.isSilent && node.semaphore.counts().inFlight > 1)
        throw unavailable('The database machine of this tenant does not answer.')
      const rows = await ask(statement)
      node.isSilent = false
      return rows
    } catch (error) {
      if (!(error instanceof DomainFailure)) node.isSilent = false
      else if (sqlStateOf(error.cause) === '57014' || error.message === NO_ANSWER_IN_TIME)
        node.isSilent = true
      throw error
    } finally {
      release()
    }
  }
}
