import { type GatherOptions, gather } from './gather.ts'

/** Each list has calls of one place, and no place waits for another. By default any calls share a list. */
export type PlacedOptions<Input> = GatherOptions<Input> & {
  readonly placeOf?: ((input: Input) => string) | undefined
}

/** A `gather` for each place, for as long as it has calls. */
export const gatherByPlace = <Input, Answer>(
  run: Parameters<typeof gather<Input, Answer>>[0],
  { placeOf, ...options }: PlacedOptions<Input>,
): ((input: Input) => Promise<Answer>) => {
  if (placeOf === undefined) return gather(run, options)
  const places = new Map<string, { readonly call: (input: Input) => Promise<Answer>; calls: number }>()
  return async (input) => {
    const name = placeOf(input)
    const place = places.get(name) ?? { call: gather(run, options), calls: 0 }
    places.set(name, place)
    place.calls++
    try {
      return await place.call(input)
    } finally {
      if (--place.calls === 0) places.delete(name)
    }
  }
}
