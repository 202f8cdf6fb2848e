/** How an input affects its prospect. */
export type Effect = {
  /** Identifiers of the prospect, such as an email and an id. Inputs that share one are about the same prospect. */
  readonly identifiers: readonly string[]
  /** What fills blanks of the prospect. Of inputs with the same identifiers and fills, only the first changes anything. */
  readonly fills: string
  /** Whether it overwrites something: it may then change what an earlier input with the same fills wrote. */
  readonly overwrites?: boolean
  /** Of several inputs under one key, the others repeat the first. No identifier equals it. */
  readonly idempotencyKey?: string | undefined
}

/** Inputs about the same prospect, or under the same idempotency key. */
type Group = {
  /** The wave of the newest input; -1 before the first. */
  lastWave: number
  /** The wave of the first input with each effect. */
  readonly firstWaveOf: Map<string, number>
  /** Set once an input shows that this group and another one are about the same prospect. */
  mergedInto?: Group
}

/** All inputs under one idempotency key have the same effect. */
const SAME_KEY = ''

/**
 * The wave of each input of a list; null for an input that is not run. The inputs of a wave run at the same time. An input
 * about the same prospect as an earlier one is in a later wave, but inputs that repeat an earlier one share a wave, because
 * they change nothing.
 */
export const wavesOf = (effects: readonly (Effect | null)[]): readonly (number | null)[] =>
  areApart(effects) ? effects.map((effect) => (effect === null ? null : 0)) : wavesOfGroups(effects)

/** Whether each input is about another prospect and under another key, as in most lists. */
const areApart = (effects: readonly (Effect | null)[]): boolean => {
  const texts = new Set<string>()
  let count = 0
  for (const effect of effects) {
    if (effect === null) continue
    for (const identifier of effect.identifiers) texts.add(identifier)
    count += effect.identifiers.length
    if (effect.idempotencyKey === undefined) continue
    texts.add(effect.idempotencyKey)
    count++
  }
  return texts.size === count
}

const wavesOfGroups = (effects: readonly (Effect | null)[]): readonly (number | null)[] => {
  const groupByIdentifier = new Map<string, Group>()
  const groupByKey = new Map<string, Group>()

  const groupOfKey = (key: string): Group => {
    const group = groupByKey.get(key) ?? newGroup()
    groupByKey.set(key, group)
    return group
  }

  const findGroup = (identifier: string): Group | undefined => {
    let group = groupByIdentifier.get(identifier)
    while (group?.mergedInto !== undefined) group = group.mergedInto
    return group
  }

  /** The one group of all these identifiers. Merges the groups that they had before. */
  const groupOf = (identifiers: readonly string[]): Group => {
    let group: Group | undefined
    for (const identifier of identifiers) {
      const found = findGroup(identifier)
      group ??= found
      if (group !== undefined && found !== undefined && found !== group) merge(found, group)
    }
    group ??= newGroup()
    for (const identifier of identifiers) groupByIdentifier.set(identifier, group)
    return group
  }

  const waveOf = ({ identifiers, fills, overwrites, idempotencyKey }: Effect): number => {
    const effect = overwrites ? null : `${identifiers.join('\0')}\0${fills}`
    const group = identifiers.length === 0 ? null : groupOf(identifiers)
    const keyGroup = idempotencyKey === undefined ? null : groupOfKey(idempotencyKey)
    const wave = Math.max(group ? nextWave(group, effect) : 0, keyGroup ? nextWave(keyGroup, SAME_KEY) : 0)
    if (group) enter(group, effect, wave)
    if (keyGroup) enter(keyGroup, SAME_KEY, wave)
    return wave
  }

  return effects.map((effect) => (effect === null ? null : waveOf(effect)))
}

const newGroup = (): Group => ({ lastWave: -1, firstWaveOf: new Map() })

const merge = (from: Group, into: Group): void => {
  into.lastWave = Math.max(into.lastWave, from.lastWave)
  for (const [effect, wave] of from.firstWaveOf) into.firstWaveOf.set(effect, wave)
  from.mergedInto = into
}

/** The first wave in which an input with this effect can run; null for one that repeats no other. */
const nextWave = ({ lastWave, firstWaveOf }: Group, effect: string | null): number => {
  const first = effect === null ? undefined : firstWaveOf.get(effect)
  return first === undefined ? lastWave + 1 : Math.max(lastWave, first + 1)
}

const enter = (group: Group, effect: string | null, wave: number): void => {
  group.lastWave = wave
  if (effect !== null && !group.firstWaveOf.has(effect)) group.firstWaveOf.set(effect, wave)
}
