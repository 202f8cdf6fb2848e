/** A line of a file without its end, numbered from 1. Its bytes are null if there are too many of them. */
export type Line = { readonly number: number; readonly bytes: Uint8Array | null }

/** The lines of a stream, one at a time. The bytes of a line that is too long are not kept. */
export async function* linesOf(chunks: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Line> {
  let number = 0
  let parts: Buffer[] = []
  let length = 0
  const add = (part: Buffer) => {
    length += part.length
    if (length > bytesMax) parts = []
    else parts.push(part)
  }
  const end = (): Line => {
    const bytes = length > bytesMax ? null : Buffer.concat(parts)
    parts = []
    length = 0
    return { number: ++number, bytes }
  }
  for await (const chunk of chunks) {
    let at = 0
    for (let newline = chunk.indexOf(10); newline >= 0; newline = chunk.indexOf(10, at)) {
      add(chunk.subarray(at, newline))
      yield end()
      at = newline + 1
    }
    add(chunk.subarray(at))
  }
  if (length > 0) yield end()
}
