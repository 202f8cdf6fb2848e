import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { Hmac } from '../../shapes/hook-rules.ts'
import { utcOf } from '../../shapes/time.ts'
import { memoized } from '../engine/memoized.ts'

/** A request of a vendor. Names of headers are in lower case. */
export type Delivery = {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Uint8Array
  readonly method: string
  /** The URL as the vendor called it; null if unknown. */
  readonly url: string | null
  /** Maximum size of the body once it is inflated. */
  readonly bytesMax?: number | undefined
}

/** The refusal of a delivery whose signature belongs to another secret or body. */
export const MISMATCH = 'The signature does not match. Check the secret.'
const PLACEHOLDER = /^\{[^{}]+\}$/
/** Maximum number of signatures checked per delivery. */
const SIGNATURES_MAX = 16
/** Node refuses longer headers, but an embedder's server may not. */
const HEADER_LENGTH_MAX = 16_384

export const headerIn = ({ headers }: Pick<Delivery, 'headers'>, name: string): string | undefined => {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

/** How many webhooks of services like this one led to a delivery, one after another, as those services count. */
export const hopsIn = (delivery: Pick<Delivery, 'headers'>): number =>
  Number(/\d+/.exec(headerIn(delivery, 'webhook-hops') ?? '')?.[0] ?? 0)
/** Maximum hops: an activity leads to events, and their webhooks may lead to activities. Two may be on purpose. */
const HOPS_MAX = 2
/** The reason, for people, to refuse a delivery even if it is verified; null if there is none. */
export const loopIn = (delivery: Pick<Delivery, 'headers'>): string | null =>
  hopsIn(delivery) > HOPS_MAX ? 'A webhook led to this delivery by way of two hooks: it is a loop.' : null

/**
 * Verifies deliveries signed in this way, against any of several secrets. The function returns why one is refused, for
 * people, or null. Compares in constant time.
 */
export const verifierOf = (hmac: Hmac) => {
  const { algorithm, encoding, header, prefix, template, timestampHeader, toleranceSeconds } = hmac
  const pieces = template.split(/(\{[^{}]+\})/).filter((piece) => piece !== '')
  const signatures = new RegExp(`(?:^|[\\s,;])${prefix.replace(/\W/g, '\\$&')}([\\w+/=-]+)`, 'g')
  const keyOf = memoized((secret: string) =>
    hmac.secretEncoding === 'base64'
      ? createSecretKey(keyTextOf(secret).encoded, 'base64')
      : createSecretKey(secret, 'utf8'),
  )

  const signaturesIn = (signatureHeader: string): Buffer[] => {
    const found: Buffer[] = []
    signatures.lastIndex = 0
    let [, text] = signatures.exec(signatureHeader) ?? []
    while (text !== undefined && found.length < SIGNATURES_MAX) {
      found.push(Buffer.from(text, encoding))
      ;[, text] = signatures.exec(signatureHeader) ?? []
    }
    return found
  }

  /** A signed piece other than the body, in Latin-1, as Node reads headers; undefined if the delivery lacks it. */
  const textOf = (piece: string, delivery: Delivery, timestamp: string | undefined): string | undefined => {
    const name = PLACEHOLDER.test(piece) ? piece.slice(1, -1) : null
    if (name === null) return Buffer.from(piece).toString('latin1')
    if (name === 'timestamp') return timestamp
    if (name === 'method') return delivery.method
    if (name === 'url') return delivery.url ?? undefined
    return headerIn(
      delivery,
      name === 'id' ? (hmac.idHeader ?? '') : name.slice('header:'.length).toLowerCase(),
    )
  }

  return (delivery: Delivery, secrets: readonly string[], nowMs: number): string | null => {
    const signatureHeader = headerIn(delivery, header)
    if (signatureHeader === undefined || signatureHeader === '')
      return `The signature header ${header} is missing. Check that the sender has the secret.`
    if (signatureHeader.length > HEADER_LENGTH_MAX) return `The signature header ${header} is too long.`
    const sent = timestampHeader && headerIn(delivery, timestampHeader)
    if (timestampHeader && !sent) return `The timestamp header ${timestampHeader} is missing.`
    const timestamp = sent ? timestampIn(sent) : undefined
    const found = signaturesIn(signatureHeader)
    if (found.length === 0)
      return `The header ${header} has no signature${prefix && ` that begins with ${prefix}`}.`

    const signed: (string | Uint8Array)[] = ['']
    for (const piece of pieces) {
      const part = piece === '{body}' ? delivery.body : textOf(piece, delivery, timestamp)
      if (part === undefined) return `The vendor signs ${piece}, which this delivery lacks.`
      const last = signed.at(-1)
      if (typeof part === 'string' && typeof last === 'string') signed[signed.length - 1] = last + part
      else signed.push(part)
    }
    const digests = secrets.map((secret) => {
      const digest = createHmac(algorithm, keyOf(secret))
      for (const part of signed) if (part.length > 0) digest.update(part as string, 'latin1')
      return digest.digest()
    })
    const isSigned = found.some((bytes) => digests.some((digest) => isEqual(digest, bytes)))
    if (!isSigned) return MISMATCH
    if (timestamp === undefined) return null
    const ageMs = Math.abs(nowMs - timeOf(timestamp))
    if (ageMs <= toleranceSeconds * 1_000) return null
    return `The signature matches, but its timestamp is not within ${toleranceSeconds} seconds of now.`
  }
}

/** A secret without what vendors show before its base64, and whether it has a prefix that belongs to another scheme. */
export const keyTextOf = (secret: string) => {
  const encoded = secret.replace(/^(v1,)?whsec_/, '')
  return {
    encoded,
    isOther: encoded.includes(',') || (encoded === secret && /^([a-z]{2,}|[A-Z]{2,})_/.test(secret)),
  }
}

export const isEqual = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && timingSafeEqual(a, b)

/** The text of the header, or its element `t=` or `ts=`. */
const timestampIn = (header: string): string =>
  /(?:^|[\s,;])ts?=([^\s,;]*)/.exec(header)?.[1] ?? header.trim()

/** Milliseconds since 1970; NaN if it is not a time. */
export const timeOf = (text: string): number => {
  if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Date.parse(utcOf(text) ?? '')
  const amount = Number(text)
  return amount < SECONDS_MAX ? amount * 1_000 : amount
}
/** A greater number is in milliseconds. */
const SECONDS_MAX = 1e11
