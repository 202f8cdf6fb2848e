import type { Store } from 'prospect-pages/store'
import { identifiersNow, only, readEach } from './rows.ts'
import type { Seen } from './simulation-calls.ts'
import type { World } from './simulation-world.ts'

/** Everything that a store keeps of the simulation. */

const ALL = { beforeId: null, limit: 100_000 }
/** After so long, all leases of workers that died have ended. */
const LEASES_MS = 200_000_000

/** Everything but the rows that `kept` shows, and the events that were not read before. */
export const everythingIn = async (world: World, seen: Seen) => {
  const { store, clock } = world
  await numberAllEvents(world)
  clock.advance(LEASES_MS)
  return {
    people: await peopleIn(store, seen),
    erasures: await erasuresIn(store, seen),
    pages: await pagesIn(store, seen),
    events: await world.readFeeds(seen.tenants),
    webhooks: await webhooksIn(store, seen),
    tenants: await tenantsIn(store, seen),
    // How often each piece of work was claimed.
    claims: {
      versions: await world.claimVersions(),
      erasures: await world.claimErasures(),
      merges: await world.claimMerges(),
      endpoints: await world.claimEndpoints(),
    },
  }
}

/** One call numbers fewer events than it may if a tenant has many endpoints. */
const numberAllEvents = async ({ number }: World) => {
  let isDone = false
  while (!isDone) {
    const counts = await number(1e6)
    isDone = counts.every(([, count]) => count === 0)
  }
}

const peopleIn = async (store: Store, { tenants, prospects, identifiers }: Seen) => ({
  listed: await readEach(
    store.prospects.list,
    tenants.map((tenantId) => ({ tenantId, identifier: null, ...ALL })),
  ),
  conflicts: await readEach(
    store.prospectConflicts.list,
    tenants.map((tenantId) => ({ tenantId, before: null, max: 100_000 })),
  ),
  found: await readEach(store.prospects.find, prospects),
  identified: await readEach(
    store.prospects.list,
    identifiers.map(({ tenantId, kind, hash }) => ({ tenantId, identifier: { kind, hash }, ...ALL })),
  ),
  identifiers: await knownIdentifiers(store, identifiers),
})

const IDENTIFIER_FIELDS = ['tenantId', 'kind', 'hash', 'prospectId', 'blockedUntil', 'erasureId'] as const

/** Where every identifier leads that was ever added, each once. */
const knownIdentifiers = async ({ activities }: Store, added: Seen['identifiers']) => {
  const found = only(await identifiersNow(activities, added), ...IDENTIFIER_FIELDS)
  const byName = new Map(found.map((row) => [`${row.tenantId} ${row.kind} ${row.hash}`, row]))
  const names = [...byName.keys()].toSorted()
  return names.map((name) => byName.get(name))
}

const erasuresIn = async (store: Store, { tenants, erasures }: Seen) => {
  const erasureIds = erasures.map(({ erasureId }) => erasureId)
  const all: object[] = []
  for (const tenantId of tenants) {
    const listed = await store.erasures.list({ tenantId, ...ALL })
    const blocked = await store.erasures.blockedBy(tenantId, erasureIds)
    all.push({
      // Moments have another form in each store.
      erasures: listed.map(({ settlesAfter, ...erasure }) => erasure),
      blocked: blocked.map(({ hash }) => hash).toSorted(),
    })
  }
  return all
}

const pagesIn = async (store: Store, { tenants, groups, pages }: Seen) => {
  // Each group is asked for in the name of every tenant: only its owner finds it.
  const parents = tenants.flatMap((tenantId) => groups.map((group) => ({ ...group, tenantId })))
  const due = await readEach(
    store.schedules.due,
    tenants.map((tenantId) => ({ tenantId, until: FAR_FUTURE, max: 1e6 })),
  )
  return {
    groups: await readEach(store.pageGroups.find, parents),
    lists: await readEach(
      store.pages.list,
      parents.map((parent) => ({ ...parent, ...ALL })),
    ),
    pages: await readEach(store.pages.find, pages),
    versions: await readEach(
      store.versions.list,
      pages.map((page) => ({ ...page, ...ALL })),
    ),
    schedules: await readEach(store.schedules.ofPage, pages),
    due: due.map((schedules) => schedules.map((schedule) => schedule.at).toSorted()),
  }
}
const FAR_FUTURE = '2057-01-01T00:00:00.000Z'

const webhooksIn = async (store: Store, { tenants, endpoints }: Seen) => ({
  endpoints: await readEach(store.webhooks.list, tenants),
  deliveries: await readEach(
    store.webhooks.deliveries,
    endpoints.map((endpoint) => ({ ...endpoint, status: null, ...ALL })),
  ),
})

const tenantsIn = async (store: Store, { tenants }: Seen) => ({
  tenants: await store.tenants.list('', 100),
  searched: await readEach(store.searchIndex.find, tenants),
  counted: await readEach(store.counts.find, tenants),
  keys: await readEach(store.apiKeys.list, tenants),
  hooks: await readEach(
    store.hooks.list,
    tenants.map((tenantId) => ({ tenantId, ...ALL })),
  ),
})
