import { type GatherObserver, type GatherOptions, gather } from '../../core/engine/gather.ts'
import type { Outcome } from '../../core/engine/outcome.ts'

/** A slice or a page may each be as large as a body. */
const LIST_LENGTH_MAX = 32
/** On PostgreSQL two are faster than one, as one is decided while the other is read. */
const LISTS_IN_FLIGHT_MAX = 2

type OfTenant = { readonly tenantId: string }
/** A statement that reads for many at once, each in its place. One may fail alone. */
type ReadAll<Want, Found> = (wants: readonly Want[]) => Promise<readonly Outcome<Found>[]>
type ReadOptions<Want> = Pick<Partial<GatherOptions<Want>>, 'listLengthMax' | 'dedupeKey'>

/** See `readsTogether`. */
export type Together = <Want extends OfTenant, Found>(
  verb: string,
  readAll: ReadAll<Want, Found>,
  options?: ReadOptions<Want>,
) => (want: Want) => Promise<Found>

/**
 * Turns reads that arrive together into one statement, and gives each caller its own answer; equal ones share it. A read
 * that finds nothing waiting starts at once. `observerOf` counts the reads of a verb, such as `pages.find`.
 */
export const readsTogether =
  (observerOf: (verb: string) => GatherObserver | undefined = () => undefined): Together =>
  (verb, readAll, options) =>
    gather(readAll, {
      listLengthMax: LIST_LENGTH_MAX,
      listsInFlightMax: LISTS_IN_FLIGHT_MAX,
      groupOf: ({ tenantId }) => tenantId,
      dedupeKey: JSON.stringify,
      observer: observerOf(verb),
      ...options,
    })
