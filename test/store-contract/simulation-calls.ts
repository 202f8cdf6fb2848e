import type {
  ClaimedEndpoint,
  ClaimedVersion,
  EndpointKey,
  NewIdentifier,
  PageKey,
  ProspectKey,
  ProspectLogKey,
  StoredApiKey,
  StoredEvent,
  StoredHook,
  VersionKey,
} from 'prospect-pages/store'
import type { Random } from './random.ts'
import { idOf } from './setting.ts'
import type { World } from './simulation-world.ts'

const CALLS_MAX = 20
/** Manual changes are made one after the other, because simultaneous ones would overtake each other by chance. */
const CHANGES_MAX = 8
/** Most changes are made of the newest groups and pages, so that many are made of one. */
export const RECENT = 8

/** Values learned from the calls so far, to repeat or to mix up. */
export type Seen = {
  readonly tenants: string[]
  readonly prospects: ProspectKey[]
  readonly logs: (ProspectLogKey & ProspectKey)[]
  /** Identifiers that were ever added to a prospect. */
  readonly identifiers: readonly NewIdentifier[]
  readonly erasures: { tenantId: string; erasureId: string }[]
  readonly groups: Parent[]
  readonly pages: PageKey[]
  readonly versions: VersionKey[]
  readonly events: StoredEvent[]
  /** The first of them stay enabled, so that no event of their tenants is missing. */
  readonly endpoints: EndpointKey[]
  readonly keys: StoredApiKey[]
  readonly hooks: StoredHook[]
  /** Claims of workers that died. */
  readonly versionsClaimed: ClaimedVersion[]
  readonly endpointsClaimed: ClaimedEndpoint[]
  /** Requests that can be repeated. */
  readonly inputs: Map<string, object[]>
  /** Lists that have more items, with their cursors. */
  readonly cursors: Map<string, object[]>
}
export type Parent = { tenantId: string; pageGroupId: string }

export type Step = {
  readonly name: string
  readonly run: (world: World) => Promise<readonly unknown[]>
  readonly learn?: (answers: readonly unknown[]) => void
}
export type MakeStep = (chance: Random, seen: Seen) => Step

export const KEYS = ['1', '2', '3', 'key', 'Key', 'key ', 'NULL', '"\\{,}']

export const PAYLOADS = [
  '{}',
  '{"a":1,"b":[1,2]}',
  ' { "b" : [1.0,2e0], "a" : 10e-1 }',
  '{"n":12345678901234567890}',
  '{"n":12345678901234567891}',
  '{"t":"\\u0000\\ud800","h":1e131071}',
  '{"__proto__":{"x":1}}',
  '{"deep":[[[[{}]]]]}',
]

export const maybe = <Value>(chance: Random, value: () => Value): Value | undefined =>
  chance.onceIn(2) ? value() : undefined

export const parentFrom = (chance: Random, { groups, tenants }: Seen): Parent => {
  const group = chance.oneOf(chance.onceIn(2) ? groups : groups.slice(-RECENT))
  return chance.onceIn(10) ? { ...group, tenantId: chance.oneOf(tenants) } : group
}

/** Usually a thing that was seen, sometimes one that was not. Now and then another tenant asks for it. */
export const seenOrUnknown = <Key extends { readonly tenantId: string }>(
  chance: Random,
  { tenants }: Seen,
  keys: readonly Key[],
  unknown: Key,
): Key => {
  const key = keys.length === 0 || chance.onceIn(10) ? unknown : chance.oneOf(keys)
  return chance.onceIn(10) ? { ...key, tenantId: chance.oneOf(tenants) } : key
}
export const prospectFrom = (chance: Random, seen: Seen): ProspectKey =>
  seenOrUnknown(chance, seen, seen.prospects, {
    tenantId: chance.oneOf(seen.tenants),
    prospectId: idOf('prospect', chance.below(10_000)),
  })

/** Usually the input of a list that continues where it ended. Sometimes the cursor belongs to another list. */
export const cursorFrom = (chance: Random, { cursors }: Seen, name: string): { cursor?: string } => {
  if (chance.onceIn(2)) return {}
  const any = [...cursors.values()].flat()
  if (any.length === 0 || chance.onceIn(20)) return { cursor: 'nonsense' }
  if (chance.onceIn(20)) return { cursor: (chance.oneOf(any) as { cursor: string }).cursor }
  return chance.oneOf(cursors.get(name) ?? any)
}

type Operations = World['calls']
type Calls = <Name extends keyof Operations>(
  name: string,
  chance: Random,
  useCase: Name,
  seen: Seen,
  make: () => Parameters<Operations[Name]>[0],
) => Step

/**
 * Up to twenty calls of one use case, at once unless one depends on another, so that they share statements. Some repeat
 * earlier calls.
 */
export const manyCalls: Calls = (name, chance, useCase, seen, make) =>
  callsOf(
    name,
    seen,
    inputsFor(name, chance, { max: CALLS_MAX, repeatedOnceIn: 8 }, seen, make),
    ({ callAtOnce }, inputs) => callAtOnce(useCase, inputs),
  )
/** A few calls of one use case, one after the other. Some repeat earlier calls. */
export const callsInTurn: Calls = (name, chance, useCase, seen, make) =>
  callsOf(
    name,
    seen,
    inputsFor(name, chance, { max: CHANGES_MAX, repeatedOnceIn: 4 }, seen, make),
    async ({ calls, refusal }, inputs) => {
      const call = calls[useCase] as (input: unknown) => Promise<unknown>
      const answers: unknown[] = []
      for (const input of inputs) answers.push(await call(input).catch(refusal))
      return answers
    },
  )

const inputsFor = (
  name: string,
  chance: Random,
  { max, repeatedOnceIn }: { readonly max: number; readonly repeatedOnceIn: number },
  seen: Seen,
  make: () => object,
): object[] =>
  chance.many(max, () => {
    const before = seen.inputs.get(chance.onceIn(2) ? name : answeredOf(name)) ?? []
    return before.length > 0 && chance.onceIn(repeatedOnceIn) ? chance.oneOf(before) : make()
  })

/** Answered requests are kept separately: refused ones would soon displace the few that can be replayed. */
const answeredOf = (name: string) => `${name}: answered`

const callsOf = (
  name: string,
  seen: Seen,
  inputs: readonly object[],
  run: (world: World, inputs: readonly object[]) => Promise<unknown[]>,
): Step => {
  const keep = (name: string, inputs: readonly object[]) =>
    seen.inputs.set(name, [...(seen.inputs.get(name) ?? []), ...inputs].slice(-200))
  return {
    name,
    run: (world) => run(world, inputs),
    learn: (answers) => {
      keep(name, inputs)
      keep(
        answeredOf(name),
        inputs.filter((_, i) => outcomeOf(answers[i]) === 'answered'),
      )
      for (const [i, answer] of answers.entries())
        remember(name, inputs[i] as object, Object(answer) as Learnable, seen)
    },
  }
}

export const outcomeOf = (answer: unknown): string => {
  const { kind, bug, replayed } = Object(answer) as { kind?: string; bug?: string; replayed?: boolean }
  if (bug !== undefined) throw new Error(bug)
  return kind ?? (replayed ? 'replayed' : 'answered')
}

/** The members from which the simulation learns, of the answers of all operations. */
type Learnable = {
  readonly value?: {
    readonly prospectId?: string
    readonly prospectLogId?: string
    readonly createdProspect?: boolean
    readonly pageGroupId?: string
    readonly pageId?: string
    readonly versionId?: string
    readonly latestVersion?: { readonly versionId: string }
    readonly nextCursor?: string | null
    readonly erasureId?: string
    readonly webhookEndpointId?: string
    readonly secret?: string
  }
  readonly created?: boolean
  readonly replayed?: boolean
}
export const parentOf = ({ tenantId, pageGroupId }: Parent): Parent => ({ tenantId, pageGroupId })

export const remember = (name: string, input: object, answer: Learnable, seen: Seen): void => {
  const { tenantId } = input as { tenantId: string }
  const { erasureId, webhookEndpointId, secret, nextCursor } = answer.value ?? {}
  rememberProspect(tenantId, answer, seen)
  rememberPage(tenantId, answer, seen)
  if (erasureId !== undefined) seen.erasures.push({ tenantId, erasureId })
  if (webhookEndpointId !== undefined && secret !== undefined) {
    seen.endpoints.push({ tenantId, webhookEndpointId })
  }
  if (typeof nextCursor === 'string') {
    const cursors = seen.cursors.get(name) ?? []
    seen.cursors.set(name, [...cursors, { ...input, cursor: nextCursor }].slice(-50))
  }
}

const rememberProspect = (
  tenantId: string,
  { value = {}, created, replayed }: Learnable,
  seen: Seen,
): void => {
  const { prospectId, prospectLogId, createdProspect } = value
  if (prospectId === undefined) return
  if (replayed === false && prospectLogId !== undefined) {
    if (createdProspect) seen.prospects.push({ tenantId, prospectId })
    seen.logs.push({ tenantId, prospectId, prospectLogId })
  }
  if (created) seen.prospects.push({ tenantId, prospectId })
}

/** A page group, or a page or version in it. */
const rememberPage = (tenantId: string, { value = {}, replayed }: Learnable, seen: Seen): void => {
  const { pageGroupId, pageId, versionId, latestVersion } = value
  const isNew = replayed === false
  if (pageGroupId === undefined) return
  if (pageId === undefined) {
    if (isNew) seen.groups.push({ tenantId, pageGroupId })
    return
  }
  const page = { tenantId, pageGroupId, pageId }
  if (isNew && versionId === undefined) seen.pages.push(page)
  if (isNew && versionId !== undefined) seen.versions.push({ ...page, versionId })
  if (latestVersion) seen.versions.push({ ...page, versionId: latestVersion.versionId })
}
