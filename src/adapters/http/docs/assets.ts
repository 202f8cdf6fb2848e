import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type ApiRequest, type ApiResponse, headerOf } from '../requests.ts'

/** A file in memory, plain and compressed. */
export type Asset = {
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Uint8Array
  readonly zipped: Uint8Array
  /** Changes with the content. */
  readonly tag: string
}

const zip = promisify(gzip)

export const assetOf = async (
  type: string,
  content: string | Uint8Array,
  headers: Asset['headers'] = {},
): Promise<Asset> => {
  const bytes = Buffer.from(content)
  return {
    // `no-cache`: browsers revalidate each time, so an upgrade is seen at once; a 304 has no body.
    headers: { 'content-type': type, 'cache-control': 'no-cache', vary: 'accept-encoding', ...headers },
    bytes,
    zipped: await zip(bytes),
    tag: createHash('sha256').update(bytes).digest('base64url'),
  }
}

const TAKES_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i

/** 200 with the file, or 304 if the caller already has it. */
export const answerAsset = ({ headers, bytes, zipped, tag }: Asset, request: ApiRequest): ApiResponse => {
  const isZipped = TAKES_GZIP.test(headerOf(request, 'accept-encoding') ?? '')
  const etag = isZipped ? `"${tag}-gzip"` : `"${tag}"`
  const known = (headerOf(request, 'if-none-match') ?? '').split(',').map((one) => one.trim())
  // A proxy that compresses answers makes the tag weak.
  if (known.some((one) => one === etag || one === `W/${etag}` || one === '*'))
    return { status: 304, headers: { ...headers, etag }, body: '' }
  return {
    status: 200,
    headers: { ...headers, etag, ...(isZipped && { 'content-encoding': 'gzip' }) },
    body: isZipped ? zipped : bytes,
  }
}
