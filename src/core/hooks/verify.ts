import { createHmac } from 'node:crypto'
import type { Hmac } from '../../shapes/hook-rules.ts'
import { memoized } from '../engine/memoized.ts'
import { type Delivery, headerIn } from './delivery.ts'
import { isEqual, secretKeyOf } from './hook-secret.ts'
import { vendorTimeMs } from './vendor-time.ts'

/** The refusal of a delivery whose signature belongs to another secret or body. */
export const MISMATCH = 'The signature does not match. Check the secret.'
const PLACEHOLDER = /^\{[^{}]+\}$/
/** Maximum number of signatures checked per delivery. */
const SIGNATURES_MAX = 16
/** Node refuses longer headers, but an embedder's server may not. */
const HEADER_LENGTH_MAX = 16_384

/** A part of the signed text. Texts are in Latin-1, as Node reads headers. */
type SignedPart = string | Uint8Array

/**
 * Verifies deliveries signed in this way, against any of several secrets. The function returns why one is refused, for
 * people, or null. Compares in constant time.
 */
export const verifierOf = (hmac: Hmac) => {
  const { algorithm, encoding, header, prefix, template, timestampHeader, toleranceSeconds } = hmac
  const pieces = template.split(/(\{[^{}]+\})/).filter((piece) => piece !== '')
  const escapedPrefix = prefix.replace(/\W/g, '\\$&')
  const signaturePattern = new RegExp(`(?:^|[\\s,;])${escapedPrefix}([\\w+/=-]+)`, 'g')
  const prefixHint = prefix === '' ? '' : ` that begins with ${prefix}`
  const keyOf = memoized((secret: string) => secretKeyOf(secret, hmac.secretEncoding))

  const signaturesIn = (signatureHeader: string): Buffer[] => {
    const signatures: Buffer[] = []
    for (const [, text = ''] of signatureHeader.matchAll(signaturePattern)) {
      signatures.push(Buffer.from(text, encoding))
      if (signatures.length === SIGNATURES_MAX) break
    }
    return signatures
  }

  /** The part of the signed text that a piece of the template stands for; undefined if the delivery lacks it. */
  const signedPart = (
    piece: string,
    delivery: Delivery,
    timestamp: string | undefined,
  ): SignedPart | undefined => {
    if (!PLACEHOLDER.test(piece)) return Buffer.from(piece).toString('latin1')
    const name = piece.slice(1, -1)
    if (name === 'body') return delivery.body
    if (name === 'timestamp') return timestamp
    if (name === 'method') return delivery.method
    if (name === 'url') return delivery.url ?? undefined
    if (name === 'id') return headerIn(delivery, hmac.idHeader ?? '')
    return headerIn(delivery, name.slice('header:'.length).toLowerCase())
  }

  const digestWith = (secret: string, parts: readonly SignedPart[]): Buffer => {
    const digest = createHmac(algorithm, keyOf(secret))
    for (const part of parts) {
      if (typeof part === 'string') digest.update(part, 'latin1')
      else digest.update(part)
    }
    return digest.digest()
  }

  const ageProblem = (timestamp: string, nowMs: number): string | null => {
    const ageMs = Math.abs(nowMs - vendorTimeMs(timestamp))
    if (ageMs <= toleranceSeconds * 1_000) return null
    return `The signature matches, but its timestamp is not within ${toleranceSeconds} seconds of now.`
  }

  return (delivery: Delivery, secrets: readonly string[], nowMs: number): string | null => {
    const signatureHeader = headerIn(delivery, header)
    if (!signatureHeader)
      return `The signature header ${header} is missing. Check that the sender has the secret.`
    if (signatureHeader.length > HEADER_LENGTH_MAX) return `The signature header ${header} is too long.`

    const timestampText = timestampHeader && headerIn(delivery, timestampHeader)
    if (timestampHeader && !timestampText) return `The timestamp header ${timestampHeader} is missing.`
    const timestamp = timestampText ? timestampIn(timestampText) : undefined

    const signatures = signaturesIn(signatureHeader)
    if (signatures.length === 0) return `The header ${header} has no signature${prefixHint}.`

    const parts = pieces.map((piece) => signedPart(piece, delivery, timestamp))
    if (!parts.every((part) => part !== undefined))
      return `The vendor signs ${pieces[parts.indexOf(undefined)]}, which this delivery lacks.`

    const digests = secrets.map((secret) => digestWith(secret, parts))
    const isSigned = signatures.some((signature) => digests.some((digest) => isEqual(digest, signature)))
    if (!isSigned) return MISMATCH
    return timestamp === undefined ? null : ageProblem(timestamp, nowMs)
  }
}

/** The text of the header, or its element `t=` or `ts=`. */
const timestampIn = (header: string): string =>
  /(?:^|[\s,;])ts?=([^\s,;]*)/.exec(header)?.[1] ?? header.trim()
