import { MINUTE_MS } from '../core/engine/times.ts'

const CAUSES_MAX = 100

/**
 * Writes one line a minute for each cause, with the number of errors since the line before: in an outage every request
 * fails for the same reason. A refusal by a system or a database has a code; a bug is known by its stack.
 */
export const onceAMinute = (
  write: (count: number, error: unknown, facts: object) => void,
  causeOf = causeIn,
) => {
  const lines = new Map<string, { readonly atMs: number; omitted: number }>()
  return (error: unknown, facts: object = {}): void => {
    const cause = causeOf(error)
    const last = lines.get(cause)
    const atMs = performance.now()
    if (last !== undefined && atMs - last.atMs < MINUTE_MS) {
      last.omitted++
      return
    }
    if (lines.size >= CAUSES_MAX) lines.clear()
    lines.set(cause, { atMs, omitted: 0 })
    write((last?.omitted ?? 0) + 1, error, facts)
  }
}

const causeIn = (error: unknown): string => {
  if (typeof error !== 'object' || error === null) return String(error)
  const { code, message, stack } = error as NodeJS.ErrnoException
  return code === undefined ? String(stack) : `${code} ${message}`.replace(/\d+/g, '')
}
