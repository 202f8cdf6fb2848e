import type { IncomingMessage } from 'node:http'
import { DomainFailure } from '../../../core/failures.ts'
import { tooLarge } from '../requests.ts'

const DISCARD_MS_MAX = 1_000

/** A body to its end. Refuses `payload_too_large` as soon as it is, and `invalid_request` when it ends early. */
export const readBody = (req: IncomingMessage, bytesMax: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    // A stream that has ended, or whose sender is gone, emits nothing any more.
    if (req.readableEnded) return resolve(new Uint8Array())
    if (req.destroyed) return reject(endedEarly())
    const chunks: Buffer[] = []
    let bytes = 0
    const take = (chunk: Buffer) => {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes <= bytesMax) return
      req.off('data', take).pause()
      reject(tooLarge(bytesMax))
    }
    const onEnd = () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
    // `close` also follows a normal end.
    const onClose = () => {
      if (!req.readableEnded) reject(endedEarly())
    }
    req.on('data', take).on('end', onEnd).on('error', onClose).on('close', onClose)
  })

const endedEarly = () => new DomainFailure('invalid_request', 'The request ended early.')

/** Closing the connection on a sender that is still sending would cost it the answer. What it sends is dropped. */
export const discard = (req: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, DISCARD_MS_MAX)
    req.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    req.removeAllListeners('data').resume()
  })
