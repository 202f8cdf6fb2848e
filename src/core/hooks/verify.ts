import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Hmac } from '../../shapes/hook-rules.ts'
import { utcOf } from '../../shapes/text.ts'

/** A request of a vendor. Names of headers are in lower case. */
export type Delivery = {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Uint8Array
  readonly method: string
  /** As the vendor called it; null if that is not known. */
  readonly url: string | null
}

/** How many signatures of one delivery are looked at. */
const SIGNATURES_MAX = 16
/** Node refuses longer headers, but an embedder's server may not. */
const HEADER_LENGTH_MAX = 16_384

export const headerIn = ({ headers }: Pick<Delivery, 'headers'>, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === 'string' || value === undefined ? value : value.join(', ')
}

/**
 * How deliveries are verified that are signed in this way, against any of several secrets. The function returns why one
 * is refused, for people, or null. Compares in constant time.
 */
export const verifierOf = (hmac: Hmac) => {
  const { algorithm, encoding, header, prefix, template, timestampHeader, toleranceSeconds } = hmac
  const pieces = template.split(/(\{[^{}]*\})/).filter((piece) => piece !== '')
  const signatures = new RegExp(`(?:^|[\\s,;])${prefix.replace(/\W/g, '\\$&')}([\\w+/=-]+)`, 'g')
  const keyOf = (secret: string) =>
    hmac.secretEncoding === 'base64' ? Buffer.from(secret.replace(/^whsec_/, ''), 'base64') : secret

  /** The bytes of a piece of what is signed; null if the delivery lacks it. Node reads headers as Latin-1. */
  const bytesOf = (piece: string, delivery: Delivery, timestamp: string | null): Uint8Array | null => {
    const name = piece.startsWith('{') ? piece.slice(1, -1) : null
    if (name === null) return Buffer.from(piece)
    if (name === 'body') return delivery.body
    if (name === 'method') return Buffer.from(delivery.method)
    if (name === 'url') return delivery.url === null ? null : Buffer.from(delivery.url)
    const inHeader = name === 'id' ? (hmac.idHeader ?? '') : name.slice('header:'.length).toLowerCase()
    const text = name === 'timestamp' ? timestamp : headerIn(delivery, inHeader)
    return text === null || text === undefined ? null : Buffer.from(text, 'latin1')
  }

  return (delivery: Delivery, secrets: readonly string[], nowMs: number): string | null => {
    const given = headerIn(delivery, header)
    if (given === undefined || given === '') return `The signature header ${header} is missing.`
    if (given.length > HEADER_LENGTH_MAX) return `The signature header ${header} is too long.`
    const sent = timestampHeader && headerIn(delivery, timestampHeader)
    if (timestampHeader && !sent) return `The timestamp header ${timestampHeader} is missing.`
    const timestamp = sent ? timestampIn(sent) : null
    const found = [...given.matchAll(signatures).take(SIGNATURES_MAX)].map(([, text = '']) => text)
    if (found.length === 0)
      return `The header ${header} has no signature${prefix && ` that begins with ${prefix}`}.`

    const signed: Uint8Array[] = []
    for (const piece of pieces) {
      const bytes = bytesOf(piece, delivery, timestamp)
      if (bytes === null) return `The vendor signs ${piece}, which is not known here.`
      signed.push(bytes)
    }
    const digests = secrets.map((secret) => {
      const digest = createHmac(algorithm, keyOf(secret))
      for (const bytes of signed) digest.update(bytes)
      return digest.digest()
    })
    const isSigned = found
      .map((text) => Buffer.from(text, encoding))
      .some((bytes) => digests.some((digest) => isEqual(digest, bytes)))
    if (!isSigned) return 'The signature does not match. Check the secret.'
    if (timestamp === null) return null
    const ageMs = Math.abs(nowMs - timeOf(timestamp))
    if (ageMs <= toleranceSeconds * 1_000) return null
    return `The signature matches, but its timestamp is not within ${toleranceSeconds} seconds of now.`
  }
}

export const isEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other)

/** The text of the header, or its element `t=` or `ts=`. */
const timestampIn = (header: string): string =>
  /(?:^|[\s,;])ts?=([^\s,;]*)/.exec(header)?.[1] ?? header.trim()

/** Milliseconds since 1970; NaN if it is no time. */
export const timeOf = (text: string): number => {
  if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Date.parse(utcOf(text) ?? '')
  const amount = Number(text)
  return amount < SECONDS_MAX ? amount * 1_000 : amount
}
/** A greater number is of milliseconds. */
const SECONDS_MAX = 1e11
