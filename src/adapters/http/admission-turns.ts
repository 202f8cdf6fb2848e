import { noRoom, type Room, type Slot, type Tenant, TOO_MANY } from './admission-room.ts'

type Limits = {
  /** Maximum number of requests in progress. Some items of a batch count as one: see long-requests.ts. */
  readonly atOnceMax: number
  readonly waitMsMax: number
  /** Bodies of requests in progress take at most half of this, and answers that are being made as much again. */
  readonly bodyBytesMax: number
}

const SWEEP_EVERY_MS = 200
/**
 * A request for a large answer waits so many times as long as others. It holds nothing meanwhile, and the answers before it
 * take long to make: many readers of one tenant should be slow rather than refused.
 */
const ANSWER_PATIENCE = 10

const allButAnEighth = (all: number): number => all - Math.floor(all / 8)

/** Whether `more` fits beside what is present. Even a larger amount fits if nothing is present. */
const fits = (present: number, more: number, max: number): boolean => present === 0 || present + more <= max

const isReady = ({ ready, begun }: Tenant): boolean => ready.size + begun.size > 0

/** The turns of requests. Among tenants that compete, the one with the fewest requests in progress begins the next. */
export const createTurns = (
  { atOnceMax, waitMsMax, bodyBytesMax }: Limits,
  { stopWaiting, waitAgain }: Room,
  drop: (slot: Slot, why: string) => void,
) => {
  /** Tenants with requests that are ready, in the order of their turns. */
  const tenants = new Set<Tenant>()
  /** Requests of one tenant at a time: slow ones must not hold all of the room when another tenant comes. */
  const ofTenantMax = allButAnEighth(atOnceMax)
  const bytesMax = bodyBytesMax / 2
  /** Bytes of one tenant's bodies, and of its answers: they must not hold all of the room when another tenant comes. */
  const bytesOfTenantMax = allButAnEighth(bytesMax)
  let itemsInProgress = 0
  let bytesInProgress = 0
  let answerBytes = 0
  let sweeping: NodeJS.Timeout | undefined

  const countInProgress = (slot: Slot, sign: 1 | -1): void => {
    const { tenant } = slot
    itemsInProgress += sign * slot.items
    tenant.itemsInProgress += sign * slot.items
    bytesInProgress += sign * slot.bytes
    tenant.bytesInProgress += sign * slot.bytes
    if (slot.answerBytes > 0) countReader(slot, sign)
  }
  const countReader = (slot: Slot, sign: 1 | -1): void => {
    const { tenant, answerBytes: bytes, asksFor = slot } = slot
    const { readersOf } = tenant
    const before = readersOf.get(asksFor) ?? 0
    const after = before + sign
    if (after === 0) readersOf.delete(asksFor)
    else readersOf.set(asksFor, after)
    if (before > 0 && after > 0) return
    answerBytes += sign * bytes
    tenant.answerBytes += sign * bytes
  }
  const begin = (slot: Slot): void => {
    stopWaiting(slot)
    slot.state = 'inProgress'
    countInProgress(slot, 1)
  }

  /** A batch begins as soon as any request could; otherwise others would wait behind it. */
  const hasRoomFor = (slot: Slot): boolean =>
    itemsInProgress < atOnceMax &&
    slot.tenant.itemsInProgress < ofTenantMax &&
    hasRoomForBody(slot) &&
    hasRoomForAnswer(slot)

  const hasRoomForBody = ({ bytes, tenant }: Slot): boolean =>
    bytes === 0 ||
    (fits(bytesInProgress, bytes, bytesMax) && fits(tenant.bytesInProgress, bytes, bytesOfTenantMax))

  const hasRoomForAnswer = ({ answerBytes: more, asksFor, tenant }: Slot): boolean =>
    more === 0 ||
    (asksFor !== undefined && tenant.readersOf.has(asksFor)) ||
    (fits(answerBytes, more, bytesMax) && fits(tenant.answerBytes, more, bytesOfTenantMax))

  /** The first request of the tenant that would then have the fewest in progress. Equal tenants take turns. */
  const nextOf = (isWanted: (slot: Slot) => boolean): Slot | undefined => {
    let next: Slot | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const tenant of tenants) {
      const [slot] = tenant.begun.size > 0 ? tenant.begun : tenant.ready
      if (slot === undefined || tenant.itemsInProgress >= ofTenantMax || !isWanted(slot)) continue
      const itemsThen = tenant.itemsInProgress + slot.items
      if (itemsThen >= fewest) continue
      next = slot
      fewest = itemsThen
    }
    return next
  }
  /**
   * A body that is too large for now makes other bodies wait, and a large answer other large answers. Requests that need
   * none of the missing room pass them.
   */
  const nextWithRoom = (): Slot | undefined => {
    const next = nextOf(() => true)
    if (next === undefined || hasRoomFor(next)) return next
    const takesBodies = hasRoomForBody(next)
    const takesAnswers = hasRoomForAnswer(next)
    return nextOf(
      (slot) =>
        (slot.bytes === 0 || (takesBodies && hasRoomForBody(slot))) &&
        (slot.answerBytes === 0 || (takesAnswers && hasRoomForAnswer(slot))),
    )
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
    const nowMs = performance.now()
    for (const { ready, begun } of tenants) {
      for (const slot of [...begun, ...ready]) {
        const msMax = slot.answerBytes > 0 ? ANSWER_PATIENCE * waitMsMax : waitMsMax
        if (slot.readySinceMs + msMax <= nowMs) drop(slot, 'The request waited too long for its turn.')
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
      if (slot.state === 'gone') throw noRoom(TOO_MANY)
      slot.tenant.reading.delete(slot)
      const mayPassQueue = tenants.size === 0 || (slot.bytes === 0 && slot.answerBytes === 0)
      if (mayPassQueue && hasRoomFor(slot)) {
        begin(slot)
        return undefined
      }
      const turn = enqueue(slot)
      // All others may wait for room that this request does not need.
      beginNext()
      return turn
    },

    /** Sets the weight of a request that waits for its turn: see `Slot.items`. */
    weigh: (slot: Slot, items: number): void => {
      slot.items = Math.min(items, atOnceMax)
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
