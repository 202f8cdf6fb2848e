import type { ServerResponse } from 'node:http'

/**
 * Bounds the bytes of answers that their callers do not take: past `bytesMax` in all, the connections that have waited
 * longest are ended until the rest fits, and each of which nothing is taken for `stillMsMax`.
 */
export const boundUnsent = (bytesMax: number, stillMsMax?: number): ((res: ServerResponse) => void) => {
  const waiting = new Map<ServerResponse, number>()
  let total = 0
  const forget = (res: ServerResponse) => {
    total -= waiting.get(res) ?? 0
    waiting.delete(res)
  }
  return (res) => {
    const bytes = res.writableLength
    if (bytes === 0 || res.destroyed) return
    waiting.set(res, bytes)
    total += bytes
    // Comes after the last byte went to the system, as well as when the connection ends.
    res.once('close', () => forget(res))
    if (stillMsMax !== undefined) res.setTimeout(stillMsMax, () => res.destroy())
    for (const [oldest] of waiting) {
      if (total <= bytesMax) break
      forget(oldest)
      oldest.destroy()
    }
  }
}
