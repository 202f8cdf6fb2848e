import { type GatherOptions, gather } from '../adapters/stores/gather.ts'
import { readEach } from '../adapters/stores/read-each.ts'
import { equalShares } from '../core/engine/equal-shares.ts'
import { unavailable } from '../core/engine/failures.ts'
import type { Result } from '../core/engine/result.ts'
import { inPlace, type Waiting } from '../core/engine/waiting.ts'
import { cursorOf, type EventListing, positionOf } from '../core/events/list-events.ts'
import type { StoredEvent } from '../core/ports/events.ts'
import type { Store } from '../core/ports/store.ts'
import type { EventSlice } from '../shapes/event.ts'

/** Where to read on, or the end of a range without events. */
type Found = { readonly position: number; readonly isNew: boolean }
type WaitingListing = EventListing & Waiting
type Reader = Pick<EventListing, 'types'> & { readonly after: number; readonly wake: (found: Found) => void }
/** The last event that was read of a tenant's feed, and the readers waiting for the next ones. */
type Feed = { position: number; readonly readers: Set<Reader> }
type Deps = {
  readonly store: Pick<Store, 'events'> & Partial<Pick<Store, 'watch'>>
  readonly read: (listing: EventListing) => Promise<Result<EventSlice>>
  readonly gatherOptions: GatherOptions<{ readonly tenantId: string }>
}

const READERS_OF_TENANT_MAX = 100
const READERS_MAX = 1_000
/** Polls even without signals, which may be lost. */
const POLL_MS = 5_000
const ROWS_AT_ONCE = 100

/**
 * Reads the feed, and if nothing matches after the cursor, waits up to `wait` seconds until something does. One read of
 * the new events of a tenant serves all of its waiting readers. Refuses `unavailable` if too many wait: a reader whose
 * slot is needed for a tenant with fewer readers is answered at once, without an event.
 */
export const waitForEvents = ({ store, read, gatherOptions }: Deps) => {
  const feeds = new Map<string, Feed>()
  const takeShare = equalShares(READERS_OF_TENANT_MAX, READERS_MAX)
  let waiting = 0
  let unwatch = () => {}

  const readNew = gather<{ readonly tenantId: string }, void>(
    readEach(async ({ tenantId }) => {
      const feed = feeds.get(tenantId)
      if (feed === undefined) return
      const { position } = feed
      const list = store.events.list({ tenantId, afterSequence: position, limit: ROWS_AT_ONCE })
      // If it fails, each reader queries separately, and gets the reason.
      const rows = await list.then((found) => found.rows).catch(() => null)
      feed.position = Math.max(feed.position, rows?.at(-1)?.sequence ?? 0)
      for (const reader of feed.readers) {
        if (rows === null || rows.some((row) => isFor(reader, row)))
          reader.wake({ position: Math.max(reader.after, position), isNew: true })
      }
      if (rows?.length === ROWS_AT_ONCE) void readNew({ tenantId })
    }),
    gatherOptions,
  )
  const readAllNew = () => {
    for (const tenantId of feeds.keys()) void readNew({ tenantId })
  }

  const watch = () => {
    const timer = setInterval(readAllNew, POLL_MS)
    const unwatchStore = store.watch?.((signal) => {
      const [kind, tenantId] = signal.split(' ')
      if (kind !== 'numbered') return
      if (tenantId === undefined) readAllNew()
      else if (feeds.has(tenantId)) void readNew({ tenantId })
    })
    return () => {
      clearInterval(timer)
      unwatchStore?.()
    }
  }
  const add = (tenantId: string, feed: Feed, reader: Reader) => {
    if (++waiting === 1) unwatch = watch()
    feeds.set(tenantId, feed)
    feed.readers.add(reader)
    if (feed.readers.size === 1) void readNew({ tenantId })
  }
  const remove = (tenantId: string, feed: Feed, reader: Reader) => {
    feed.readers.delete(reader)
    if (feed.readers.size === 0) feeds.delete(tenantId)
    if (--waiting === 0) unwatch()
  }

  const waitForNew = async (
    { tenantId, types, signal }: WaitingListing,
    after: number,
    msMax: number,
  ): Promise<Found> => {
    const feed = feeds.get(tenantId) ?? { position: after, readers: new Set() }
    // An event was numbered after the reader's last read.
    if (after < feed.position) return { position: after, isNew: true }
    const { promise, resolve: wake } = Promise.withResolvers<Found>()
    const giveUp = () => wake({ position: Math.max(after, feed.position), isNew: false })
    const releaseShare = takeShare(tenantId, giveUp)
    if (releaseShare === null) throw unavailable('Too many requests wait for events.')
    const reader: Reader = { after, types, wake }
    const timer = setTimeout(giveUp, msMax)
    signal?.addEventListener('abort', giveUp)
    add(tenantId, feed, reader)
    const found = await promise
    releaseShare()
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
    remove(tenantId, feed, reader)
    return found
  }

  return async (input: WaitingListing) => {
    const { wait: waitS, signal, withoutSlot = inPlace, ...listing } = input
    const endMs = performance.now() + waitS * 1_000
    let { value: slice } = await read(listing)
    for (;;) {
      const leftMs = signal?.aborted ? 0 : endMs - performance.now()
      if (slice.items.length > 0 || slice.hasMore || leftMs <= 0) return { value: slice }
      const after = positionOf(slice.nextCursor)
      const { position, isNew } = await withoutSlot(() => waitForNew(input, after, leftMs))
      const nextCursor = cursorOf(position)
      slice = isNew ? (await read({ ...listing, cursor: nextCursor })).value : { ...slice, nextCursor }
    }
  }
}

const isFor = ({ after, types }: Reader, { sequence, type }: StoredEvent): boolean =>
  sequence > after && (types?.includes(type) ?? true)
