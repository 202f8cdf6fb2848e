import { boundaryIn, HEADERS_LENGTH_MAX, isFileHead } from './multipart.ts'

/** Lets a form through as it arrives, and leaves out what is in its files. */
export type FilesLeftOut = {
  /** What is kept of these bytes and of earlier ones. */
  readonly keep: (bytes: Buffer) => Buffer
  /** What is kept of the last bytes. */
  readonly end: () => Buffer
  /** How many bytes each file had, in order. */
  readonly fileBytes: readonly number[]
}

const HEAD_END = /\r?\n\r?\n/
const CR = 0x0d
/** Small pieces are joined first: each piece passes over what waits. */
const PIECE_BYTES_MIN = 4_096
/** Where the next byte is: before a delimiter, right after one, in a file, or after the end of the form. */
type State = 'text' | 'head' | 'file' | 'end'

/**
 * Reads a body in `multipart/form-data` past its files; null if it is none. Each byte is passed over a fixed number of
 * times, and at most the headers of one part wait. What is malformed is kept: `partsIn` says what is wrong with it.
 */
export const leaveOutFiles = (contentType: string): FilesLeftOut | null => {
  const boundary = boundaryIn(contentType)
  if (boundary === null) return null
  const delimiter = Buffer.from(`\n--${boundary}`, 'latin1')
  const fileBytes: number[] = []
  // A delimiter at the beginning has no line end before it, so one is put there, and taken from what is kept.
  let waiting: Buffer = Buffer.from('\n')
  let isBegun = false
  let state: State = 'text'
  let fileLength = 0
  let lastOfFile = 0

  /** Takes bytes from those that wait. In a file they are only counted. */
  const take = (length: number): Buffer => {
    const taken = waiting.subarray(0, length)
    waiting = waiting.subarray(length)
    if (state !== 'file') return taken
    fileLength += length
    if (length > 0) lastOfFile = taken[length - 1] ?? 0
    return NOTHING
  }
  /** The first byte counted is the line end of the headers, and the last may be a CR before the delimiter. */
  const endFile = (): void => {
    const aroundFile = lastOfFile === CR && fileLength > 1 ? 2 : 1
    fileBytes.push(Math.max(fileLength - aroundFile, 0))
    fileLength = 0
    lastOfFile = 0
  }
  /** Handles what waits up to the next change of state; null if that needs more bytes. */
  const step = (): Buffer | null => {
    if (state === 'end') return waiting.length > 0 ? take(waiting.length) : null
    if (state === 'head') {
      if (waiting.length < 2) return null
      if (waiting.toString('latin1', 0, 2) === '--') {
        state = 'end'
        return NOTHING
      }
      const text = waiting.toString('latin1', 0, HEADERS_LENGTH_MAX)
      const found = HEAD_END.exec(text)
      if (found === null && text.length < HEADERS_LENGTH_MAX) return null
      // The last line end stays: it may be that of the next delimiter.
      const head = take(found === null ? 0 : found.index + found[0].length - 1)
      state = isFileHead(`${head.toString('latin1')}\n`) ? 'file' : 'text'
      return head
    }
    const at = waiting.indexOf(delimiter)
    if (at < 0) {
      const certain = waiting.length - delimiter.length + 1
      return certain > 0 ? take(certain) : null
    }
    const text = take(at)
    if (state === 'file') endFile()
    state = 'head'
    return Buffer.concat([text, take(delimiter.length)])
  }

  const withoutLineEnd = (kept: Buffer): Buffer => {
    if (isBegun || kept.length === 0) return kept
    isBegun = true
    return kept.subarray(1)
  }

  let pieces: Buffer[] = []
  let piecesLength = 0
  /** Handles the pieces that came so far. */
  const handle = (): Buffer => {
    waiting = Buffer.concat([waiting, ...pieces])
    pieces = []
    piecesLength = 0
    const kept: Buffer[] = []
    for (let part = step(); part !== null; part = step()) kept.push(part)
    return Buffer.concat(kept)
  }

  return {
    fileBytes,
    keep: (bytes) => {
      pieces.push(bytes)
      piecesLength += bytes.length
      return piecesLength < PIECE_BYTES_MIN ? NOTHING : withoutLineEnd(handle())
    },
    end: () => {
      const kept = handle()
      const rest = take(waiting.length)
      if (state === 'file') endFile()
      return withoutLineEnd(Buffer.concat([kept, rest]))
    },
  }
}
const NOTHING = Buffer.alloc(0)
