import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { type DomainFailure, tooLarge } from '../../../core/engine/failures.ts'
import { type BodySieve, limitExceeded } from '../requests.ts'

const DISCARD_MS_MAX = 1_000
/** A body that is this long arrives in several pieces. */
const LONG_BYTES = 65_536

/** The body of a message, which may turn out to be empty. */
export const bodyOf = (
  req: IncomingMessage,
  { bodyBytesMax, batchBytesMax }: { readonly bodyBytesMax: number; readonly batchBytesMax: number },
  endedEarly: () => DomainFailure,
  beforeRead?: () => void,
) => {
  let chunks: Buffer[] = []

  const read = (bytesMax: number, sieve?: BodySieve | null) =>
    new Promise<Uint8Array>((resolve, reject) => {
      if (req.readableDidRead) return resolve(bytesReadBefore(req, bytesMax, sieve))
      beforeRead?.()
      // A stream that has ended, or whose sender is gone, emits nothing more.
      if (req.readableEnded) return resolve(new Uint8Array())
      if (req.destroyed) return reject(endedEarly())
      let bytes = 0
      let keptBytes = 0
      const onChunk = (chunk: Buffer) => {
        bytes += chunk.length
        const kept = sieve ? sieve.keep(chunk) : chunk
        keptBytes += kept.length
        if (kept.length > 0) chunks.push(kept)
        const exceeded = limitExceeded(keptBytes, bytes, bytesMax, sieve)
        if (exceeded !== null) {
          req.off('data', onChunk).pause()
          reject(tooLarge(exceeded))
        } else if (bytes >= LONG_BYTES) readInTurns(req)
      }
      const onEnd = () => {
        if (sieve) chunks.push(sieve.end())
        const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
        if (body.length > bytesMax) reject(tooLarge(bytesMax))
        else resolve(body)
        // Otherwise the bytes of a batch would be kept twice until its answer.
        chunks = []
      }
      // `close` also follows a normal end.
      const onClose = () => {
        if (!req.readableEnded) reject(endedEarly())
      }
      req.on('data', onChunk).on('end', onEnd).on('error', onClose).on('close', onClose)
    })
  return {
    bytesMax: bodyBytesMax,
    batchBytesMax,
    read,
    /** Drops the bytes that have arrived and those to come. A sender cut off while it sends would not get the answer. */
    discard: async () => {
      chunks = []
      req
        .removeAllListeners('data')
        .on('data', () => readInTurns(req))
        .resume()
      if (!req.closed)
        await once(req, 'close', { signal: AbortSignal.timeout(DISCARD_MS_MAX) }).catch(() => {})
    },
  }
}

/** Number of long bodies from which one tick of the event loop reads a piece of 64 KiB. */
const READS_AT_ONCE_MAX = 8
const reading: IncomingMessage[] = []
/**
 * Continues with a long body when its turn comes. Otherwise one tick of the event loop would read up to 2 MiB from each
 * connection, while new connections and all other requests wait.
 */
const readInTurns = (req: IncomingMessage): void => {
  req.pause()
  if (reading.push(req) === 1) setImmediate(readNext)
}
const readNext = (): void => {
  for (const req of reading.splice(0, READS_AT_ONCE_MAX)) req.resume()
  if (reading.length > 0) setImmediate(readNext)
}

/**
 * The bytes of a body that a framework has already read and kept unparsed, as `rawBody` or `body`. A parsed body does
 * not give back its bytes, and a payload is stored byte for byte.
 */
const bytesReadBefore = (req: IncomingMessage, bytesMax: number, sieve?: BodySieve | null): Uint8Array => {
  const { rawBody, body } = req as { rawBody?: unknown; body?: unknown }
  const bytes = [rawBody, body].find((kept) => kept instanceof Uint8Array)
  if (bytes === undefined)
    throw new Error('The body was already parsed: mount the prospect-pages handler before any body parser.')
  const kept = sieve ? Buffer.concat([sieve.keep(Buffer.from(bytes)), sieve.end()]) : bytes
  const exceeded = limitExceeded(kept.length, bytes.length, bytesMax, sieve)
  if (exceeded !== null) throw tooLarge(exceeded)
  return kept
}
