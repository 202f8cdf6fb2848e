import { type PostgresUrl, withUrl } from '../../config/database-address.ts'
import { DomainFailure, isUnavailable, unavailable } from '../../core/engine/failures.ts'
import type { Connected } from '../postgres/connect.ts'
import { sqlStateOf } from '../postgres/error-codes.ts'
import type { PoolCounts, PostgresSettings } from '../postgres/open.ts'
import { createSemaphore } from '../postgres/semaphore.ts'
import { NO_ANSWER_IN_TIME, withTimeout } from '../postgres/with-timeout.ts'
import { type Ask, type Fragment, queryOver, sql } from './sql.ts'

/** The ways of statements that are not for one tenant. */
export type Routes = {
  /** To rows of all tenants, on every machine. */
  readonly allTenants: Ask
  /** To rows that only the coordinator has. */
  readonly coordinator: Ask
  /** To the node that has the copy with a key, a row of `identity_copies`. */
  readonly copyOf: (key: string) => Ask
  /** To the first other worker that answers, or to the node of `settings.url` if there is no other. */
  readonly anotherWorker: Ask
}
/** On one PostgreSQL, which has all rows, they are one. */
export const singleRoute = (ask: Ask): Routes => {
  const route: Ask = (statement) => ask(statement)
  return { allTenants: route, coordinator: route, copyOf: () => route, anotherWorker: route }
}

/** A node that takes longer than this to say what every node knows is away. */
export const BRIEF_MS_MAX = 1_000
/** How long an address is kept: tenants may be moved. Until it is looked up, the old machine forwards statements. */
const ADDRESS_AGE_MS_MAX = 60_000
/** How long an address is kept after its node could not answer: it may have changed. */
const ADDRESS_DOUBTED_MS = 1_000
/** Number of addresses that are kept. Beyond it all are forgotten. */
const ADDRESSES_MAX = 100_000

/** Refuses a node that takes longer than `BRIEF_MS_MAX`. */
export const briefly =
  (ask: Ask): Ask =>
  (statement, tenantId) =>
    withTimeout(ask(statement, tenantId), BRIEF_MS_MAX)

/** A node, by its address. */
export type Named = Pick<Connected, 'ask'> & { readonly name: string }
export type Nodes = {
  /** The name of the node of a tenant, at once if it is known. */
  readonly nameOf: (tenantId: string) => string | Promise<string>
  readonly nodeOf: (tenantId: string) => Promise<Named>
  /** All nodes that have tenants. */
  readonly withTenants: () => Promise<readonly Named[]>
  /** The nodes with these names; a node that left the cluster is missing. */
  readonly named: (names: readonly string[]) => Promise<readonly Named[]>
}
type Opened = Connected & Named
/** The node of a tenant, or of a copy. `found` is set once it was looked up. */
type Place = { readonly node: Promise<Named>; until: number; found?: Named | undefined }
type Node = { readonly nodename: string; readonly nodeport: number }

/**
 * Every node of a cluster knows where each tenant lives. A statement for a tenant is sent to its node directly: no other
 * node has to be alive for it, and a node that does not respond can only use up the connections to itself. Statements
 * for no tenant or for all are sent to the node of `settings.url`; those for the coordinator's own rows, to it.
 */
export const connectToNodes = (
  settings: PostgresSettings,
  connectTo: (settings: PostgresSettings) => Connected,
): Connected & { readonly nodes: Nodes; readonly routes: Routes } => {
  const { url, pooler, observer } = settings
  const pools: (() => PoolCounts)[] = []
  const sumOf = (count: keyof PoolCounts) => pools.reduce((sum, counts) => sum + counts()[count], 0)
  observer?.pool(() => ({ inFlight: sumOf('inFlight'), waiting: sumOf('waiting') }))
  const open = (address: PostgresUrl) => {
    const pool = (counts: () => PoolCounts) => void pools.push(counts)
    return connectTo({ ...settings, url: address, ...(observer && { observer: { ...observer, pool } }) })
  }
  const unguarded = open(url)
  const own = circuitBreaker(unguarded)
  const nodes = new Map<string, Opened>()
  const { ask: askOwnBriefly } = circuitBreaker({ ...unguarded, ask: briefly(unguarded.ask) })
  /** Asks the own node; while that is away, any other that is known: every node knows where all tenants live. */
  const query = queryOver((statement) =>
    askOwnBriefly(statement).catch((error) => {
      if (!isUnavailable(error)) throw error
      return Promise.any([...nodes.values()].map(({ ask }) => ask(statement))).catch(() =>
        Promise.reject(error),
      )
    }),
  )

  const nodeAt = ({ nodename, nodeport }: Node): Opened => {
    const name = `${nodename}:${nodeport}`
    // A pooler is the only way to every node.
    const address = pooler ? url : withUrl(url, (text) => urlAt(text, nodename, nodeport))
    const node = nodes.get(name) ?? { name, ...circuitBreaker(open(address), pooler === undefined) }
    nodes.set(name, node)
    return node
  }
  /** Nodes by the key of what is on them. If a look-up fails, the last known node is used. */
  const nodesBy = (groupOf: (key: string) => Fragment) => {
    const known = new Map<string, Place>()
    const lookUp = async (key: string): Promise<Named> => {
      const [node] = await query()<Node>`
        select nodename, nodeport from pg_dist_node where groupid = ${groupOf(key)} and noderole = 'primary'`
      return node ? nodeAt(node) : { name: '', ...own }
    }
    const nodeOf = (key: string): Promise<Named> => {
      const last = known.get(key)
      if (last !== undefined && performance.now() < last.until) return last.node
      if (known.size >= ADDRESSES_MAX) known.clear()
      const node = lookUp(key).catch((error) => last?.node ?? Promise.reject(error))
      const place: Place = { node, until: performance.now() + ADDRESS_AGE_MS_MAX, found: last?.found }
      known.set(key, place)
      node.then(
        (found) => {
          place.found = found
        },
        () => known.delete(key),
      )
      return node
    }
    return {
      nodeOf,
      nameOf: (key: string): string | Promise<string> => {
        const place = known.get(key)
        const isFresh = place?.found !== undefined && performance.now() < place.until
        return isFresh ? String(place.found?.name) : nodeOf(key).then(({ name }) => name)
      },
      /** The way to the node of a key. There, statements of different keys take turns. */
      to:
        (key: string): Ask =>
        async (statement) => {
          const { ask } = await nodeOf(key)
          return ask(statement, key).catch((error) => {
            const place = known.get(key)
            if (place && isUnavailable(error))
              place.until = Math.min(place.until, performance.now() + ADDRESS_DOUBTED_MS)
            throw error
          })
        },
    }
  }
  const tenants = nodesBy((tenantId) => groupWith(sql`'page_versions'`, tenantId))
  const copies = nodesBy((key) => groupWith(sql`'identity_copies'`, key))
  const coordinators = nodesBy(() => sql`0`)

  const anotherWorker: Ask = async (statement) => {
    const workers = await queryOver(askOwnBriefly)()<Node>`
      select nodename, nodeport from pg_dist_node where noderole = 'primary' and isactive
        and groupid not in (0, (select groupid from pg_dist_local_group))`.then(
      (rows) => rows.map(nodeAt),
      // No copy comes from the own node while it is away.
      () => [...nodes.values()],
    )
    return workers.length === 0 ? own.ask(statement) : Promise.any(workers.map(({ ask }) => ask(statement)))
  }

  // A statement for all tenants may wait for any node, so only one is in flight.
  const toAll = createSemaphore({ ...settings, inFlightMax: 1 })
  const askAll = circuitBreaker(unguarded).ask
  const allTenants: Ask = async (statement) => {
    const release = await toAll.acquire()
    return askAll(statement).finally(release)
  }
  return {
    ask: (statement, tenantId = null) =>
      tenantId === null ? own.ask(statement) : tenants.to(tenantId)(statement),
    routes: {
      allTenants,
      coordinator: coordinators.to('coordinator'),
      copyOf: copies.to,
      anotherWorker,
    },
    nodes: {
      nameOf: tenants.nameOf,
      nodeOf: tenants.nodeOf,
      withTenants: async () => {
        const rows = await query()<Node>`
          select nodename, nodeport from pg_dist_node where noderole = 'primary' and isactive and shouldhaveshards`
        return rows.map(nodeAt)
      },
      named: async (names) => {
        const rows = await query()<Node>`
          select nodename, nodeport from pg_dist_node where noderole = 'primary'`
        return rows.map(nodeAt).filter(({ name }) => names.includes(name))
      },
    },
    close: async () => {
      await Promise.all([own, ...nodes.values()].map(({ close }) => close()))
    },
  }
}

/** The group of machines that has the rows of a distributed table with this value of its distribution column. */
const groupWith = (table: Fragment, value: string): Fragment => sql`(
  select groupid from pg_dist_placement
  where shardid = get_shard_id_for_distribution_column(${table}, ${value}::text))`

/**
 * After a timeout, one statement at a time tries a node until one succeeds; the others are refused at once. If all
 * statements are about rows of the node itself, one that it cancels shows that it responds; otherwise it may have waited for
 * another node.
 */
const circuitBreaker = ({ ask, close }: Connected, isLocal = false): Connected => {
  let isSilent = false
  let inFlight = 0
  return {
    ask: async (statement, tenantId) => {
      if (isSilent && inFlight > 0) throw unavailable('The database machine does not answer.')
      inFlight++
      try {
        const rows = await ask(statement, tenantId)
        isSilent = false
        return rows
      } catch (error) {
        if (!(error instanceof DomainFailure)) isSilent = false
        else if (error.message === NO_ANSWER_IN_TIME) isSilent = true
        else if (sqlStateOf(error.cause) === '57014') isSilent = !isLocal
        throw error
      } finally {
        inFlight--
      }
    },
    close,
  }
}

/** The addresses of the other nodes, with everything else as in `url`. */
export const otherNodes = async (ask: Ask, url: string): Promise<readonly string[]> => {
  const nodes = await queryOver(ask)()<Node>`
    select nodename, nodeport from pg_dist_node
    where noderole = 'primary' and groupid <> (select groupid from pg_dist_local_group)`
  return nodes.map(({ nodename, nodeport }) => urlAt(url, nodename, nodeport))
}

const urlAt = (url: string, host: string, port: number): string => {
  const [address = '', parameters = ''] = url.split(/\?(.*)/s)
  const others = parameters.split('&').filter((parameter) => !/^(host=|hostaddr=|port=|$)/.test(parameter))
  return `${address}?${[...others, `host=${encodeURIComponent(host)}`, `port=${port}`].join('&')}`
}
