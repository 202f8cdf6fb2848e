import type { PoolCounts } from './gate.ts'

/** What the metrics want to know of the connections. */
export type DatabaseWatch = {
  /** Gets what tells how many statements are under way, and how many wait for a connection. */
  readonly pool: (counts: () => PoolCounts) => void
  /** Told how long each statement took, and what came of it. */
  readonly statement: (ms: number, outcome: 'answered' | 'failed') => void
}
