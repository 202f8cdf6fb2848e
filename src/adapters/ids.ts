import { monotonicFactory } from 'ulid'
import type { NewId } from '../core/ports.ts'

/** Ids that sort by age even within a millisecond, and when the clock is set back. */
export const createNewId = (): NewId => {
  const ulid = monotonicFactory()
  return (prefix) => `${prefix}_${ulid().toLowerCase()}`
}
