import pino from 'pino'

export type Log = pino.Logger

const LATE_MS_MAX = 100
const LINES_MAX = 256
/** Lines that nobody takes; past it new ones are dropped, and counted. */
const HELD_BYTES_MAX = 16_777_216

/**
 * JSON lines on stderr. A service has them written behind the back of requests, many at once and none later than
 * `LATE_MS_MAX`: it calls `flush` before the process ends.
 */
export const createLog = (level: string, written: 'at once' | 'soon' = 'soon'): Log => {
  const stderr = pino.destination({ dest: 2, sync: written === 'at once', maxLength: HELD_BYTES_MAX })
  const stream = written === 'at once' || level === 'silent' ? stderr : manyAtOnce(stderr)
  const log = pino({ level, timestamp: createTimestamp(), serializers: { err: described } }, stream)
  let dropped = 0
  stderr.on('drop', (text: string) => {
    dropped += text.split('\n').length - 1
  })
  stderr.on('drain', () => {
    if (dropped > 0) log.warn({ lines: dropped }, 'log lines were dropped, for nobody took them')
    dropped = 0
  })
  return log
}

/** The destination measures all that it holds anew for each line that it is given: it gets few and long ones. */
const manyAtOnce = (destination: ReturnType<typeof pino.destination>) => {
  let lines: string[] = []
  let timer: NodeJS.Timeout | undefined
  const pass = () => {
    clearTimeout(timer)
    timer = undefined
    if (lines.length === 0) return
    destination.write(lines.join(''))
    lines = []
  }
  // Before the destination's own listeners, which write what it holds and close it.
  process.prependListener('beforeExit', pass).prependListener('exit', pass)
  return {
    write: (line: string) => {
      lines.push(line)
      if (lines.length >= LINES_MAX) pass()
      else timer ??= setTimeout(pass, LATE_MS_MAX).unref()
    },
    flush: (done?: (error?: Error) => void) => {
      pass()
      destination.flush(done)
    },
  }
}

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
