import { randomInt } from 'node:crypto'
import type { Store } from 'prospect-pages'
import { same } from './assertions.ts'
import { type Core, type Kept, type Subject, section } from './contract.ts'
import { operationsOver } from './processes.ts'
import { type Random, randomBy } from './random.ts'
import { AWKWARD_TEXTS, at, someClaim } from './rows.ts'
import { countedIds, idOf, START_MS, stoppedClock } from './setting.ts'

const STEPS = 700
const CALLS_MAX = 20

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
  for (let step = 1; step <= STEPS; step++) {
    const { name, run, learn } = nextStep(chance, seen)
    const [answers, expected] = await Promise.all([run(ours), run(model)])
    same({ step, name, answers }, { step, name, answers: expected })
    learn?.(expected)
    for (const answer of expected) outcomes.add(`${name}: ${outcomeOf(answer)}`)
  }
  same(await everythingIn(store, kept, seen), await everythingIn(memory, keptInMemory, seen))
  same(
    EXPECTED.filter((outcome) => !outcomes.has(outcome)),
    [],
  )
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
]

type World = ReturnType<typeof worldOf>
const worldOf = (core: Core, store: Store) => {
  const clock = stoppedClock()
  const world = { store, clock, newId: countedIds() }
  const publish = core.publishVersions({
    ...world,
    claimMax: 100_000,
    leaseMs: 60_000,
    namer: async ({ supplementaryContext }) => {
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
    calls: operationsOver(core, world, 1),
    refusal,
    createGroup: core.createPageGroup(world),
    updateGroup: core.updatePageGroup(world),
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
  readonly pages: (Parent & { pageId: string })[]
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
      const { pageGroupId } = await world.createGroup({ tenantId, name, title: `Title ${name}` })
      if (world !== worlds[0]) continue
      tenants.push(tenantId)
      groups.push({ tenantId, pageGroupId })
    }
  return { tenants, prospects: [], groups, pages: [], inputs: new Map(), cursors: new Map() }
}

type Step = {
  readonly name: string
  readonly run: (world: World) => Promise<readonly unknown[]>
  readonly learn?: (answers: readonly unknown[]) => void
}

const nextStep = (chance: Random, seen: Seen): Step => {
  const kind = chance.below(100)
  if (kind < 35) return logActivities(chance, seen)
  if (kind < 55) return createPages(chance, seen)
  if (kind < 65) return listGroups(chance, seen)
  if (kind < 75) return listPages(chance, seen)
  if (kind < 83) return readPages(chance, seen)
  if (kind < 88) return { name: 'publish', run: async ({ publish }) => [await publish()] }
  if (kind < 90) return { name: 'claim and die', run: ({ claimAndDie }) => claimAndDie() }
  if (kind < 93) return createGroup(chance, seen)
  if (kind < 96) return updateGroup(chance, seen)
  const ms = chance.oneOf([1, 999, 1_000, 5_000, 20_000, 60_000, 61_000])
  return { name: 'wait', run: async ({ clock }) => [clock.advance(ms)] }
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
    customName: maybe(chance, () => chance.oneOf(['Mine', '', ' ', ...AWKWARD_TEXTS])),
    supplementaryContext: maybe(chance, () => chance.oneOf(['fail', 'a fine day', ...AWKWARD_TEXTS])),
    idempotencyKey: chance.onceIn(3) ? `${chance.oneOf(KEYS)}${chance.below(20)}` : undefined,
  }))

const parentFrom = (chance: Random, { groups, tenants }: Seen): Parent => {
  const group = chance.oneOf(groups)
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

const createGroup = (chance: Random, seen: Seen): Step => {
  const wanted = {
    tenantId: chance.oneOf(seen.tenants),
    name: chance.oneOf(AWKWARD_TEXTS),
    title: chance.oneOf(AWKWARD_TEXTS),
    status: chance.oneOf(['active', 'active', 'archived', 'deleted'] as const),
    actions: { rawJson: `[${chance.oneOf(PAYLOADS)}]` },
  }
  return {
    name: 'create a page group',
    run: async ({ createGroup }) => [await createGroup(wanted)],
    learn: ([group]) => {
      const { tenantId, pageGroupId } = group as Parent
      seen.groups.push({ tenantId, pageGroupId })
    },
  }
}

const updateGroup = (chance: Random, seen: Seen): Step => {
  const { pageGroupId } = chance.oneOf(seen.groups)
  const status = chance.oneOf(['active', 'active', 'active', 'archived', 'deleted'] as const)
  const title = chance.oneOf(AWKWARD_TEXTS)
  return {
    name: 'change a page group',
    run: async ({ updateGroup }) => [await updateGroup(pageGroupId, { status, title })],
  }
}

type Operations = World['calls']

/** Up to twenty calls of one use case at once, so that they share a list; now and then a call that was made before. */
const manyCalls = <Name extends keyof Operations>(
  name: string,
  chance: Random,
  useCase: Name,
  seen: Seen,
  make: () => Parameters<Operations[Name]>[0],
): Step => {
  const before = seen.inputs.get(name) ?? []
  const inputs = chance.many(CALLS_MAX, () =>
    before.length > 0 && chance.onceIn(8) ? chance.oneOf(before) : make(),
  )
  return {
    name,
    run: ({ calls, refusal }) => {
      const call = calls[useCase] as (input: unknown) => Promise<unknown>
      return Promise.all(inputs.map((input) => call(input).catch(refusal)))
    },
    learn: (answers) => {
      seen.inputs.set(name, [...before, ...inputs].slice(-200))
      for (const [i, answer] of answers.entries())
        remember(name, inputs[i] as object, answer as Learnable, seen)
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
  readonly page?: Seen['pages'][number]
  readonly replayed?: boolean
  readonly nextCursor?: string
}
const remember = (
  name: string,
  input: object,
  { receipt, page, replayed, nextCursor }: Learnable,
  seen: Seen,
): void => {
  if (receipt?.createdProspect === true && replayed === false) {
    const { tenantId } = input as { tenantId: string }
    seen.prospects.push({ tenantId, prospectId: receipt.prospectId })
  }
  if (page !== undefined && replayed === false) seen.pages.push(page)
  if (nextCursor !== undefined)
    seen.cursors.set(name, [...(seen.cursors.get(name) ?? []), { ...input, cursor: nextCursor }].slice(-50))
}

/** Everything that a store keeps of the simulation. */
const everythingIn = async (store: Store, kept: () => Promise<Kept>, { tenants, groups, pages }: Seen) => {
  const parents = tenants.flatMap((tenantId) => groups.map((group) => ({ ...group, tenantId })))
  const all = { beforeId: null, limit: 100_000 }
  return {
    ...(await kept()),
    groups: await Promise.all(groups.map(({ pageGroupId }) => store.pageGroups.find(pageGroupId))),
    lists: await store.pages.list(parents.map((parent) => ({ ...parent, ...all }))),
    pages: await store.pages.find(pages),
  }
}
