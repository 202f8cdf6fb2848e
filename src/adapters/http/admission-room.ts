import { DomainFailure } from '../../core/engine/failures.ts'

type Limits = {
  /** Maximum number of requests that read their body or wait for their turn. */
  readonly waitingMax: number
  /** Maximum total of request body bytes. They count from the moment they are announced until the answer. */
  readonly bodyBytesMax: number
}
const newTenant = (id: string) => ({
  id,
  slots: 0,
  waiting: 0,
  /** Weight of the requests in progress: see `Slot.items`. */
  itemsInProgress: 0,
  bytes: 0,
  waitingBytes: 0,
  /** Bytes of the bodies of requests in progress. */
  bytesInProgress: 0,
  /** Bytes of answers that are being made: see `Slot.answerBytes`. */
  answerBytes: 0,
  /** Number of requests in progress for each large answer: they share it, so it counts once. */
  readersOf: new Map<string | Slot, number>(),
  reading: new Set<Slot>(),
  ready: new Set<Slot>(),
  /** Batches between two turns. They go before the ready requests, so that a batch that has begun is finished first. */
  begun: new Set<Slot>(),
})
export type Tenant = ReturnType<typeof newTenant>

/** One request between its arrival and its answer. */
export type Slot = {
  tenant: Tenant
  /** The queue in which it waits for its turn: `ready` or `begun` of its tenant. */
  queue: Set<Slot>
  bytes: number
  /** The size that its answer may have, if that is large. It counts while a request for it is in progress. */
  readonly answerBytes: number
  /** Equal for requests of a tenant that share their answer; undefined if it shares with none. */
  readonly asksFor: string | undefined
  /** Its weight while it is in progress: 1, or that of the items of a batch that run at the same time. */
  items: number
  state: 'waiting' | 'inProgress' | 'gone'
  readySinceMs: number
  /** Called when its turn comes. */
  onTurn: () => void
  /** Called if it is dropped, with the reason. */
  onDropped: (why: DomainFailure) => void
}
const ignore = () => {}

/** A refusal because of other requests. */
export const noRoom = (detail: string): DomainFailure =>
  new DomainFailure('unavailable', detail, { retryAfterS: 1 }, { isCrowded: true })

export const TOO_MANY = 'Too many requests are waiting.'
const TOO_MANY_BYTES = 'Too many request bytes are in flight.'

/**
 * The room for requests and their bodies. When it runs out, the tenant that holds most loses a request that still waits.
 */
export const createRoom = ({ waitingMax, bodyBytesMax }: Limits, drop: (slot: Slot, why: string) => void) => {
  const tenants = new Map<string, Tenant>()
  let waiting = 0
  let bytes = 0

  const countWaiting = ({ tenant, bytes }: Slot, sign: 1 | -1): void => {
    waiting += sign
    tenant.waiting += sign
    tenant.waitingBytes += sign * bytes
  }

  const tenantWithMost = (measure: 'waiting' | 'bytes', droppable: 'waiting' | 'waitingBytes') => {
    let most: Tenant | undefined
    for (const tenant of tenants.values()) {
      if (tenant[droppable] > 0 && tenant[measure] > (most?.[measure] ?? 0)) most = tenant
    }
    return most
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

  const makeRoomForRequest = (tenant: Tenant): void => {
    if (waiting < waitingMax) return
    const other = tenantWithMost('waiting', 'waiting')
    if (other === undefined || other.waiting <= tenant.waiting + 1) throw noRoom(TOO_MANY)
    dropOldest(other, 0, TOO_MANY)
  }
  const makeRoomForBytes = (tenant: Tenant, more: number): void => {
    while (bytes + more > bodyBytesMax) {
      const other = tenantWithMost('bytes', 'waitingBytes')
      const holdsMore = other !== undefined && other.bytes > tenant.bytes + more
      if (holdsMore && dropOldest(other, 1, TOO_MANY_BYTES)) continue
      // An equal part of the room is a tenant's, even if the rest is in progress and cannot be dropped.
      if (tenant.bytes + more <= bodyBytesMax / tenants.size) return
      throw noRoom(TOO_MANY_BYTES)
    }
  }

  /** The tenant, with one more slot. */
  const enter = (tenantId: string): Tenant => {
    const tenant = tenants.get(tenantId) ?? newTenant(tenantId)
    makeRoomForRequest(tenant)
    tenants.set(tenantId, tenant)
    tenant.slots++
    return tenant
  }

  return {
    /**
     * A slot for one request, which must `leave`. `answerBytes` and `asksFor`: see `Slot`. Refuses `unavailable` when too
     * many wait.
     */
    arrive: (tenantId: string, answerBytes = 0, asksFor?: string): Slot => {
      const tenant = enter(tenantId)
      const slot: Slot = {
        tenant,
        queue: tenant.ready,
        bytes: 0,
        answerBytes,
        asksFor,
        items: 1,
        state: 'waiting',
        readySinceMs: 0,
        onTurn: ignore,
        onDropped: ignore,
      }
      countWaiting(slot, 1)
      return slot
    },

    /** Lets a request that has left wait again in its slot, without a body. Refuses like `arrive`. */
    reenter: (slot: Slot): void => {
      slot.tenant = enter(slot.tenant.id)
      slot.queue = slot.tenant.ready
      slot.bytes = 0
      slot.items = 1
      slot.state = 'waiting'
      countWaiting(slot, 1)
    },

    /** From now on the request, which waits, holds this many bytes. Refuses `unavailable` when all hold too many. */
    hold: (slot: Slot, bytesHeld: number): void => {
      const { tenant } = slot
      if (slot.state === 'gone') throw noRoom(TOO_MANY_BYTES)
      const more = bytesHeld - slot.bytes
      if (more > 0) makeRoomForBytes(tenant, more)
      slot.bytes = bytesHeld
      bytes += more
      tenant.bytes += more
      tenant.waitingBytes += more
    },

    /** Marks a request as reading its body, or as waiting for the reader of its answer: it is among the first to drop. */
    markReading: (slot: Slot, onDropped: Slot['onDropped']): void => {
      slot.onDropped = onDropped
      slot.tenant.reading.add(slot)
    },

    stopWaiting: (slot: Slot): void => countWaiting(slot, -1),
    waitAgain: (slot: Slot): void => countWaiting(slot, 1),

    leave: (slot: Slot): void => {
      const { tenant } = slot
      tenant.reading.delete(slot)
      bytes -= slot.bytes
      tenant.bytes -= slot.bytes
      if (--tenant.slots === 0) tenants.delete(tenant.id)
    },
  }
}
export type Room = ReturnType<typeof createRoom>
