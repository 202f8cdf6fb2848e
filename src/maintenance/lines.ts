import { tooLarge } from '../core/engine/failures.ts'
import { decodeUtf8 } from '../core/engine/parse-input.ts'

/** A line of a file without its line end, numbered from 1. Its bytes are null if it is too long. */
export type Line = { readonly number: number; readonly bytes: Uint8Array | null }

/** The text of a line, without a byte order mark. Refuses `payload_too_large`, and `invalid_json` if it is not UTF-8. */
export const textOf = ({ bytes }: Line, bytesMax: number): string => {
  if (bytes === null) throw tooLarge(bytesMax)
  return decodeUtf8(bytes)
}

const exact = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** The text of a line of UTF-8 as it is: a byte order mark belongs to it. Refuses `payload_too_large`. */
export const exactTextOf = ({ bytes }: Line, bytesMax: number): string => {
  if (bytes === null) throw tooLarge(bytesMax)
  return exact.decode(bytes)
}

/**
 * Yields the lines of a stream. Does not keep the bytes of a line that is too long. `isLineEndInside` is called with all
 * bytes in order, up to each line end. If it returns true, that line end is part of the line.
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  bytesMax: number,
  isLineEndInside = (_: Buffer): boolean => false,
): AsyncGenerator<Line> {
  let lineEnds = 0
  let number = 1
  let parts: Buffer[] = []
  let length = 0
  const add = (part: Buffer) => {
    length += part.length
    if (length > bytesMax) parts = []
    else parts.push(part)
  }
  const end = (): Line => {
    const line = { number, bytes: length > bytesMax ? null : Buffer.concat(parts) }
    parts = []
    length = 0
    number = lineEnds + 1
    return line
  }
  for await (const chunk of chunks) {
    let lineStart = 0
    let seen = 0
    for (let newline = chunk.indexOf(10); newline >= 0; newline = chunk.indexOf(10, seen)) {
      const isInside = isLineEndInside(chunk.subarray(seen, newline + 1))
      seen = newline + 1
      lineEnds++
      if (isInside) continue
      add(chunk.subarray(lineStart, newline))
      yield end()
      lineStart = seen
    }
    isLineEndInside(chunk.subarray(seen))
    add(chunk.subarray(lineStart))
  }
  if (length > 0) yield end()
}
