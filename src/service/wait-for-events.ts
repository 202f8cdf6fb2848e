import { manyOf } from '../adapters/http/many-of.ts'
import { type GatherOptions, gather } from '../adapters/stores/gather.ts'
import { equalShares } from '../core/engine/equal-shares.ts'
import { unavailable } from '../core/engine/failures.ts'
import type { Result } from '../core/engine/result.ts'
import { cursorOf, type EventListing, positionOf } from '../core/events/list-events.ts'
import type { Store } from '../core/ports/store.ts'
import type { EventSlice } from '../shapes/event.ts'

/** Where to read on, or the end of a range without events. */
type Found = { readonly position: number; readonly isNew: boolean }
export type WaitingListing = EventListing & {
  /** Seconds. */
  readonly wait: number
  readonly signal?: AbortSignal | undefined
  /** Waits without the caller's slot, and takes one again if something is new. */
  readonly withoutSlot?: (wait: () => Promise<Found>) => Promise<Found>
}
type Reader = Pick<EventListing, 'types'> & { readonly after: number; readonly end: (found: Found) => void }
type Deps = {
  readonly store: Pick<Store, 'events'> & Partial<Pick<Store, 'watch'>>
  readonly read: (listing: EventListing) => Promise<Result<EventSlice>>
  readonly looking: GatherOptions<{ readonly tenantId: string }>
}

const OF_TENANT_MAX = 100
const READERS_MAX = 1_000
/** Signals may be lost. */
const LOOK_EVERY_MS = 5_000
const ROWS_AT_ONCE = 100

/**
 * Reads the feed, and if nothing matches after the cursor, waits up to `wait` seconds until something does. One look at
 * the new events of a tenant serves all of its waiting readers. Refuses `unavailable` if too many wait: a reader whose
 * slot is needed for a tenant with fewer readers is answered at once, without an event.
 */
export const waitForEvents = ({ store, read, looking }: Deps) => {
  /** By tenant: the last event that was read, and the readers waiting for the next ones. */
  const watches = new Map<string, { position: number; readonly readers: Set<Reader> }>()
  const share = equalShares(OF_TENANT_MAX, READERS_MAX)
  let waiting = 0
  let stop = () => {}

  const readNew = gather<{ readonly tenantId: string }, void>(
    manyOf(async ({ tenantId }) => {
      const watch = watches.get(tenantId)
      if (watch === undefined) return
      const { position } = watch
      const list = store.events.list({ tenantId, afterSequence: position, limit: ROWS_AT_ONCE })
      // If it fails, each reader queries separately, and gets the reason.
      const rows = await list.then((found) => found.rows).catch(() => null)
      watch.position = Math.max(watch.position, rows?.at(-1)?.sequence ?? 0)
      for (const { after, types, end } of watch.readers)
        if (rows?.some((row) => row.sequence > after && (types?.includes(row.type) ?? true)) ?? true)
          end({ position: Math.max(after, position), isNew: true })
      if (rows?.length === ROWS_AT_ONCE) void readNew({ tenantId })
    }),
    looking,
  )
  const lookFor = (named?: string) => {
    for (const tenantId of watches.keys()) if (tenantId === (named ?? tenantId)) void readNew({ tenantId })
  }
  const start = () => {
    const timer = setInterval(lookFor, LOOK_EVERY_MS)
    const unwatch = store.watch?.((signal) => {
      const [kind, tenantId] = signal.split(' ')
      if (kind === 'numbered') lookFor(tenantId)
    })
    return () => {
      clearInterval(timer)
      unwatch?.()
    }
  }

  const wait = async (tenantId: string, reading: Omit<Reader, 'end'>, ms: number, signal?: AbortSignal) => {
    const { after } = reading
    const watch = watches.get(tenantId) ?? { position: after, readers: new Set() }
    // An event was numbered since the reader looked.
    if (after < watch.position) return { position: after, isNew: true }
    const { promise, resolve } = Promise.withResolvers<Found>()
    const reader = { ...reading, end: resolve }
    const end = () => resolve({ position: Math.max(after, watch.position), isNew: false })
    const leave = share(tenantId, end)
    if (leave === null) throw unavailable('Too many requests wait for events.')
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
    if (++waiting === 1) stop = start()
    watches.set(tenantId, watch)
    if (watch.readers.add(reader).size === 1) void readNew({ tenantId })
    const found = await promise
    leave()
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
    watch.readers.delete(reader)
    if (watch.readers.size === 0) watches.delete(tenantId)
    if (--waiting === 0) stop()
    return found
  }

  return async ({ wait: seconds, signal, withoutSlot = (wait) => wait(), ...listing }: WaitingListing) => {
    const endMs = performance.now() + seconds * 1_000
    let { value: slice } = await read(listing)
    for (;;) {
      const leftMs = signal?.aborted ? 0 : endMs - performance.now()
      if (slice.items.length > 0 || slice.hasMore || leftMs <= 0) return { value: slice }
      const reader = { after: positionOf(slice.nextCursor), types: listing.types }
      const { position, isNew } = await withoutSlot(() => wait(listing.tenantId, reader, leftMs, signal))
      const nextCursor = cursorOf(position)
      slice = isNew ? (await read({ ...listing, cursor: nextCursor })).value : { ...slice, nextCursor }
    }
  }
}
