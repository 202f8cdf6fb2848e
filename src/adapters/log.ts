import pino from 'pino'
import { isoTime } from '../core/engine/times.ts'
import { readable } from './readable-log.ts'

export type Log = pino.Logger
/** How a line shows its level: as pino's number, or by name. */
export type Levels = 'numbers' | 'names'

const BUFFER_MS_MAX = 100
const BUFFER_LINES_MAX = 256
/** Maximum bytes of lines that stderr has not accepted yet. Past it new lines are dropped and counted. */
const PENDING_BYTES_MAX = 16_777_216

/** A log for commands: JSON lines on a stream, or readable lines on a terminal, written one at a time. */
export const createLogOn = (level: string, stream: NodeJS.WriteStream): Log =>
  logOver(level, {
    write: (line: string) => stream.write(stream.isTTY ? readable(line) : line),
  })

/** A log for servers, on stderr. Lines are buffered, so that no request waits for a write: `flush` before exit. */
export const createLog = (level: string, levels: Levels = 'numbers'): Log => {
  // With a `minLength` of 0 `flush` would not wait until the lines are written.
  const stderr = pino.destination({ dest: 2, sync: false, minLength: 1, maxLength: PENDING_BYTES_MAX })
  const lines = level === 'silent' ? stderr : buffered(stderr)
  const stream = process.stderr.isTTY
    ? { write: (line: string) => lines.write(readable(line)), flush: lines.flush.bind(lines) }
    : lines
  const log = logOver(level, stream, levels)
  // A closed terminal accepts no more lines, and at exit the destination would try forever.
  stderr.on('error', () => Object.assign(stderr, { write: () => true, flushSync: () => {} }))
  let dropped = 0
  stderr.on('drop', (text: string) => {
    dropped += text.split('\n').length - 1
  })
  stderr.on('drain', () => {
    if (dropped > 0) log.warn({ lines: dropped }, 'dropped log lines: stderr was not being read')
    dropped = 0
  })
  return log
}

const logOver = (level: string, stream: pino.DestinationStream, levels: Levels = 'numbers'): Log =>
  pino(
    {
      level,
      timestamp: createTimestamp(),
      serializers: { err: loggable },
      formatters: levels === 'names' ? { level: (label) => ({ level: label }) } : {},
    },
    stream,
  )

/** Writes few long chunks: at each write the destination measures everything that it holds again. */
const buffered = (destination: ReturnType<typeof pino.destination>) => {
  let lines: string[] = []
  let timer: NodeJS.Timeout | undefined
  const write = () => {
    clearTimeout(timer)
    timer = undefined
    if (lines.length > 0) destination.write(lines.join(''))
    lines = []
  }
  // These run before the listeners of the destination, which flush and close it.
  process.prependListener('beforeExit', write).prependListener('exit', write)
  return {
    write: (line: string) => {
      lines.push(line)
      if (lines.length >= BUFFER_LINES_MAX) write()
      else timer ??= setTimeout(write, BUFFER_MS_MAX).unref()
    },
    flush: (done?: (error?: Error) => void) => {
      write()
      destination.flush(done)
    },
  }
}

/** The member `time` of a line. Under load many lines share a millisecond. */
const createTimestamp = () => {
  let lastMs = 0
  let member = ''
  return () => {
    const ms = Date.now()
    if (ms !== lastMs) member = `,"time":"${isoTime(ms)}"`
    lastMs = ms
    return member
  }
}

/** The members of an error that hold no caller's data: database drivers attach whole rows to their errors. */
const loggable = (error: unknown) => {
  if (!(error instanceof Error)) return { message: typeof error }
  const { name, message, code, stack, cause } = error as NodeJS.ErrnoException
  const known = { name, message, code, stack }
  return cause instanceof Error ? { ...known, cause: cause.message } : known
}
