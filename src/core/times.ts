import type { Timestamp } from './ports.ts'

export const isoTime = (ms: number): Timestamp => new Date(ms).toISOString()
