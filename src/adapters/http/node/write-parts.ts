import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { BodyInParts } from '../requests.ts'

/**
 * Writes each part once the reader has taken the one before, until the reader is gone. Makes no part while another
 * answer comes `before` on the connection.
 */
export const writeParts = async (
  { parts, cancel }: BodyInParts<string> | BodyInParts<Uint8Array>,
  res: ServerResponse,
  onWritten: () => void,
  before?: ServerResponse,
): Promise<void> => {
  // HTTP/2 has a stream. On HTTP/1 an answer that waits behind another one has only the close event of its connection.
  const { stream = res.req.socket } = res as { readonly stream?: Duplex }
  let isGone = stream.destroyed
  let resume = () => {}
  const onClose = () => {
    isGone = true
    resume()
    cancel().catch(() => {})
  }
  const untilResumed = () =>
    new Promise<void>((resolve) => {
      resume = resolve
      if (isGone) resolve()
    })
  res.on('close', onClose).on('drain', () => resume())
  stream.on('close', onClose)
  try {
    before?.once('close', () => resume())
    if (before && !before.closed) await untilResumed()
    if (isGone) return
    for await (const part of parts) {
      const isTaken = isGone || res.write(part)
      onWritten()
      if (!isTaken) await untilResumed()
      if (isGone) return
      onWritten()
    }
  } finally {
    stream.off('close', onClose)
  }
}
