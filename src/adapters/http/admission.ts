import { type DomainFailure, unavailable } from '../../core/engine/failures.ts'

type Limits = {
  /** Maximum number of requests that are worked on at the same time. */
  readonly atOnceMax: number
  /** Maximum number of requests that read their body or wait for their turn. */
  readonly waitingMax: number
  readonly waitMsMax: number
  /** Maximum total of request body bytes. They count from the moment they are announced until the answer. */
  readonly bodyBytesMax: number
}
const newTenant = (id: string) => ({
  id,
  places: 0,
  waiting: 0,
  /** Number of items that are worked on: see `Place.items`. */
  working: 0,
  bytes: 0,
  waitingBytes: 0,
  reading: new Set<Place>(),
  ready: new Set<Place>(),
  /** Batches between two turns: they go before the ready ones, so that a batch that has begun is finished first. */
  begun: new Set<Place>(),
})
type Tenant = ReturnType<typeof newTenant>
const isReady = ({ ready, begun }: Tenant): boolean => ready.size + begun.size > 0
/** One request between its arrival and its answer. */
export type Place = {
  readonly tenant: Tenant
  /** The queue in which it waits for its turn: `ready` or `begun` of its tenant. */
  queue: Set<Place>
  bytes: number
  /** Its weight while it is worked on: 1, or the number of items of a batch that are worked on. */
  items: number
  state: 'waiting' | 'working' | 'gone'
  readySinceMs: number
  enter: () => void
  refuse: (why: DomainFailure) => void
}

const SWEEP_EVERY_MS = 200

/**
 * The one place that decides which requests may come in and which must wait. A tenant alone may use nearly all of the room.
 * Among tenants that compete, the one that works on the fewest requests begins the next. When room runs out, the tenant
 * that holds most loses a request that is not worked on yet. A tenant that holds less than its equal part is therefore
 * not refused for the load of others.
 *
 * Bodies that are worked on cannot be dropped, and take at most half of `bodyBytesMax`. So all bodies together take at
 * most one and a half times `bodyBytesMax`: the equal parts, and bodies beyond them that are worked on.
 */
export const createAdmission = ({ atOnceMax, waitingMax, waitMsMax, bodyBytesMax }: Limits) => {
  const tenants = new Map<string, Tenant>()
  /** Tenants with requests that are ready, in the order of their turns. */
  const turns = new Set<Tenant>()
  /** Requests of one tenant at a time: slow ones must not hold all of the room when another tenant comes. */
  const ownMax = atOnceMax - Math.floor(atOnceMax / 8)
  let waiting = 0
  let working = 0
  let bytes = 0
  let workingBytes = 0
  let sweeping: NodeJS.Timeout | undefined

  const countWaiting = ({ tenant, bytes }: Place, sign: 1 | -1): void => {
    waiting += sign
    tenant.waiting += sign
    tenant.waitingBytes += sign * bytes
  }
  const countWorking = ({ tenant, items, bytes }: Place, sign: 1 | -1): void => {
    working += sign * items
    tenant.working += sign * items
    workingBytes += sign * bytes
  }
  const begin = (place: Place): void => {
    countWaiting(place, -1)
    place.state = 'working'
    countWorking(place, 1)
  }
  const remove = (place: Place): void => {
    const { tenant } = place
    if (place.state === 'working') countWorking(place, -1)
    else {
      countWaiting(place, -1)
      tenant.reading.delete(place)
      if (place.queue.delete(place) && !isReady(tenant)) turns.delete(tenant)
    }
    place.state = 'gone'
    bytes -= place.bytes
    tenant.bytes -= place.bytes
    if (--tenant.places === 0) tenants.delete(tenant.id)
  }
  const drop = (place: Place, why: string): true => {
    remove(place)
    place.refuse(unavailable(why))
    return true
  }
  /** Drops the oldest waiting request of a tenant. Requests still reading go first: slow senders are among them. */
  const dropOldest = ({ reading, ready, begun }: Tenant, bytesMin: number, why: string): boolean => {
    for (const places of [reading, ready, begun])
      for (const place of places) if (place.bytes >= bytesMin) return drop(place, why)
    return false
  }
  const tenantWithMost = (held: 'waiting' | 'bytes', droppable: 'waiting' | 'waitingBytes') => {
    let most: Tenant | undefined
    for (const tenant of tenants.values())
      if (tenant[droppable] > 0 && tenant[held] > (most?.[held] ?? 0)) most = tenant
    return most
  }

  /** A batch needs no more room to begin than any other request, or other requests would wait behind it. */
  const hasRoomFor = ({ bytes, tenant }: Place): boolean =>
    working < atOnceMax &&
    tenant.working < ownMax &&
    (bytes === 0 || workingBytes === 0 || workingBytes + bytes <= bodyBytesMax / 2)
  /** The first request of the tenant that would work on the fewest. Among equals, the tenant whose turn it is. */
  const nextOf = (bytesMax: number): Place | undefined => {
    let next: Place | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const tenant of turns) {
      const [place] = tenant.begun.size > 0 ? tenant.begun : tenant.ready
      const isNext = tenant.working < ownMax && tenant.working + (place?.items ?? 0) < fewest
      if (place === undefined || place.bytes > bytesMax || !isNext) continue
      next = place
      fewest = tenant.working + place.items
    }
    return next
  }
  const beginNext = (): void => {
    while (working < atOnceMax) {
      let place = nextOf(Number.POSITIVE_INFINITY)
      // Other bodies wait behind one that is too large for now. Requests without a body take nothing from it.
      if (place !== undefined && !hasRoomFor(place)) place = nextOf(0)
      if (place === undefined) return
      const { tenant } = place
      place.queue.delete(place)
      turns.delete(tenant)
      if (isReady(tenant)) turns.add(tenant)
      begin(place)
      place.enter()
    }
  }
  const dropLate = (): void => {
    const lateMs = performance.now() - waitMsMax
    for (const { ready, begun } of turns)
      for (const place of [...begun, ...ready])
        if (place.readySinceMs <= lateMs) drop(place, 'The request waited too long for its turn.')
    if (turns.size > 0) return
    clearInterval(sweeping)
    sweeping = undefined
  }

  const turn = (place: Place): Promise<void> | undefined => {
    const { tenant } = place
    if (place.state === 'gone') throw unavailable(TOO_MANY)
    tenant.reading.delete(place)
    if ((turns.size === 0 || place.bytes === 0) && hasRoomFor(place)) {
      begin(place)
      return undefined
    }
    sweeping ??= setInterval(dropLate, SWEEP_EVERY_MS).unref()
    return new Promise((resolve, reject) => {
      place.enter = resolve
      place.refuse = reject
      place.readySinceMs = performance.now()
      place.queue.add(place)
      turns.add(tenant)
    })
  }

  /** Makes a request that was worked on wait for its next turn, which is for this many items. */
  const wait = (place: Place, items: number): void => {
    if (place.state !== 'working') return
    countWorking(place, -1)
    place.state = 'waiting'
    countWaiting(place, 1)
    place.items = Math.min(items, atOnceMax)
    place.queue = place.tenant.begun
    beginNext()
  }

  return {
    /** A place for one request, which must `leave`. Refuses `unavailable` when too many wait. */
    arrive: (tenantId: string): Place => {
      const tenant = tenants.get(tenantId) ?? newTenant(tenantId)
      if (waiting >= waitingMax) {
        const other = tenantWithMost('waiting', 'waiting')
        if (other === undefined || other.waiting <= tenant.waiting + 1) throw unavailable(TOO_MANY)
        dropOldest(other, 0, TOO_MANY)
      }
      tenants.set(tenantId, tenant)
      tenant.places++
      const place: Place = {
        tenant,
        queue: tenant.ready,
        bytes: 0,
        items: 1,
        state: 'waiting',
        readySinceMs: 0,
        ...NOBODY_WAITS,
      }
      countWaiting(place, 1)
      return place
    },

    /** From now on the request, which waits, holds this many bytes. Refuses `unavailable` when all hold too many. */
    hold: (place: Place, wanted: number): void => {
      const { tenant } = place
      if (place.state === 'gone') throw unavailable(TOO_MANY_BYTES)
      const more = wanted - place.bytes
      while (more > 0 && bytes + more > bodyBytesMax) {
        const other = tenantWithMost('bytes', 'waitingBytes')
        if (other && other.bytes > tenant.bytes + more && dropOldest(other, 1, TOO_MANY_BYTES)) continue
        if (tenant.bytes + more <= bodyBytesMax / tenants.size) break
        throw unavailable(TOO_MANY_BYTES)
      }
      place.bytes = wanted
      bytes += more
      tenant.bytes += more
      tenant.waitingBytes += more
    },

    /** The body once it is read. Rejects with `unavailable` when the room is needed for another tenant. */
    reading: <Body>(place: Place, body: Promise<Body>): Promise<Body> =>
      new Promise((resolve, reject) => {
        place.refuse = reject
        place.tenant.reading.add(place)
        body.then(resolve, reject)
      }),

    /** Undefined when the request can be worked on at once, else a promise of its turn. Rejects with `unavailable`. */
    turn,

    /** The turn for the next items of a batch that is worked on. Until then it waits like any request. */
    nextTurn: (place: Place, items: number): Promise<void> | undefined => {
      wait(place, items)
      return turn(place)
    },

    /** Marks an answer as waiting for its reader. Calls `refuse` when the room is needed for another tenant. */
    pause: (place: Place, refuse: () => void): void => {
      place.refuse = refuse
      place.tenant.reading.add(place)
      wait(place, 1)
    },

    leave: (place: Place): void => {
      if (place.state !== 'gone') remove(place)
      beginNext()
    },
  }
}
export type Admission = ReturnType<typeof createAdmission>

const NOBODY_WAITS = { enter: () => {}, refuse: () => {} }
const TOO_MANY = 'Too many requests are waiting.'
const TOO_MANY_BYTES = 'Too many request bytes are in flight.'
