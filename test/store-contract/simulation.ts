import { randomInt } from 'node:crypto'
import type { NewEvent, Store } from 'prospect-pages/store'
import { same } from './assertions.ts'
import { type Core, type Kept, type Subject, section } from './contract.ts'
import { type Random, randomBy } from './random.ts'
import { at, identifiersNow, only, readEach, someEndpoint } from './rows.ts'
import { type MakeStep, outcomeOf, type Seen, type Step } from './simulation-calls.ts'
import { ERASURE_CASES } from './simulation-identities.ts'
import * as pages from './simulation-pages.ts'
import * as people from './simulation-people.ts'
import * as webhooks from './simulation-webhooks.ts'
import { type World, worldOf } from './simulation-world.ts'
import { verbs } from './verbs.ts'

/** At least so many steps; and more until every outcome and every verb has come about, unless it shall be short. */
const STEPS_USUALLY = 900
const STEPS = Number(process.env['SIMULATION_STEPS'] ?? STEPS_USUALLY)
const STEPS_MAX = STEPS < STEPS_USUALLY ? STEPS : 5 * STEPS

export const simulation = section('simulation', () => ({}), {
  'the store answers the same calls as the store in memory does, and keeps the same rows': async (
    subject,
  ) => {
    const seed = Number(process.env['SIMULATION_SEED'] ?? randomInt(2 ** 31))
    await simulate(subject, seed).catch((cause) => {
      throw new Error(`SIMULATION_SEED=${seed} repeats it: ${cause.message}`, { cause })
    })
  },
})

const simulate = async ({ core, store, kept }: Subject, seed: number): Promise<void> => {
  const memory = core.memoryStore()
  const keptInMemory = async () => ({ prospects: memory.kept.prospects(), logs: memory.kept.logs() })
  const ours = worldOf(core, store)
  const model = worldOf(core, memory)
  const chance = randomBy(seed)
  const seen = await prepared(core, [model, ours])
  const outcomes = new Set<string>()
  const missing = () => [
    ...EXPECTED.filter((outcome) => !outcomes.has(outcome)),
    ...Object.values(ERASURE_CASES).filter((one) => !ours.cases.has(one)),
    ...verbs.map(({ name }) => name).filter((verb) => !ours.verbsCalled.has(verb)),
  ]
  // Chance may leave out a rare outcome or verb: then it goes on, mostly with the steps that may bring it.
  for (let step = 1; step <= STEPS || (step <= STEPS_MAX && missing().length > 0); step++) {
    const { name, run, learn } = nextStep(chance, seen, step <= STEPS ? [] : missing())
    // Each step makes newer rows than the steps before it.
    for (const { clock } of [ours, model]) clock.advance(1)
    const [answers, expected] = await Promise.all([run(ours), run(model)])
    same({ step, name, answers }, { step, name, answers: expected })
    learn?.(expected)
    for (const answer of expected) outcomes.add(`${name}: ${outcomeOf(answer)}`)
  }
  const everything = await everythingIn(ours, kept, seen)
  same(everything, await everythingIn(model, keptInMemory, seen))
  same(createdBy([...seen.events, ...everything.events], seen), createdIn(seen))
  if (STEPS >= STEPS_USUALLY) same(missing(), [])
}

/** Outcomes that must occur for the simulation to prove anything. */
const EXPECTED = [
  'log activities: answered',
  'log activities: replayed',
  'log activities: idempotency_key_reused',
  'log activities: prospect_not_found',
  'log activities: invalid_request',
  'create pages: answered',
  'create pages: replayed',
  'create pages: idempotency_key_reused',
  'create pages: page_group_not_found',
  'create pages: page_group_not_active',
  'list page groups: answered',
  'list page groups: invalid_cursor',
  'list pages: answered',
  'list pages: page_group_not_found',
  'list pages: invalid_cursor',
  'read pages: answered',
  'read pages: page_group_not_found',
  'read pages: page_not_found',
  'create page groups: answered',
  'create page groups: replayed',
  'create page groups: idempotency_key_reused',
  'read page groups: answered',
  'read page groups: page_group_not_found',
  'change page groups: answered',
  'change page groups: precondition_failed',
  'rename pages: answered',
  'rename pages: page_group_not_found',
  'rename pages: page_not_found',
  'rename pages: precondition_failed',
  'delete pages: answered',
  'create versions: answered',
  'create versions: replayed',
  'create versions: idempotency_key_reused',
  'create versions: page_group_not_active',
  'publish versions: answered',
  'publish versions: version_not_found',
  'publish versions: version_not_ready',
  'publish versions: page_group_not_active',
  'publish versions: precondition_failed',
  'unpublish pages: answered',
  'list versions: answered',
  'list versions: page_not_found',
  'list versions: invalid_cursor',
  'read versions: answered',
  'read versions: version_not_found',
  'log activities: prospect_erased',
  'log returning: answered',
  'log returning: prospect_erased',
  'create prospects: answered',
  'create prospects: prospect_erased',
  'create prospects: invalid_request',
  'correct prospects: answered',
  'correct prospects: prospect_not_found',
  'correct prospects: prospect_erased',
  'correct prospects: email_taken',
  'correct prospects: external_id_taken',
  'correct prospects: invalid_request',
  'take identifiers: answered',
  'take identifiers: prospect_erased',
  'take identifiers: email_taken',
  'take identifiers: external_id_taken',
  'merge prospects: answered',
  'merge prospects: prospect_not_found',
  'merge prospects: prospect_erased',
  'merge prospects: invalid_request',
  'move merged: answered',
  'claim merges and die: answered',
  'read prospects: answered',
  'read prospects: prospect_not_found',
  'read prospects: prospect_erased',
  'list prospects: answered',
  'list prospects: invalid_request',
  'read activities: answered',
  'read activities: prospect_log_not_found',
  'list activities: answered',
  'list timelines: answered',
  'list timelines: prospect_erased',
  'request erasures: answered',
  'request erasures: prospect_not_found',
  'request erasures: prospect_erased',
  'request erasures: invalid_request',
  'erase the corrected: answered',
  'erase the corrected: prospect_erased',
  'read erasures: answered',
  'read erasures: erasure_not_found',
  'list erasures: answered',
  'unblock erasures: answered',
  'unblock erasures: erasure_not_found',
  'erase: answered',
  'claim erasures and die: answered',
  'expire: answered',
  'operate: answered',
  'use counts: answered',
  'use keys: answered',
  'use hooks: answered',
  'run schedules: answered',
  'unschedule versions: answered',
  'unschedule versions: version_not_ready',
  'claim versions and die: answered',
  'settle versions late: answered',
  'number events: answered',
  'list events: answered',
  'list events: cursor_expired',
  'read events: answered',
  'read events: event_not_found',
  'create endpoints: answered',
  'change endpoints: answered',
  'change endpoints: webhook_endpoint_not_found',
  'delete endpoints: answered',
  'disable endpoint: answered',
  'rotate secrets: answered',
  'read endpoints: answered',
  'list endpoints: answered',
  'list deliveries: answered',
  'retry deliveries: answered',
  'retry deliveries: delivery_not_found',
  'retry deliveries: webhook_endpoint_disabled',
  'replay deliveries: answered',
  'replay deliveries: webhook_endpoint_disabled',
  'deliver: answered',
  'claim endpoints and die: answered',
  'settle deliveries late: answered',
]

const prepared = async (core: Core, worlds: readonly [World, World]): Promise<Seen> => {
  const seen: Seen = {
    tenants: [],
    prospects: [],
    logs: [],
    identifiers: worlds[0].added,
    erasures: [],
    groups: [],
    pages: [],
    versions: [],
    events: [],
    endpoints: [],
    keys: [],
    hooks: [],
    versionsClaimed: [],
    endpointsClaimed: [],
    inputs: new Map(),
    cursors: new Map(),
  }
  for (const name of ['one', 'two', 'three'])
    for (const world of worlds) {
      const { tenantId } = await core.createTenant(world)({ name })
      const lasting = world.newId('webhookendpoint')
      const other = world.newId('webhookendpoint')
      if (name !== OTHER)
        await world.store.webhooks.add(someEndpoint(tenantId, { webhookEndpointId: lasting }))
      await world.store.webhooks.add(someEndpoint(tenantId, { webhookEndpointId: other, slot: 2 }))
      const { value: group } = await world.calls.createPageGroup({ tenantId, name, title: `Title ${name}` })
      if (world !== worlds[0]) continue
      seen.tenants.push(tenantId)
      seen.groups.push({ tenantId, pageGroupId: group.pageGroupId })
      if (name !== OTHER) seen.endpoints.unshift({ tenantId, webhookEndpointId: lasting })
      seen.endpoints.push({ tenantId, webhookEndpointId: other })
    }
  return seen
}

/** A tenant whose endpoints come and go. */
const OTHER = 'three'

const wait: MakeStep = (chance) => {
  const ms = chance.oneOf([1, 999, 1_000, 5_000, 20_000, 60_000, 61_000, 4_200_000, 90_000_000])
  return { name: 'wait', run: async ({ clock }) => [clock.advance(ms)] }
}

/** How often each of them comes. */
const SHARES: readonly (readonly [share: number, step: MakeStep])[] = [
  [26, people.logActivities],
  [5, people.logReturning],
  [4, people.createProspects],
  [6, people.correctProspects],
  [3, people.takeIdentifiers],
  [4, people.mergeProspects],
  [4, people.moveMerged],
  [1, people.claimMerges],
  [3, people.readProspects],
  [2, people.listProspects],
  [2, people.searchProspects],
  [2, people.readLogs],
  [3, people.listLogs],
  [3, people.listTimelines],
  [4, people.requestErasures],
  [2, people.eraseCorrected],
  [2, people.readErasures],
  [2, people.listErasures],
  [1, people.unblockErasures],
  [5, people.erase],
  [2, people.claimErasures],
  [2, people.expire],
  [2, people.operate],
  [4, people.useCounts],
  [1, people.useKeys],
  [2, people.useHooks],
  [18, pages.createPages],
  [8, pages.listGroups],
  [8, pages.listPages],
  [8, pages.readPages],
  [6, pages.publish],
  [3, pages.claimVersions],
  [3, pages.settleVersionsLate],
  [3, pages.createGroups],
  [2, pages.readGroups],
  [6, pages.updateGroups],
  [3, pages.renamePages],
  [2, pages.deletePages],
  [14, pages.createVersions],
  [10, pages.publishVersions],
  [2, pages.unpublishPages],
  [4, pages.unscheduleVersions],
  [6, pages.runSchedules],
  [3, pages.listVersions],
  [3, pages.readVersions],
  [6, webhooks.numberEvents],
  [2, webhooks.readFeeds],
  [3, webhooks.listEvents],
  [2, webhooks.readEvents],
  [1, webhooks.createEndpoints],
  [3, webhooks.changeEndpoints],
  [1, webhooks.deleteEndpoints],
  [2, webhooks.rotateSecrets],
  [1, webhooks.readEndpoints],
  [1, webhooks.listEndpoints],
  [2, webhooks.disableEndpoint],
  [4, webhooks.deliver],
  [3, webhooks.claimEndpoints],
  [4, webhooks.settleLate],
  [2, webhooks.listDeliveries],
  [2, webhooks.readDeliveries],
  [3, webhooks.retryDeliveries],
  [3, webhooks.replayDeliveries],
  [8, wait],
]
const STEPS_BY_SHARE = SHARES.flatMap(([share, step]) => Array<MakeStep>(share).fill(step))
/**
 * Rare verbs, and the steps that lead to their call: a page that has a schedule must be deleted before the schedule is
 * due, and someone who is being erased must be erased once more.
 */
const STEPS_TOWARDS: Readonly<Record<string, readonly string[]>> = {
  'schedules.end': ['create versions', 'publish', 'delete pages', 'wait', 'run schedules'],
  'erasures.extend': ['request erasures'],
  'erasures.unblock': ['request erasures', 'unblock erasures'],
}
const nextStep = (chance: Random, seen: Seen, missing: readonly string[]): Step => {
  for (;;) {
    const step = chance.oneOf(STEPS_BY_SHARE)(chance, seen)
    const isWanted = missing.some(
      (one) => one.startsWith(`${step.name}:`) || STEPS_TOWARDS[one]?.includes(step.name) === true,
    )
    if (isWanted || missing.length === 0 || chance.onceIn(STEPS_BY_SHARE.length)) return step
  }
}

/** Everything that a store keeps of the simulation, and the events that were not read before. */
const everythingIn = async (world: World, kept: () => Promise<Kept>, seen: Seen) => {
  const { store, clock } = world
  const { tenants, prospects, groups, pages, endpoints } = seen
  const parents = tenants.flatMap((tenantId) => groups.map((group) => ({ ...group, tenantId })))
  const all = { beforeId: null, limit: 100_000 }
  // A step numbers fewer than wanted if a tenant has many endpoints.
  while ((await world.number(1e6)).some(([, count]) => Number(count) > 0));
  // Until all leases have ended: the claims show what was claimed how often.
  clock.advance(200_000_000)
  return {
    ...(await kept()),
    groups: await Promise.all(parents.map((parent) => store.pageGroups.find(parent))),
    lists: await readEach(
      store.pages.list,
      parents.map((parent) => ({ ...parent, ...all })),
    ),
    pages: await readEach(store.pages.find, pages),
    versions: await readEach(
      store.versions.list,
      pages.map((page) => ({ ...page, ...all })),
    ),
    schedules: await Promise.all(pages.map((page) => store.schedules.ofPage(page))),
    due: await Promise.all(
      tenants.map(async (tenantId) =>
        (await store.schedules.due({ tenantId, until: at(1e12), max: 1e6 })).map(({ at }) => at).sort(),
      ),
    ),
    people: await readEach(
      store.prospects.list,
      tenants.map((tenantId) => ({ tenantId, identifier: null, ...all })),
    ),
    found: await readEach(store.prospects.find, prospects),
    identified: await readEach(
      store.prospects.list,
      seen.identifiers.map(({ tenantId, kind, hash }) => ({ tenantId, identifier: { kind, hash }, ...all })),
    ),
    identifiers: await knownIdentifiers(store, seen),
    erasures: (
      await readEach(
        store.erasures.list,
        tenants.map((tenantId) => ({ tenantId, ...all })),
      )
    ).map((list) => list.map(({ settlesAfter, ...erasure }) => erasure)),
    blocked: await Promise.all(
      tenants.map(async (tenantId) => {
        const ids = seen.erasures.map(({ erasureId }) => erasureId)
        return (await store.erasures.blockedBy(tenantId, ids)).map(({ hash }) => hash).toSorted()
      }),
    ),
    counted: await Promise.all(tenants.map((tenantId) => store.counts.find(tenantId))),
    events: await world.readFeeds(tenants),
    endpoints: await Promise.all(tenants.map((tenantId) => store.webhooks.list(tenantId))),
    deliveries: await Promise.all(
      endpoints.map((endpoint) => store.webhooks.deliveries({ ...endpoint, status: null, ...all })),
    ),
    keys: await Promise.all(tenants.map((tenantId) => store.apiKeys.list(tenantId))),
    hooks: await readEach(
      store.hooks.list,
      tenants.map((tenantId) => ({ tenantId, ...all })),
    ),
    tenants: await store.tenants.list('', 100),
    claims: [
      await world.claimVersions(),
      await world.claimErasures(),
      await world.claimMerges(),
      await world.claimEndpoints(),
    ],
  }
}

/** Where every identifier leads that was ever added, each once. */
const knownIdentifiers = async ({ activities }: Store, { identifiers: wanted }: Seen) => {
  const found = only(
    await identifiersNow(activities, wanted),
    'tenantId',
    'kind',
    'hash',
    'prospectId',
    'blockedUntil',
    'erasureId',
  )
  const byName = new Map(found.map((row) => [`${row.tenantId} ${row.kind} ${row.hash}`, row]))
  return [...byName].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

type Happened = readonly [tenantId: string, type: NewEvent['type'], ids: NewEvent['ids']]

/** The creations among the events of those who always use events. */
const createdBy = (events: Seen['events'], { tenants }: Seen): Happened[] => {
  const all = events.map(({ tenantId, type, ids }): Happened => [tenantId, type, ids])
  return sorted(all.filter(([tenantId, type]) => usesEvents(tenantId, tenants) && CREATIONS.includes(type)))
}
const CREATIONS = ['prospect.created', 'prospect_log.created', 'page_group.created', 'page.created']

/** The events that there must be of what was created. */
const createdIn = ({ tenants, prospects, logs, groups, pages }: Seen): Happened[] => {
  const all: Happened[] = [
    ...prospects.map(({ tenantId, ...ids }): Happened => [tenantId, 'prospect.created', ids]),
    ...logs.map(({ tenantId, ...ids }): Happened => [tenantId, 'prospect_log.created', ids]),
    ...groups.map(({ tenantId, ...ids }): Happened => [tenantId, 'page_group.created', ids]),
    ...pages.map(({ tenantId, ...ids }): Happened => [tenantId, 'page.created', ids]),
  ]
  return sorted(all.filter(([tenantId]) => usesEvents(tenantId, tenants)))
}
const usesEvents = (tenantId: string, tenants: readonly string[]) => tenants.indexOf(tenantId) < 2
const sorted = (events: readonly Happened[]): Happened[] =>
  events.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
