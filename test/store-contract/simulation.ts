import { randomInt } from 'node:crypto'
import type { NewEvent } from 'prospect-pages/store'
import { same } from './assertions.ts'
import { type Core, type Subject, section } from './contract.ts'
import { randomBy } from './random.ts'
import { someEndpoint } from './rows.ts'
import { outcomeOf, type Seen } from './simulation-calls.ts'
import { ERASURE_CASES } from './simulation-identities.ts'
import { EXPECTED_OUTCOMES } from './simulation-outcomes.ts'
import { everythingIn } from './simulation-rows.ts'
import { nextStep } from './simulation-steps.ts'
import { type World, worldOf } from './simulation-world.ts'
import { verbs } from './verbs.ts'

/** So many steps prove that every outcome and every verb has come about. Fewer only compare. */
const STEPS_USUALLY = 900
const STEPS = Number(process.env['SIMULATION_STEPS'] ?? STEPS_USUALLY)
const MUST_BE_COMPLETE = STEPS >= STEPS_USUALLY
/** Chance may leave out a rare outcome or verb: then the simulation goes on until here. */
const STEPS_MAX = MUST_BE_COMPLETE ? 5 * STEPS : STEPS

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

/**
 * Makes the same random calls to the store under test and to the one in memory. Every answer must be equal, and in the end
 * every row.
 */
const simulate = async ({ core, store, kept }: Subject, seed: number): Promise<void> => {
  const memory = core.memoryStore()
  const tested = worldOf(core, store)
  const model = worldOf(core, memory)
  const chance = randomBy(seed)
  const seen = await prepare(core, tested, model)
  const outcomes = new Set<string>()

  let missing: readonly string[] = []
  for (let step = 1; step <= STEPS || (step <= STEPS_MAX && missing.length > 0); step++) {
    const { name, run, learn } = nextStep(chance, seen, missing)
    // Each step makes newer rows than the steps before it.
    tested.clock.advance(1)
    model.clock.advance(1)
    const [answers, expected] = await Promise.all([run(tested), run(model)])
    same({ step, name, answers }, { step, name, answers: expected })
    learn?.(expected)
    for (const answer of expected) outcomes.add(`${name}: ${outcomeOf(answer)}`)
    if (step >= STEPS) missing = missingIn(tested, outcomes)
  }

  same(await kept(), { prospects: memory.kept.prospects(), logs: memory.kept.logs() })
  const everything = await everythingIn(tested, seen)
  same(everything, await everythingIn(model, seen))
  same(creationsAmong([...seen.events, ...everything.events], seen), creationsOf(seen))
  if (MUST_BE_COMPLETE) same(missing, [])
}

/** The outcomes, cases and verbs that have not come about yet. */
const missingIn = ({ cases, verbsCalled }: World, outcomes: ReadonlySet<string>): string[] => [
  ...EXPECTED_OUTCOMES.filter((outcome) => !outcomes.has(outcome)),
  ...Object.values(ERASURE_CASES).filter((erasureCase) => !cases.has(erasureCase)),
  ...verbs.map(({ name }) => name).filter((verb) => !verbsCalled.has(verb)),
]

/** These tenants keep an endpoint, so that all their events are stored. */
const WITH_LASTING_ENDPOINT = ['one', 'two']
/** The endpoints of this one come and go. */
const WITHOUT_LASTING_ENDPOINT = 'three'

/** Adds tenants to both worlds, each with endpoints and a page group. */
const prepare = async (core: Core, tested: World, model: World): Promise<Seen> => {
  const seen: Seen = {
    tenants: [],
    prospects: [],
    logs: [],
    identifiers: model.added,
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
  for (const name of [...WITH_LASTING_ENDPOINT, WITHOUT_LASTING_ENDPOINT]) {
    await addTenantTo(core, model, name)
    // Both worlds make the same ids.
    const { tenantId, pageGroupId, lasting, passing } = await addTenantTo(core, tested, name)
    seen.tenants.push(tenantId)
    seen.groups.push({ tenantId, pageGroupId })
    if (name !== WITHOUT_LASTING_ENDPOINT) seen.endpoints.unshift({ tenantId, webhookEndpointId: lasting })
    seen.endpoints.push({ tenantId, webhookEndpointId: passing })
  }
  return seen
}

const addTenantTo = async (core: Core, world: World, name: string) => {
  const { webhooks } = world.store
  const { tenantId } = await core.createTenant(world)({ name })
  const lasting = world.newId('webhookendpoint')
  const passing = world.newId('webhookendpoint')
  if (name !== WITHOUT_LASTING_ENDPOINT)
    await webhooks.add(someEndpoint(tenantId, { webhookEndpointId: lasting, slot: 1 }))
  await webhooks.add(someEndpoint(tenantId, { webhookEndpointId: passing, slot: 2 }))
  const { value: group } = await world.calls.createPageGroup({ tenantId, name, title: `Title ${name}` })
  return { tenantId, pageGroupId: group.pageGroupId, lasting, passing }
}

/** Something that was created, as its event names it. */
type Creation = Pick<NewEvent, 'tenantId' | 'type' | 'ids'>
const CREATIONS = ['prospect.created', 'prospect_log.created', 'page_group.created', 'page.created']

/** The creations among the events of tenants that always keep events. */
const creationsAmong = (events: Seen['events'], seen: Seen): Creation[] =>
  comparable(
    events
      .filter(({ type }) => CREATIONS.includes(type))
      .map(({ tenantId, type, ids }) => ({ tenantId, type, ids })),
    seen,
  )

/** The events that there must be of what was created. */
const creationsOf = (seen: Seen): Creation[] => {
  const creations: Creation[] = []
  const add = (type: Creation['type'], things: readonly { readonly tenantId: string }[]) => {
    for (const { tenantId, ...ids } of things) creations.push({ tenantId, type, ids })
  }
  add('prospect.created', seen.prospects)
  add('prospect_log.created', seen.logs)
  add('page_group.created', seen.groups)
  add('page.created', seen.pages)
  return comparable(creations, seen)
}

/** In one order, without those of the tenant that does not always keep events. */
const comparable = (creations: readonly Creation[], { tenants }: Seen): Creation[] => {
  const alwaysKeepEvents = tenants.slice(0, WITH_LASTING_ENDPOINT.length)
  return creations
    .filter(({ tenantId }) => alwaysKeepEvents.includes(tenantId))
    .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}
