import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/**
 * Writes each part once the reader has taken the one before, until the reader is gone. Makes no part while another
 * answer comes `before` on the connection. Returns the rest to write: nothing.
 */
export const writeParts = async (
  parts: AsyncGenerator<string> | AsyncGenerator<Uint8Array>,
  res: ServerResponse,
  onWritten: () => void,
  before?: ServerResponse,
): Promise<''> => {
  // HTTP/2 has a stream. On HTTP/1 an answer that waits behind another one has only the close event of its connection.
  const { stream = res.req.socket } = res as { readonly stream?: Duplex }
  let isGone = stream.destroyed
  let goOn = () => {}
  const leave = () => {
    isGone = true
    goOn()
    parts.return('').catch(() => {})
  }
  res.on('close', leave).on('drain', () => goOn())
  stream.on('close', leave)
  const ready = () =>
    new Promise<void>((resolve) => {
      goOn = resolve
      if (isGone) resolve()
    })
  try {
    before?.once('close', () => goOn())
    if (before && !before.closed) await ready()
    if (isGone) return ''
    for await (const part of parts) {
      const isTaken = isGone || res.write(part)
      onWritten()
      if (!isTaken) await ready()
      if (isGone) break
      onWritten()
    }
    return ''
  } finally {
    stream.off('close', leave)
  }
}
