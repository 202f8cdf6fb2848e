import type { Readable } from 'node:stream'
import { DomainFailure, refuse } from '../../core/failures.ts'

const DISCARD_MS_MAX = 1_000

export const refuseTooLarge = (bytes: number, bytesMax: number): void => {
  if (bytes > bytesMax) refuse('payload_too_large', `The body is larger than ${bytesMax} bytes.`)
}

/** A body to its end; refused as soon as it is too large, or as `hold`, told of each part of it, refuses. */
export const readBody = (
  body: Readable,
  bytesMax: number,
  hold: (bytes: number) => void,
): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    // An empty one that was read before tells nothing any more.
    if (body.readableEnded) resolve(new Uint8Array())
    const chunks: Buffer[] = []
    let bytes = 0
    const take = (chunk: Buffer) => {
      bytes += chunk.length
      chunks.push(chunk)
      try {
        refuseTooLarge(bytes, bytesMax)
        hold(chunk.length)
      } catch (failure) {
        chunks.length = 0
        body.off('data', take).pause()
        reject(failure)
      }
    }
    const endedEarly = () => {
      if (!body.readableEnded) reject(new DomainFailure('invalid_request', 'The request ended early.'))
    }
    // A sender that went away before this began: the stream tells nothing any more.
    if (body.destroyed) endedEarly()
    body.on('data', take)
    body.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    body.on('error', endedEarly)
    body.on('close', endedEarly)
  })

/** A sender that is still sending would miss its answer if the connection were closed on it at once. */
export const discard = (body: Readable): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, DISCARD_MS_MAX)
    body.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    body.resume()
  })
