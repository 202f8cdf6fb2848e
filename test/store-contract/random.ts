/** Repeatable chance: the same seed, the same choices. */
export type Random = {
  /** A whole number from 0 up to, not including, `below`. */
  readonly below: (below: number) => number
  /** True about once in so many times. */
  readonly onceIn: (times: number) => boolean
  readonly oneOf: <Choice>(choices: readonly Choice[]) => Choice
  readonly many: <Made>(max: number, make: () => Made) => Made[]
}

/** By mulberry32. */
export const randomBy = (seed: number): Random => {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    below,
    onceIn: (times) => below(times) === 0,
    oneOf: (choices) => {
      if (choices.length === 0) throw new Error('nothing to choose from')
      return choices[below(choices.length)] as (typeof choices)[number]
    },
    many: (max, make) => Array.from({ length: 1 + below(max) }, make),
  }
}

export const shuffled = <Item>(items: readonly Item[], chance: Random): Item[] => {
  const remaining = [...items]
  return items.map(() => remaining.splice(chance.below(remaining.length), 1)[0] as Item)
}
