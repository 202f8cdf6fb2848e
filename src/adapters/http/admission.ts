import { type DomainFailure, unavailable } from '../../core/engine/failures.ts'
import { shareLoop } from '../loop-share.ts'

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
  slots: 0,
  waiting: 0,
  /** Number of items that are worked on: see `Slot.items`. */
  working: 0,
  bytes: 0,
  waitingBytes: 0,
  reading: new Set<Slot>(),
  ready: new Set<Slot>(),
  /** Batches between two turns: they go before the ready ones, so that a batch that has begun is finished first. */
  begun: new Set<Slot>(),
})
type Tenant = ReturnType<typeof newTenant>
const isReady = ({ ready, begun }: Tenant): boolean => ready.size + begun.size > 0

/** One request between its arrival and its answer. */
export type Slot = {
  readonly tenant: Tenant
  /** The queue in which it waits for its turn: `ready` or `begun` of its tenant. */
  queue: Set<Slot>
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
  const ofTenantMax = atOnceMax - Math.floor(atOnceMax / 8)
  let waiting = 0
  let working = 0
  let bytes = 0
  let workingBytes = 0
  let sweeping: NodeJS.Timeout | undefined

  const countWaiting = ({ tenant, bytes }: Slot, sign: 1 | -1): void => {
    waiting += sign
    tenant.waiting += sign
    tenant.waitingBytes += sign * bytes
  }
  const countWorking = ({ tenant, items, bytes }: Slot, sign: 1 | -1): void => {
    working += sign * items
    tenant.working += sign * items
    workingBytes += sign * bytes
  }
  const begin = (slot: Slot): void => {
    countWaiting(slot, -1)
    slot.state = 'working'
    countWorking(slot, 1)
  }
  const remove = (slot: Slot): void => {
    const { tenant } = slot
    if (slot.state === 'working') countWorking(slot, -1)
    else {
      countWaiting(slot, -1)
      tenant.reading.delete(slot)
      if (slot.queue.delete(slot) && !isReady(tenant)) turns.delete(tenant)
    }
    slot.state = 'gone'
    bytes -= slot.bytes
    tenant.bytes -= slot.bytes
    if (--tenant.slots === 0) tenants.delete(tenant.id)
  }
  const drop = (slot: Slot, why: string): void => {
    remove(slot)
    slot.refuse(unavailable(why))
  }
  /**
   * Drops the oldest waiting request of a tenant that holds so many bytes. Requests still reading go first: slow senders
   * are among them. Returns whether there was one.
   */
  const dropOldest = ({ reading, ready, begun }: Tenant, bytesMin: number, why: string): boolean => {
    for (const slots of [reading, ready, begun]) {
      for (const slot of slots) {
        if (slot.bytes < bytesMin) continue
        drop(slot, why)
        return true
      }
    }
    return false
  }
  const tenantWithMost = (measure: 'waiting' | 'bytes', droppable: 'waiting' | 'waitingBytes') => {
    let most: Tenant | undefined
    for (const tenant of tenants.values()) {
      if (tenant[droppable] > 0 && tenant[measure] > (most?.[measure] ?? 0)) most = tenant
    }
    return most
  }

  /** A batch begins as soon as any request could; otherwise others would wait behind it. */
  const hasRoomFor = ({ bytes, tenant }: Slot): boolean =>
    working < atOnceMax &&
    tenant.working < ofTenantMax &&
    (bytes === 0 || workingBytes === 0 || workingBytes + bytes <= bodyBytesMax / 2)
  /** The first request of the tenant that would work on the fewest. Among equals, the tenant whose turn it is. */
  const nextOf = (bytesMax: number): Slot | undefined => {
    let next: Slot | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const tenant of turns) {
      const [slot] = tenant.begun.size > 0 ? tenant.begun : tenant.ready
      const isNext = tenant.working < ofTenantMax && tenant.working + (slot?.items ?? 0) < fewest
      if (slot === undefined || slot.bytes > bytesMax || !isNext) continue
      next = slot
      fewest = tenant.working + slot.items
    }
    return next
  }
  const beginNext = (): void => {
    while (working < atOnceMax) {
      let slot = nextOf(Number.POSITIVE_INFINITY)
      // Other bodies wait behind one that is too large for now. Requests without a body take nothing from it.
      if (slot !== undefined && !hasRoomFor(slot)) slot = nextOf(0)
      if (slot === undefined) return
      const { tenant } = slot
      slot.queue.delete(slot)
      turns.delete(tenant)
      if (isReady(tenant)) turns.add(tenant)
      begin(slot)
      slot.enter()
    }
  }
  const dropLate = (): void => {
    const expiredMs = performance.now() - waitMsMax
    for (const { ready, begun } of turns) {
      for (const slot of [...begun, ...ready]) {
        if (slot.readySinceMs <= expiredMs) drop(slot, 'The request waited too long for its turn.')
      }
    }
    if (turns.size > 0) return
    clearInterval(sweeping)
    sweeping = undefined
  }

  const enterOrQueue = (slot: Slot): Promise<void> | undefined => {
    const { tenant } = slot
    if (slot.state === 'gone') throw unavailable(TOO_MANY)
    tenant.reading.delete(slot)
    if ((turns.size === 0 || slot.bytes === 0) && hasRoomFor(slot)) {
      begin(slot)
      return undefined
    }
    sweeping ??= setInterval(dropLate, SWEEP_EVERY_MS).unref()
    return new Promise((resolve, reject) => {
      slot.enter = resolve
      slot.refuse = reject
      slot.readySinceMs = performance.now()
      slot.queue.add(slot)
      turns.add(tenant)
    })
  }

  /** Makes a request that was worked on wait for its next turn, which is for this many items. */
  const requeue = (slot: Slot, items: number): void => {
    if (slot.state !== 'working') return
    countWorking(slot, -1)
    slot.state = 'waiting'
    countWaiting(slot, 1)
    slot.items = Math.min(items, atOnceMax)
    slot.queue = slot.tenant.begun
    beginNext()
  }

  const arrive = (tenantId: string): Slot => {
    const tenant = tenants.get(tenantId) ?? newTenant(tenantId)
    if (waiting >= waitingMax) {
      const other = tenantWithMost('waiting', 'waiting')
      if (other === undefined || other.waiting <= tenant.waiting + 1) throw unavailable(TOO_MANY)
      dropOldest(other, 0, TOO_MANY)
    }
    tenants.set(tenantId, tenant)
    tenant.slots++
    const slot: Slot = {
      tenant,
      queue: tenant.ready,
      bytes: 0,
      items: 1,
      state: 'waiting',
      readySinceMs: 0,
      ...NO_LISTENERS,
    }
    countWaiting(slot, 1)
    return slot
  }

  return {
    /** A slot for one request, which must `leave`. Refuses `unavailable` when too many wait. */
    arrive,

    /** Lets a request that has left arrive again, in the same slot. Refuses like `arrive`. */
    arriveAgain: (slot: Slot): void => {
      Object.assign(slot, arrive(slot.tenant.id))
    },

    /** From now on the request, which waits, holds this many bytes. Refuses `unavailable` when all hold too many. */
    hold: (slot: Slot, bytesHeld: number): void => {
      const { tenant } = slot
      if (slot.state === 'gone') throw unavailable(TOO_MANY_BYTES)
      const more = bytesHeld - slot.bytes
      while (more > 0 && bytes + more > bodyBytesMax) {
        const other = tenantWithMost('bytes', 'waitingBytes')
        if (other && other.bytes > tenant.bytes + more && dropOldest(other, 1, TOO_MANY_BYTES)) continue
        if (tenant.bytes + more <= bodyBytesMax / tenants.size) break
        throw unavailable(TOO_MANY_BYTES)
      }
      slot.bytes = bytesHeld
      bytes += more
      tenant.bytes += more
      tenant.waitingBytes += more
    },

    /** The body once it is read. Rejects with `unavailable` when the room is needed for another tenant. */
    reading: <Body>(slot: Slot, body: Promise<Body>): Promise<Body> =>
      new Promise((resolve, reject) => {
        slot.refuse = reject
        slot.tenant.reading.add(slot)
        body.then(resolve, reject)
      }),

    /** Undefined when the request can be worked on at once, else a promise of its turn. Rejects with `unavailable`. */
    turn: enterOrQueue,

    /** The turn for the next items of a batch that is worked on. Until then it waits like any request. */
    nextTurn: (slot: Slot, items: number): Promise<void> | undefined => {
      requeue(slot, items)
      return enterOrQueue(slot)
    },

    /** Marks an answer as waiting for its reader. Calls `refuse` when the room is needed for another tenant. */
    pause: (slot: Slot, refuse: () => void): void => {
      slot.refuse = refuse
      slot.tenant.reading.add(slot)
      requeue(slot, 1)
    },

    leave: (slot: Slot): void => {
      if (slot.state !== 'gone') remove(slot)
      beginNext()
    },
  }
}
export type Admission = ReturnType<typeof createAdmission>

/** The turn of a request in the admission and then in the event loop. Undefined if it may be worked on at once. */
export const turnToRun = ({ turn }: Pick<Admission, 'turn'>, slot: Slot): Promise<void> | undefined => {
  const { id: tenantId } = slot.tenant
  const admitted = turn(slot)
  return admitted === undefined ? shareLoop(tenantId) : admitted.then(() => shareLoop(tenantId))
}

const NO_LISTENERS = { enter: () => {}, refuse: () => {} }
const TOO_MANY = 'Too many requests are waiting.'
const TOO_MANY_BYTES = 'Too many request bytes are in flight.'
