import pino from 'pino'

export type Log = pino.Logger

/** JSON lines on stderr. Written behind the back of requests: call `flush` before the process ends. */
export const createLog = (level: string): Log =>
  pino(
    { level, timestamp: createTimestamp(), serializers: { err: described } },
    pino.destination({ dest: 2, sync: false }),
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
