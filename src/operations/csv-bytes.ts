import { refuse } from '../core/engine/failures.ts'

const [QUOTE, NEWLINE, RETURN] = [34, 10, 13]

/** The bytes of a CSV file as UTF-8, with line feeds at the ends of its lines. UTF-16 is known by its mark or its zeros. */
export async function* plainBytesOf(chunks: AsyncIterable<Buffer>, bytesMax: number) {
  let head: Buffer = Buffer.alloc(0)
  let isReturn: boolean | undefined
  for await (const chunk of utf8Of(chunks)) {
    const bytes = isReturn === undefined ? Buffer.concat([head, chunk]) : chunk
    isReturn ??= endsInReturn(bytes) ?? (bytes.length > bytesMax ? false : undefined)
    if (isReturn === undefined) head = bytes
    else yield isReturn ? Buffer.from(bytes.map((byte) => (byte === RETURN ? NEWLINE : byte))) : bytes
  }
  if (isReturn === undefined) yield head
}

/** Whether the first line ends in a carriage return alone, as those of old spreadsheets; undefined if more is needed. */
const endsInReturn = (bytes: Buffer): boolean | undefined => {
  let isQuoted = false
  for (const [i, byte] of bytes.entries()) {
    if (byte === QUOTE) isQuoted = !isQuoted
    if (byte === NEWLINE && !isQuoted) return false
    const next = bytes[i + 1]
    if (byte === RETURN && !isQuoted) return next === undefined ? undefined : next !== NEWLINE
  }
  return undefined
}

async function* utf8Of(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer = Buffer.alloc(0)
  let decoder: InstanceType<typeof TextDecoder> | null | undefined
  const decoded = (bytes?: Buffer): Buffer => {
    try {
      return Buffer.from(decoder?.decode(bytes, { stream: bytes !== undefined }) ?? '')
    } catch {
      return refuse('invalid_request', `The file is not well-formed UTF-16. ${SAVE_AS_UTF8}`)
    }
  }
  for await (const chunk of chunks) {
    const bytes = decoder === undefined ? Buffer.concat([head, chunk]) : chunk
    if (decoder === undefined) {
      head = bytes
      if (head.length < 3) continue
      const name = encodingOf(head)
      decoder = name === null ? null : new TextDecoder(name, { fatal: true })
    }
    const isMarked = bytes === head && !decoder && head.toString('latin1', 0, 3) === UTF8_MARK
    yield decoder ? decoded(bytes) : isMarked ? bytes.subarray(3) : bytes
  }
  yield decoder ? decoded() : decoder === undefined ? head : Buffer.alloc(0)
}
const UTF8_MARK = '\xef\xbb\xbf'
const encodingOf = ([first, second]: Buffer) => {
  if ((first === 0xff && second === 0xfe) || second === 0) return 'utf-16le'
  return (first === 0xfe && second === 0xff) || first === 0 ? 'utf-16be' : null
}
export const SAVE_AS_UTF8 = 'Save the file as CSV UTF-8.'
