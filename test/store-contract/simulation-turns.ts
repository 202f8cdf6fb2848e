import type { ActivityLookup, NewId, NewPageLookup, Store } from 'prospect-pages/store'
import type { Core } from './contract.ts'
import type { stoppedClock } from './setting.ts'

type World = {
  readonly store: Store
  readonly clock: ReturnType<typeof stoppedClock>
  readonly newId: NewId
}
type Call = (input: unknown) => Promise<unknown>

/**
 * Groups of inputs by their places, each in order. Those that concern the same person, request or page group are in one:
 * their order decides what becomes of them. What is in different groups may be done in any order, or at once.
 */
export const turnsOf = async (
  core: Core,
  { store, ...world }: World,
  useCase: string,
  inputs: readonly object[],
): Promise<number[][]> => {
  const writes: Readonly<Record<string, (world: World) => unknown>> = {
    logProspectActivity: core.logProspectActivity,
    createProspect: core.createProspect,
    createPageWithVersion: core.createPageWithVersion,
  }
  const write = writes[useCase]
  if (write === undefined) return inputs.map((_, i) => [i])

  /** What the use case looks up first, which names all that it depends on. */
  const wantsOf = async (input: object) => {
    const people: ActivityLookup[] = []
    const pages: NewPageLookup[] = []
    const noting =
      <Want>(wants: Want[]) =>
      async (want: Want): Promise<never> => {
        wants.push(want)
        throw new Error('only asked')
      }
    const asked = {
      ...store,
      activities: { ...store.activities, recall: noting(people) },
      pages: { ...store.pages, recall: noting(pages) },
    }
    await (write({ ...world, store: asked }) as Call)(input).catch(() => {})
    return { people, pages }
  }

  /** Everything that leads to the same person, as it is before any of these calls. */
  const namesOfPerson = async (want: ActivityLookup): Promise<string[]> => {
    const { tenantId, prospectId, identifiers, key } = want
    const names = identifiers.map(({ kind, hash }) => `${tenantId} ${kind} ${hash}`)
    if (prospectId !== undefined) names.push(`${tenantId} id ${prospectId}`)
    if (key !== undefined) names.push(`${tenantId} key ${key.source} ${key.idempotencyKey}`)
    for (const found of (await store.activities.recall(want)).prospects) {
      names.push(`${tenantId} id ${found.prospectId}`)
      if (found.mergedInto !== null)
        names.push(...(await namesOfPerson({ tenantId, prospectId: found.mergedInto, identifiers: [] })))
    }
    return names
  }

  const namesOf = async (input: object): Promise<string[]> => {
    const { people, pages } = await wantsOf(input)
    const names = pages.map(({ tenantId, pageGroupId }) => `${tenantId} group ${pageGroupId}`)
    for (const want of people) names.push(...(await namesOfPerson(want)))
    return names
  }
  return apart(await Promise.all(inputs.map(namesOf)))
}

/** Places by their names: those that share a name, however indirectly, together. */
const apart = (namesOfEach: readonly (readonly string[])[]): number[][] => {
  let groups: { readonly names: readonly string[]; readonly places: readonly number[] }[] = []
  for (const [i, names] of namesOfEach.entries()) {
    const isJoined = (group: { readonly names: readonly string[] }) =>
      group.names.some((name) => names.includes(name))
    const joined = groups.filter(isJoined)
    groups = groups.filter((group) => !isJoined(group))
    groups.push({
      names: [...joined.flatMap((group) => group.names), ...names],
      places: [...joined.flatMap((group) => group.places), i],
    })
  }
  return groups.map(({ places }) => places.toSorted((a, b) => a - b))
}
