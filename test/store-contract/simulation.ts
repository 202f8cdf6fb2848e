import { randomInt } from 'node:crypto'
import type { NewEvent, PageWant, Store, VersionWant } from 'prospect-pages'
import { same } from './assertions.ts'
import { type Core, type Kept, type Subject, section } from './contract.ts'
import { operationsOver } from './processes.ts'
import { type Random, randomBy } from './random.ts'
import { AWKWARD_TEXTS, at, someClaim, someEndpoint } from './rows.ts'
import { countedIds, idOf, START_MS, stoppedClock } from './setting.ts'

const STEPS = 900
const STEPS_MAX = 5 * STEPS
const CALLS_MAX = 20
/** Of changes by hand. They are made one after the other: at once they would overtake each other by chance. */
const CHANGES_MAX = 8
/** Most changes are made of the newest groups and pages, so that many are made of one. */
const RECENT = 8
/** As often a version is given to a namer. */
const ATTEMPTS_MAX = 5

export const simulation = section('simulation', () => ({}), {
  'the store answers the same calls as the store in memory does, and keeps the same rows': async (
    subject,
  ) => {
    const seed = Number(process.env['SIMULATION_SEED'] ?? randomInt(2 ** 31))
    await simulate(subject, seed).catch((cause) => {
      throw new Error(`SIMULATION_SEED=${seed} repeats it`, { cause })
    })
  },
})

const simulate = async ({ core, store, kept }: Subject, seed: number): Promise<void> => {
  const memory = core.memoryStore()
  const keptInMemory = async () => ({ prospects: memory.kept.prospects(), logs: memory.kept.logs() })
  const [ours, model] = [worldOf(core, store), worldOf(core, memory)]
  const chance = randomBy(seed)
  const seen = await prepared(core, [model, ours])
  const outcomes = new Set<string>()
  const missing = () => EXPECTED.filter((outcome) => !outcomes.has(outcome))
  // Chance may leave out a rare outcome: then it goes on.
  for (let step = 1; step <= STEPS || (step <= STEPS_MAX && missing().length > 0); step++) {
    const { name, run, learn } = nextStep(chance, seen)
    const [answers, expected] = await Promise.all([run(ours), run(model)])
    same({ step, name, answers }, { step, name, answers: expected })
    learn?.(expected)
    for (const answer of expected) outcomes.add(`${name}: ${outcomeOf(answer)}`)
  }
  const everything = await everythingIn(store, kept, seen)
  same(everything, await everythingIn(memory, keptInMemory, seen))
  const events = await eventsIn(store, seen)
  same(events, await eventsIn(memory, seen))
  same(createdBy(events), createdIn(everything, seen))
  same(missing(), [])
}

/** What must have come about for the simulation to prove anything. */
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
]

type World = ReturnType<typeof worldOf>
const worldOf = (core: Core, opened: Store) => {
  // A cluster may save such a list as a whole or not at all, and what is decided again gets other ids.
  const recordLogs: Store['activities']['recordLogs'] = async (logs, eventOf) => {
    const added = [...(await opened.activities.recordLogs(logs, eventOf))]
    for (const log of logs.filter(({ prospectLogId }) => !added.includes(prospectLogId)))
      added.push(...(await opened.activities.recordLogs([log], eventOf)))
    return added
  }
  const store = { ...opened, activities: { ...opened.activities, recordLogs } }
  const clock = stoppedClock()
  const [newId, newEventId] = [countedIds(), countedIds()]
  // How often a store asks for the events of a change must not change other ids.
  const idOfAny: typeof newId = (prefix) => (prefix === 'event' ? newEventId : newId)(prefix)
  const world = { store, clock, newId: idOfAny }
  // All names come at once, so that all versions are saved in one list, however fast the store is.
  let [unnamed, named] = [0, Promise.withResolvers<void>()]
  const claim: Store['versions']['claim'] = async (want) => {
    const claimed = await store.versions.claim(want)
    unnamed += claimed.filter(({ attempt }) => attempt <= ATTEMPTS_MAX).length
    return claimed
  }
  const publish = core.publishVersions({
    ...world,
    store: { versions: { ...store.versions, claim } },
    claimMax: 100_000,
    leaseMs: 60_000,
    namer: async ({ supplementaryContext }) => {
      const { promise, resolve } = named
      if (--unnamed === 0) {
        named = Promise.withResolvers()
        resolve()
      }
      await promise
      if (supplementaryContext?.includes('fail')) return null
      return `Named: ${supplementaryContext}`
    },
  })
  const refusal = (no: unknown) => {
    if (no instanceof core.DomainFailure) return { kind: no.kind, detail: no.message, facts: no.facts }
    return { bug: String(no) }
  }
  return {
    ...world,
    calls: {
      ...operationsOver(core, world, 1),
      createPageGroup: core.createPageGroup(world),
      getPageGroup: core.getPageGroup(world),
      updatePageGroup: core.updatePageGroup({ ...world, seesDeleted: true }),
      updatePage: core.updatePage(world),
      deletePage: core.deletePage(world),
      createVersion: core.createVersion(world),
      publishVersion: core.publishVersion(world),
      unpublishPage: core.unpublishPage(world),
    },
    refusal,
    publish: async () => {
      while (await publish(new AbortController().signal));
    },
    /** Claims what waits, as a publisher that then dies. */
    claimAndDie: async () => {
      const now = clock() - START_MS
      const claimed = await store.versions.claim(
        someClaim({ now: at(now), until: at(now + 60_000), max: 100_000 }),
      )
      return claimed.toSorted((a, b) => (a.versionId < b.versionId ? -1 : 1))
    },
  }
}

/** What the calls so far have taught, to be said again or to be mixed up. */
type Seen = {
  readonly tenants: string[]
  readonly prospects: { tenantId: string; prospectId: string }[]
  readonly groups: Parent[]
  readonly pages: PageWant[]
  readonly versions: VersionWant[]
  /** Requests that can be sent once more. */
  readonly inputs: Map<string, object[]>
  /** Lists that go on, with their cursors. */
  readonly cursors: Map<string, object[]>
}
type Parent = { tenantId: string; pageGroupId: string }

const prepared = async (core: Core, worlds: readonly World[]): Promise<Seen> => {
  const tenants: string[] = []
  const groups: Parent[] = []
  for (const name of ['one', 'two', 'three'])
    for (const world of worlds) {
      const { tenantId } = await core.createTenant(world)({ name })
      if (name !== OTHER) await world.store.webhooks.add(someEndpoint(tenantId))
      const { pageGroup } = await world.calls.createPageGroup({ tenantId, name, title: `Title ${name}` })
      if (world !== worlds[0]) continue
      tenants.push(tenantId)
      groups.push({ tenantId, pageGroupId: pageGroup.pageGroupId })
    }
  return { tenants, prospects: [], groups, pages: [], versions: [], inputs: new Map(), cursors: new Map() }
}

/** A tenant without webhooks. */
const OTHER = 'three'

type Step = {
  readonly name: string
  readonly run: (world: World) => Promise<readonly unknown[]>
  readonly learn?: (answers: readonly unknown[]) => void
}

const nextStep = (chance: Random, seen: Seen): Step => {
  const steps = SHARES.flatMap(([share, step]) => Array<typeof step>(share).fill(step))
  return chance.oneOf(steps)(chance, seen)
}

const EMAILS = [
  ...['a@x', ' A@X ', 'b@x', 'c@x', 'd@x', 'e@x', 'f@x', 'É@x', 'e\u0301@x', 'İ@x', 'ß@x', 'SS@x'],
  ...['', '  ', 'null', 'N/A', '000', '--', 'anonymous', `${'long'.repeat(2_500)}@x`],
  ...AWKWARD_TEXTS,
]
const PAYLOADS = [
  '{}',
  '{"a":1,"b":[1,2]}',
  ' { "b" : [1.0,2e0], "a" : 10e-1 }',
  '{"n":12345678901234567890}',
  '{"n":12345678901234567891}',
  '{"t":"\\u0000\\ud800","h":1e131071}',
  '{"__proto__":{"x":1}}',
  '{"deep":[[[[{}]]]]}',
]
const NAMES = ['Mine', '', ' ', ...AWKWARD_TEXTS]
const CONTEXTS = ['fail', 'a fine day', ...AWKWARD_TEXTS]
const KEYS = ['1', '2', '3', 'key', 'Key', 'key ', 'NULL', '"\\{,}']

const TIMES = ['1970-01-01T00:00:00.000Z', '2026-01-01T23:00:00.000Z', '2999-12-31T23:59:59.999Z']

const maybe = <Value>(chance: Random, value: () => Value): Value | undefined =>
  chance.onceIn(2) ? value() : undefined

const logActivities = (chance: Random, seen: Seen): Step =>
  manyCalls('log activities', chance, 'logProspectActivity', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    source: chance.oneOf(['crm', 'shop', 'NULL', '😀']),
    type: chance.oneOf(['webhook', 'form', '"']),
    payload: { rawJson: chance.oneOf(PAYLOADS) },
    email: chance.onceIn(3) ? undefined : emailFrom(chance),
    name: maybe(chance, () => chance.oneOf(['Ada', 'Grace', 'NULL', '\\'])),
    // Few enough that some come again, for another request.
    idempotencyKey: chance.onceIn(3) ? `${chance.oneOf(KEYS)}${chance.below(100)}` : undefined,
    occurredAt: chance.onceIn(4) ? chance.oneOf(TIMES) : undefined,
    ...(chance.onceIn(4) && prospectFrom(chance, seen)),
  }))

const emailFrom = (chance: Random): string =>
  chance.onceIn(3) ? `p${chance.below(300)}@x` : chance.oneOf(EMAILS)
const prospectFrom = (chance: Random, { prospects, tenants }: Seen) => {
  if (prospects.length === 0 || chance.onceIn(10))
    return { prospectId: idOf('prospect', chance.below(10_000)) }
  const prospect = chance.oneOf(prospects)
  return chance.onceIn(10) ? { ...prospect, tenantId: chance.oneOf(tenants) } : prospect
}

const createPages = (chance: Random, seen: Seen): Step =>
  manyCalls('create pages', chance, 'createPageWithVersion', seen, () => ({
    ...parentFrom(chance, seen),
    customName: maybe(chance, () => chance.oneOf(NAMES)),
    supplementaryContext: maybe(chance, () => chance.oneOf(CONTEXTS)),
    content: maybe(chance, () => ({ rawJson: chance.oneOf(PAYLOADS) })),
    idempotencyKey: chance.onceIn(3) ? `${chance.oneOf(KEYS)}${chance.below(4)}` : undefined,
  }))

const parentFrom = (chance: Random, { groups, tenants }: Seen): Parent => {
  const group = chance.oneOf(chance.onceIn(2) ? groups : groups.slice(-RECENT))
  return chance.onceIn(10) ? { ...group, tenantId: chance.oneOf(tenants) } : group
}

const listGroups = (chance: Random, seen: Seen): Step =>
  manyCalls('list page groups', chance, 'listPageGroups', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    status: chance.oneOf([undefined, undefined, 'active', 'archived', 'deleted'] as const),
    ...cursorFrom(chance, seen, 'list page groups'),
    limit: 1 + chance.below(4),
  }))

const listPages = (chance: Random, seen: Seen): Step =>
  manyCalls('list pages', chance, 'listPages', seen, () => ({
    ...parentFrom(chance, seen),
    ...cursorFrom(chance, seen, 'list pages'),
    limit: 1 + chance.below(10),
  }))

/** A list that goes on where it ended; now and then by the cursor of another one. */
const cursorFrom = (chance: Random, { cursors }: Seen, name: string): { cursor?: string } => {
  if (chance.onceIn(2)) return {}
  const any = [...cursors.values()].flat()
  if (any.length === 0 || chance.onceIn(20)) return { cursor: 'nonsense' }
  if (chance.onceIn(20)) return { cursor: (chance.oneOf(any) as { cursor: string }).cursor }
  return chance.oneOf(cursors.get(name) ?? any)
}

const readPages = (chance: Random, seen: Seen): Step =>
  manyCalls('read pages', chance, 'getPage', seen, () => {
    if (seen.pages.length === 0 || chance.onceIn(8))
      return { ...parentFrom(chance, seen), pageId: idOf('page', chance.below(10_000)) }
    const page = chance.oneOf(seen.pages)
    return chance.onceIn(8) ? { ...page, tenantId: chance.oneOf(seen.tenants) } : page
  })

const createGroups = (chance: Random, seen: Seen): Step =>
  callsInTurn('create page groups', chance, 'createPageGroup', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    name: chance.oneOf(AWKWARD_TEXTS),
    title: chance.oneOf(AWKWARD_TEXTS),
    status: chance.oneOf(['active', 'active', 'archived', 'deleted'] as const),
    actions: { rawJson: `[${chance.oneOf(PAYLOADS)}]` },
    idempotencyKey: keyFrom(chance),
  }))

const readGroups = (chance: Random, seen: Seen): Step =>
  callsInTurn('read page groups', chance, 'getPageGroup', seen, () => parentFrom(chance, seen))

const updateGroups = (chance: Random, seen: Seen): Step =>
  callsInTurn('change page groups', chance, 'updatePageGroup', seen, () => ({
    ...chance.oneOf(
      chance.onceIn(4) ? seen.groups : [...seen.groups, ...seen.pages].slice(-RECENT).map(parentOf),
    ),
    ...ifRevision(chance),
    status: chance.oneOf([
      'active',
      'active',
      'active',
      'archived',
      'archived',
      'archived',
      'deleted',
    ] as const),
    title: chance.oneOf(AWKWARD_TEXTS),
  }))

const pageFrom = (chance: Random, seen: Seen): PageWant => {
  if (seen.pages.length === 0 || chance.onceIn(10))
    return { ...parentFrom(chance, seen), pageId: idOf('page', chance.below(10_000)) }
  const page = chance.oneOf(seen.pages.slice(-RECENT))
  return chance.onceIn(20) ? { ...page, tenantId: chance.oneOf(seen.tenants) } : page
}
const versionFrom = (chance: Random, seen: Seen): VersionWant => {
  const version = chance.onceIn(10) ? undefined : seen.versions.at(-1 - chance.below(4 * RECENT))
  return version ?? { ...pageFrom(chance, seen), versionId: idOf('pageversion', chance.below(10_000)) }
}
const ifRevision = (chance: Random): { ifRevision?: readonly number[] } =>
  chance.onceIn(6) ? { ifRevision: [1, 2].map(() => 1 + chance.below(8)) } : {}
const keyFrom = (chance: Random, keys = KEYS): string | undefined => maybe(chance, () => chance.oneOf(keys))

const renamePages = (chance: Random, seen: Seen): Step =>
  callsInTurn('rename pages', chance, 'updatePage', seen, () => ({
    ...pageFrom(chance, seen),
    ...ifRevision(chance),
    customName: chance.oneOf([null, undefined, ...NAMES]),
  }))

const deletePages = (chance: Random, seen: Seen): Step =>
  callsInTurn('delete pages', chance, 'deletePage', seen, () => ({
    ...pageFrom(chance, seen),
    ...ifRevision(chance),
  }))

const createVersions = (chance: Random, seen: Seen): Step =>
  callsInTurn('create versions', chance, 'createVersion', seen, () => ({
    ...pageFrom(chance, seen),
    supplementaryContext: maybe(chance, () => chance.oneOf([null, ...CONTEXTS])),
    content: maybe(chance, () => chance.oneOf([null, { rawJson: chance.oneOf(PAYLOADS) }])),
    publish: chance.onceIn(2),
    idempotencyKey: keyFrom(chance, KEYS.slice(0, 1)),
  }))

const publishVersions = (chance: Random, seen: Seen): Step =>
  callsInTurn('publish versions', chance, 'publishVersion', seen, () => ({
    ...versionFrom(chance, seen),
    ...ifRevision(chance),
  }))

const unpublishPages = (chance: Random, seen: Seen): Step =>
  callsInTurn('unpublish pages', chance, 'unpublishPage', seen, () => ({
    ...pageFrom(chance, seen),
    ...ifRevision(chance),
  }))

const listVersions = (chance: Random, seen: Seen): Step =>
  manyCalls('list versions', chance, 'listVersions', seen, () => ({
    ...pageFrom(chance, seen),
    ...cursorFrom(chance, seen, 'list versions'),
    limit: 1 + chance.below(3),
  }))

const readVersions = (chance: Random, seen: Seen): Step =>
  manyCalls('read versions', chance, 'getVersion', seen, () => versionFrom(chance, seen))

const wait = (chance: Random): Step => {
  const ms = chance.oneOf([1, 999, 1_000, 5_000, 20_000, 60_000, 61_000])
  return { name: 'wait', run: async ({ clock }) => [clock.advance(ms)] }
}

/** How often each of them comes. */
const SHARES: readonly (readonly [share: number, step: (chance: Random, seen: Seen) => Step])[] = [
  [26, logActivities],
  [18, createPages],
  [8, listGroups],
  [8, listPages],
  [8, readPages],
  [6, () => ({ name: 'publish', run: async ({ publish }) => [await publish()] })],
  [2, () => ({ name: 'claim and die', run: ({ claimAndDie }) => claimAndDie() })],
  [3, createGroups],
  [2, readGroups],
  [6, updateGroups],
  [3, renamePages],
  [2, deletePages],
  [14, createVersions],
  [10, publishVersions],
  [2, unpublishPages],
  [3, listVersions],
  [3, readVersions],
  [4, wait],
]

type Operations = World['calls']
type Calls = <Name extends keyof Operations>(
  name: string,
  chance: Random,
  useCase: Name,
  seen: Seen,
  make: () => Parameters<Operations[Name]>[0],
) => Step

/** Up to twenty calls of one use case at once, so that they share a list; now and then a call that was made before. */
const manyCalls: Calls = (name, chance, useCase, seen, make) =>
  callsOf(name, useCase, seen, inputsFor(name, chance, [CALLS_MAX, 8], seen, make), (inputs, call) =>
    Promise.all(inputs.map(call)),
  )
const callsInTurn: Calls = (name, chance, useCase, seen, make) =>
  callsOf(
    name,
    useCase,
    seen,
    inputsFor(name, chance, [CHANGES_MAX, 4], seen, make),
    async (inputs, call) => {
      const answers: unknown[] = []
      for (const input of inputs) answers.push(await call(input))
      return answers
    },
  )

const inputsFor = (
  name: string,
  chance: Random,
  [max, again]: readonly [number, number],
  seen: Seen,
  make: () => object,
): object[] => {
  const before = seen.inputs.get(name) ?? []
  return chance.many(max, () => (before.length > 0 && chance.onceIn(again) ? chance.oneOf(before) : make()))
}

const callsOf = (
  name: string,
  useCase: keyof Operations,
  seen: Seen,
  inputs: readonly object[],
  each: (inputs: readonly object[], call: (input: object) => Promise<unknown>) => Promise<unknown[]>,
): Step => {
  const before = seen.inputs.get(name) ?? []
  return {
    name,
    run: ({ calls, refusal }) => {
      const call = calls[useCase] as (input: unknown) => Promise<unknown>
      return each(inputs, (input) => call(input).catch(refusal))
    },
    learn: (answers) => {
      seen.inputs.set(name, [...before, ...inputs].slice(-200))
      for (const [i, answer] of answers.entries())
        remember(name, inputs[i] as object, Object(answer) as Learnable, seen)
    },
  }
}

const outcomeOf = (answer: unknown): string => {
  const { kind, bug, replayed } = Object(answer) as { kind?: string; bug?: string; replayed?: boolean }
  if (bug !== undefined) throw new Error(bug)
  return kind ?? (replayed ? 'replayed' : 'answered')
}

type Learnable = {
  readonly receipt?: { readonly prospectId: string; readonly createdProspect: boolean }
  readonly page?: PageWant & { readonly latestVersion?: { readonly versionId: string } }
  readonly pageGroup?: Parent
  readonly version?: VersionWant
  readonly replayed?: boolean
  readonly nextCursor?: string
}
const parentOf = ({ tenantId, pageGroupId }: Parent): Parent => ({ tenantId, pageGroupId })
const pageOf = (page: PageWant): PageWant => ({ ...parentOf(page), pageId: page.pageId })

const remember = (
  name: string,
  input: object,
  { receipt, page, pageGroup, version, replayed, nextCursor }: Learnable,
  seen: Seen,
): void => {
  if (receipt?.createdProspect === true && replayed === false) {
    const { tenantId } = input as { tenantId: string }
    seen.prospects.push({ tenantId, prospectId: receipt.prospectId })
  }
  if (page !== undefined && replayed === false) seen.pages.push(pageOf(page))
  if (pageGroup !== undefined && replayed === false) seen.groups.push(parentOf(pageGroup))
  if (version !== undefined && replayed === false)
    seen.versions.push({ ...pageOf(version), versionId: version.versionId })
  if (page?.latestVersion) seen.versions.push({ ...pageOf(page), versionId: page.latestVersion.versionId })
  if (nextCursor !== undefined)
    seen.cursors.set(name, [...(seen.cursors.get(name) ?? []), { ...input, cursor: nextCursor }].slice(-50))
}

/** Everything that a store keeps of the simulation. */
const everythingIn = async (store: Store, kept: () => Promise<Kept>, { tenants, groups, pages }: Seen) => {
  const parents = tenants.flatMap((tenantId) => groups.map((group) => ({ ...group, tenantId })))
  const all = { beforeId: null, limit: 100_000 }
  return {
    ...(await kept()),
    groups: await Promise.all(parents.map((parent) => store.pageGroups.find(parent))),
    lists: await store.pages.list(parents.map((parent) => ({ ...parent, ...all }))),
    pages: await store.pages.find(pages),
    versions: await store.versions.list(pages.map((page) => ({ ...page, ...all }))),
  }
}

type Happened = readonly [tenantId: string, type: NewEvent['type'], ids: NewEvent['ids']]

/** Every event, in an order that does not depend on chance. */
const eventsIn = async ({ events }: Store, { tenants }: Seen): Promise<Happened[]> => {
  const all: Happened[] = []
  for (const tenantId of tenants) {
    while ((await events.number({ tenantId, now: at(0), max: 500 })) > 0);
    const { rows, last } = await events.list({ tenantId, afterSequence: 0, limit: 1e6 })
    same([rows.length, rows.at(-1)?.sequence ?? 0], [last, last])
    all.push(...rows.map(({ type, ids }): Happened => [tenantId, type, ids]))
  }
  return sorted(all)
}

/** The creations among the events. */
const createdBy = (events: readonly Happened[]) => events.filter(([, type]) => CREATIONS.includes(type))
const CREATIONS = ['prospect.created', 'prospect_log.created', 'page_group.created', 'page.created']

/** The events that there must be of what was created. */
const createdIn = ({ prospects, logs }: Kept, { tenants, groups, pages }: Seen) => {
  const all: Happened[] = [
    ...prospects.map(({ tenantId, prospectId }): Happened => [tenantId, 'prospect.created', { prospectId }]),
    ...logs.map(({ tenantId, prospectId, prospectLogId }): Happened => {
      return [tenantId, 'prospect_log.created', { prospectId, prospectLogId }]
    }),
    ...groups.map(({ tenantId, pageGroupId }): Happened => [tenantId, 'page_group.created', { pageGroupId }]),
    ...pages.map(({ tenantId, ...ids }): Happened => [tenantId, 'page.created', ids]),
  ]
  return sorted(all.filter(([tenantId]) => tenants.indexOf(tenantId) < 2))
}
const sorted = (events: readonly Happened[]): Happened[] =>
  events.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
