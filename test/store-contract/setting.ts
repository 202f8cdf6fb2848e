import type { Clock, IdPrefix, NewId } from 'prospect-pages/store'

/** 2026-01-01T00:00:00.000Z */
export const START_MS = Date.UTC(2026, 0, 1)

/** A clock that stands until it is moved. */
export const stoppedClock = (startMs = START_MS): Clock & { advance: (ms: number) => void } => {
  let now = startMs
  return Object.assign(() => now, {
    advance: (ms: number) => {
      now += ms
    },
  })
}

/** Ids that count: `page_00000000000000000000000001`, then `…2`. One count for all prefixes, as with real ids. */
export const countedIds = (): NewId => {
  let count = 0
  return (prefix) => idOf(prefix, ++count)
}

export const idOf = (prefix: IdPrefix, number: number): string =>
  `${prefix}_${number.toString(36).padStart(26, '0')}`
