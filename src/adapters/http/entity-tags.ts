import { hash } from 'node:crypto'
import { headerOf } from './request-headers.ts'
import type { ApiRequest } from './requests.ts'
import type { Answer, Route } from './route.ts'

/** Longer answers are kept as bytes: callers that share one share its memory, until the slowest of them has read it. */
const TEXT_LENGTH_MAX = 65_536
/** Texts are encoded here just to be measured: a new buffer for each would cost more than the rest. */
const SCRATCH = Buffer.allocUnsafeSlow(TEXT_LENGTH_MAX * 3)

/** The tag of an answer without a revision, and its length in bytes. */
type Measured = { readonly etag: string; readonly length: string }

/** An answer as it is sent, with its tag and its length in bytes. */
type Written = Measured & { readonly text: string | Buffer }

/** Measures a line by its JSON: appending the end of the line would make the engine copy all of it. */
const measureText = (json: string): Measured => {
  const encoded = SCRATCH.subarray(0, SCRATCH.write(json))
  const length = encoded.length + 1
  return { etag: weakTag(length, encoded), length: String(length) }
}
const measureBytes = (line: Buffer): Measured => ({
  etag: weakTag(line.length, line),
  length: String(line.length),
})
/** SHA-1 is the fastest hash that every runtime has; 66 bits of it suffice. */
const weakTag = (length: number, encoded: Buffer): string =>
  `W/"${length}-${hash('sha1', encoded, 'base64url').slice(0, 11)}"`

/**
 * Writes an answer as JSON, with its tag. Callers that read the same at the same moment are answered one after the other,
 * so the answer that they share is written and measured once.
 */
export const createWriteTagged = () => {
  let lastBody: object | undefined
  let lastWritten: Written = { text: '', etag: '', length: '0' }
  return ({ body, revision }: Answer, { write }: Route): Written => {
    if (body !== undefined && body !== lastBody) {
      lastBody = body
      lastWritten = writeWithTag(write(body), revision)
    }
    return lastWritten
  }
}

const writeWithTag = (json: string, revision: number | undefined): Written => {
  const line = `${json}\n`
  const bytes = json.length > TEXT_LENGTH_MAX ? Buffer.from(line) : null
  const text = bytes ?? line
  if (revision === undefined) {
    const { etag, length } = bytes === null ? measureText(json) : measureBytes(bytes)
    return { text, etag, length }
  }
  const length = bytes === null ? Buffer.byteLength(json) + 1 : bytes.length
  return { text, etag: `"r${revision}"`, length: String(length) }
}

/** The tags in a header, without the mark of weak tags, which proxies add. Tags that are issued here have no comma. */
const tagsIn = (header: string): string[] => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))

/** Whether the caller already has the answer with this tag: the header `If-None-Match`. */
export const isKnown = (request: Pick<ApiRequest, 'headers'>, etag: string): boolean => {
  const sent = headerOf(request, 'if-none-match')
  if (sent === undefined) return false
  return sent.trim() === '*' || tagsIn(sent).includes(etag.replace(/^W\//, ''))
}

/** The revisions in a header `If-Match`; undefined for `*`, which accepts any. A tag that names no revision matches none. */
export const revisionsIn = (ifMatch: string): readonly number[] | undefined => {
  if (ifMatch.trim() === '*') return undefined
  const revisions = tagsIn(ifMatch).map((tag) => Number(/^"r([1-9]\d{0,14})"$/.exec(tag)?.[1]))
  return revisions.filter(Number.isInteger)
}
