import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { isKnown } from './entity-tags.ts'
import { headerOf } from './request-headers.ts'
import type { ApiRequest, ApiResponse, Headers } from './requests.ts'

/** Returns a file that is kept in memory: 200, or 304 if the caller already has it. */
export type Asset = (request: ApiRequest) => ApiResponse

const TAKES_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i
const zip = promisify(gzip)

export const assetOf = async (ownHeaders: Headers, content: string | Uint8Array): Promise<Asset> => {
  const plain = Buffer.from(content)
  const zipped = await zip(plain, { level: 9 })
  const tag = createHash('sha256').update(plain).digest('base64url')
  return (request) => {
    const isZipped = TAKES_GZIP.test(headerOf(request, 'accept-encoding') ?? '')
    const etag = isZipped ? `"${tag}-gzip"` : `"${tag}"`
    // `no-cache`: browsers revalidate each time, so an upgrade is seen at once; a 304 has no body.
    const headers = { ...ownHeaders, 'cache-control': 'no-cache', vary: 'accept-encoding', etag }
    if (isKnown(request, etag)) return { status: 304, headers, body: '' }
    if (!isZipped) return { status: 200, headers, body: plain }
    return { status: 200, headers: { ...headers, 'content-encoding': 'gzip' }, body: zipped }
  }
}

/** A file that is loaded at the first request. Requests that come while it loads share it. */
export const loadedOnce = (load: () => Promise<Asset>): ((request: ApiRequest) => Promise<ApiResponse>) => {
  let loaded: Promise<Asset> | undefined
  return async (request) => {
    loaded ??= load().catch((error) => {
      loaded = undefined
      throw error
    })
    return (await loaded)(request)
  }
}
