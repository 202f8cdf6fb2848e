import { tooLarge } from '../core/engine/failures.ts'
import { decodeUtf8 } from '../core/engine/parse-input.ts'

/** A line of a file without its end, numbered from 1. Its bytes are null if there are too many of them. */
export type Line = { readonly number: number; readonly bytes: Uint8Array | null }

/** Refuses `payload_too_large` and `invalid_json`: too many bytes, or not UTF-8. A mark at the beginning is left out. */
export const textOf = ({ bytes }: Line, bytesMax: number): string => {
  if (bytes === null) throw tooLarge(bytesMax)
  return decodeUtf8(bytes)
}

/**
 * The lines of a stream, one at a time. The bytes of a line that is too long are not kept. `goesOn` is called with all bytes
 * in order, up to each line end: if it returns true, this one is part of the line.
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  bytesMax: number,
  goesOn = (_: Buffer): boolean => false,
): AsyncGenerator<Line> {
  let ends = 0
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
    number = ends + 1
    return line
  }
  for await (const chunk of chunks) {
    let at = 0
    let seen = 0
    for (let newline = chunk.indexOf(10); newline >= 0; newline = chunk.indexOf(10, seen)) {
      const isInside = goesOn(chunk.subarray(seen, newline + 1))
      seen = newline + 1
      ends++
      if (isInside) continue
      add(chunk.subarray(at, newline))
      yield end()
      at = seen
    }
    goesOn(chunk.subarray(seen))
    add(chunk.subarray(at))
  }
  if (length > 0) yield end()
}
