import { unavailable } from '../../core/engine/failures.ts'
import { type Room, type Slot, type Tenant, TOO_MANY } from './admission-room.ts'

type Limits = {
  /** Maximum number of requests in progress. Each item of a batch counts as one. */
  readonly atOnceMax: number
  readonly waitMsMax: number
  /** Bodies of requests in progress take at most half of this. */
  readonly bodyBytesMax: number
}

const SWEEP_EVERY_MS = 200

const isReady = ({ ready, begun }: Tenant): boolean => ready.size + begun.size > 0

/** The turns of requests. Among tenants that compete, the one with the fewest requests in progress begins the next. */
export const createTurns = (
  { atOnceMax, waitMsMax, bodyBytesMax }: Limits,
  { stopWaiting, waitAgain }: Room,
  drop: (slot: Slot, why: string) => void,
) => {
  /** Tenants with requests that are ready, in the order of their turns. */
  const tenants = new Set<Tenant>()
  /** Of one tenant: its slow requests must not hold all of the room when another tenant comes. */
  const ofTenantMax = atOnceMax - Math.floor(atOnceMax / 8)
  let itemsInProgress = 0
  let bytesInProgress = 0
  let sweeping: NodeJS.Timeout | undefined

  const countInProgress = ({ tenant, items, bytes }: Slot, sign: 1 | -1): void => {
    itemsInProgress += sign * items
    tenant.itemsInProgress += sign * items
    bytesInProgress += sign * bytes
  }
  const begin = (slot: Slot): void => {
    stopWaiting(slot)
    slot.state = 'inProgress'
    countInProgress(slot, 1)
  }

  /** A batch begins as soon as any request could; otherwise others would wait behind it. */
  const hasRoomFor = ({ bytes, tenant }: Slot): boolean =>
    itemsInProgress < atOnceMax &&
    tenant.itemsInProgress < ofTenantMax &&
    (bytes === 0 || bytesInProgress === 0 || bytesInProgress + bytes <= bodyBytesMax / 2)

  /** The first request of the tenant that would then have the fewest in progress. Among equals, it is whose turn it is. */
  const nextOf = (bytesMax: number): Slot | undefined => {
    let next: Slot | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const tenant of tenants) {
      const [slot] = tenant.begun.size > 0 ? tenant.begun : tenant.ready
      if (slot === undefined || slot.bytes > bytesMax || tenant.itemsInProgress >= ofTenantMax) continue
      const itemsThen = tenant.itemsInProgress + slot.items
      if (itemsThen >= fewest) continue
      next = slot
      fewest = itemsThen
    }
    return next
  }
  /** Other bodies wait behind one that is too large for now. Requests without a body take nothing from it. */
  const nextWithRoom = (): Slot | undefined => {
    const next = nextOf(Number.POSITIVE_INFINITY)
    return next === undefined || hasRoomFor(next) ? next : nextOf(0)
  }

  const beginNext = (): void => {
    while (itemsInProgress < atOnceMax) {
      const slot = nextWithRoom()
      if (slot === undefined) return
      const { tenant } = slot
      slot.queue.delete(slot)
      // The tenant goes behind all others.
      tenants.delete(tenant)
      if (isReady(tenant)) tenants.add(tenant)
      begin(slot)
      slot.onTurn()
    }
  }

  const dropLate = (): void => {
    const expiredMs = performance.now() - waitMsMax
    for (const { ready, begun } of tenants) {
      for (const slot of [...begun, ...ready]) {
        if (slot.readySinceMs <= expiredMs) drop(slot, 'The request waited too long for its turn.')
      }
    }
    if (tenants.size > 0) return
    clearInterval(sweeping)
    sweeping = undefined
  }

  const enqueue = (slot: Slot): Promise<void> => {
    sweeping ??= setInterval(dropLate, SWEEP_EVERY_MS).unref()
    return new Promise((resolve, reject) => {
      slot.onTurn = resolve
      slot.onDropped = reject
      slot.readySinceMs = performance.now()
      slot.queue.add(slot)
      tenants.add(slot.tenant)
    })
  }

  return {
    beginNext,

    /** Undefined if the request may begin at once, else a promise of its turn. Rejects with `unavailable`. */
    turn: (slot: Slot): Promise<void> | undefined => {
      if (slot.state === 'gone') throw unavailable(TOO_MANY)
      slot.tenant.reading.delete(slot)
      const mayPassQueue = tenants.size === 0 || slot.bytes === 0
      if (!mayPassQueue || !hasRoomFor(slot)) return enqueue(slot)
      begin(slot)
      return undefined
    },

    /** Makes a request in progress wait for its next turn, which is for this many items. */
    requeue: (slot: Slot, items: number): void => {
      if (slot.state !== 'inProgress') return
      countInProgress(slot, -1)
      slot.state = 'waiting'
      waitAgain(slot)
      slot.items = Math.min(items, atOnceMax)
      slot.queue = slot.tenant.begun
      beginNext()
    },

    leave: (slot: Slot): void => {
      const { tenant } = slot
      if (slot.state === 'inProgress') countInProgress(slot, -1)
      else stopWaiting(slot)
      if (slot.queue.delete(slot) && !isReady(tenant)) tenants.delete(tenant)
    },
  }
}
