import type { Timestamp } from './ports/world.ts'

export const isoTime = (ms: number): Timestamp => new Date(ms).toISOString()
export const DAY_MS = 86_400_000
