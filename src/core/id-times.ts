import type { IdPrefix } from './ports/world.ts'
import { idsSince, isoTime } from './times.ts'

export const firstIdAt = (prefix: IdPrefix, ms: number): string => idsSince(prefix, isoTime(Math.max(0, ms)))
