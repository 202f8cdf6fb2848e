import type { Timestamp } from './ports/world.ts'

export const isoTime = (ms: number): Timestamp => new Date(ms).toISOString()
