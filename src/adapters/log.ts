import pino from 'pino'

export type Log = pino.Logger

const LATE_MS_MAX = 100

/**
 * JSON lines on stderr. A service has them written behind the back of requests, many at once and none later than
 * `LATE_MS_MAX`: it calls `flush` before the process ends.
 */
export const createLog = (level: string, written: 'at once' | 'soon' = 'soon'): Log =>
  pino(
    { level, timestamp: createTimestamp(), serializers: { err: described } },
    pino.destination(
      written === 'at once'
        ? { dest: 2, sync: true }
        : { dest: 2, sync: false, minLength: 4_096, periodicFlush: LATE_MS_MAX },
    ),
  )

/** The member `time` of a line. Under load many lines share a millisecond. */
const createTimestamp = () => {
  let at = 0
  let member = ''
  return () => {
    const now = Date.now()
    if (now !== at) {
      at = now
      member = `,"time":"${new Date(now).toISOString()}"`
    }
    return member
  }
}

/** Of an error only what cannot hold a caller's data: a database driver hangs whole rows on its errors. */
const described = (error: unknown) => {
  if (!(error instanceof Error)) return { message: typeof error }
  const { name, message, stack, cause } = error
  const code = (error as { code?: unknown }).code
  return { name, message, code, stack, ...(cause instanceof Error && { cause: cause.message }) }
}
