import { refuse } from '../core/engine/failures.ts'

const QUOTE = 0x22
const NEWLINE = 0x0a
const RETURN = 0x0d
export const SAVE_AS_UTF8 = 'Save the file as CSV UTF-8.'
const UTF8_MARK = Buffer.from('\ufeff')

/** The bytes of a CSV file as UTF-8 without a mark, with line feeds at the ends of its lines. */
export async function* plainBytesOf(chunks: AsyncIterable<Buffer>, bytesMax: number) {
  let isReturn: boolean | null = null
  const isDecided = (head: Buffer) => endsInReturn(head) !== null || head.length > bytesMax
  for await (const bytes of withHead(utf8Of(chunks), isDecided)) {
    isReturn ??= endsInReturn(bytes)
    yield isReturn ? Buffer.from(bytes.map((byte) => (byte === RETURN ? NEWLINE : byte))) : bytes
  }
}

/** Whether the first line ends in a carriage return alone, as in old spreadsheets; null if more bytes are needed. */
const endsInReturn = (bytes: Buffer): boolean | null => {
  let isQuoted = false
  for (const [i, byte] of bytes.entries())
    if (byte === QUOTE) isQuoted = !isQuoted
    else if (!isQuoted && byte === NEWLINE) return false
    else if (!isQuoted && byte === RETURN) return i + 1 < bytes.length ? bytes[i + 1] !== NEWLINE : null
  return null
}

/** Decodes UTF-16, which is recognized by its mark or by the zeros in it. */
async function* utf8Of(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let decoder: InstanceType<typeof TextDecoder> | null | undefined
  try {
    for await (const bytes of withHead(chunks, ({ length }) => length > 2)) {
      const isMarked = decoder === undefined && bytes.subarray(0, 3).equals(UTF8_MARK)
      decoder ??= decoderFor(bytes)
      if (decoder) yield Buffer.from(decoder.decode(bytes, { stream: true }))
      else yield isMarked ? bytes.subarray(3) : bytes
    }
    decoder?.decode()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    refuse('invalid_request', `The file is not well-formed UTF-16. ${SAVE_AS_UTF8}`)
  }
}
const decoderFor = ([first, second]: Buffer) => {
  const isLittle = (first === 0xff && second === 0xfe) || second === 0
  if (!isLittle && !(first === 0xfe && second === 0xff) && first !== 0) return null
  return new TextDecoder(isLittle ? 'utf-16le' : 'utf-16be', { fatal: true })
}

/** Yields the same bytes, with the first chunks joined until they are enough. */
export async function* withHead(chunks: AsyncIterable<Buffer>, isEnough: (head: Buffer) => boolean) {
  let head: Buffer | null = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes: Buffer = head ? Buffer.concat([head, chunk]) : chunk
    head = head && !isEnough(bytes) ? bytes : null
    if (!head) yield bytes
  }
  if (head) yield head
}
