import { tooLarge } from '../../core/engine/failures.ts'
import { malformed } from './malformed.ts'
import { targetUnder } from './mounted.ts'
import { type Api, type ApiResponse, type BodyInParts, limitExceeded, type RequestBody } from './requests.ts'

type Deps = {
  readonly api: Api
  /** The path at which the API is mounted, such as `/prospects`. Empty if it is mounted at the root. */
  readonly basePath: string
  readonly limits: { readonly bodyBytesMax: number; readonly batchBytesMax: number }
  readonly addressOf: (request: Request) => string | undefined
}

/** Answers a request of the Fetch standard; 404 outside the base path. Rejects only if `addressOf` throws. */
export type FetchHandler = (request: Request) => Promise<Response>

export const fetchHandler =
  ({ api, basePath, limits, addressOf }: Deps): FetchHandler =>
  async (request) => {
    const { pathname, search } = new URL(request.url)
    const answer = await api({
      method: request.method,
      // No route has an empty target.
      target: targetUnder(basePath, pathname + search) ?? '',
      basePath,
      headers: Object.fromEntries(request.headers),
      address: addressOf(request),
      untilEnd: () => request.signal,
      body: request.body === null ? undefined : bodyOf(request, limits),
    })
    if (request.body !== null && !request.bodyUsed) void discard(request.body.getReader())
    return responseTo(request, answer)
  }

const DISCARD_MS_MAX = 1_000

/** Drops the rest of a body. A sender cut off while it sends would not get the answer. */
const discard = async (reader: ReadableStreamDefaultReader): Promise<void> => {
  const giveUp = setTimeout(() => void reader.cancel().catch(() => {}), DISCARD_MS_MAX)
  try {
    while (!(await reader.read()).done);
  } catch {
    // The sender is gone.
  } finally {
    clearTimeout(giveUp)
  }
}

const bodyOf = (request: Request, { bodyBytesMax, batchBytesMax }: Deps['limits']): RequestBody => ({
  bytesMax: bodyBytesMax,
  batchBytesMax,
  read: async (bytesMax, sieve) => {
    if (request.bodyUsed || request.body === null)
      throw new Error('The body was already read: pass the request to prospect-pages first.')
    const chunks: Uint8Array[] = []
    let bytes = 0
    let keptBytes = 0
    const reader = request.body.getReader()
    const next = () => reader.read().catch(() => Promise.reject(malformed('The request ended early.')))
    while (true) {
      const { done, value } = await next()
      if (done) break
      const kept = sieve ? sieve.keep(Buffer.from(value)) : value
      chunks.push(kept)
      bytes += value.length
      keptBytes += kept.length
      const exceeded = limitExceeded(keptBytes, bytes, bytesMax, sieve)
      if (exceeded !== null) {
        void discard(reader)
        throw tooLarge(exceeded)
      }
    }
    if (sieve) chunks.push(sieve.end())
    const body = chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)
    if (body.length > bytesMax) throw tooLarge(bytesMax)
    return body
  },
})

/** Statuses of answers that must have no body. */
const WITHOUT_BODY = [204, 304]

const responseTo = ({ method }: Request, { status, headers, body }: ApiResponse): Response => {
  if (WITHOUT_BODY.includes(status) || method === 'HEAD') return new Response(null, { status, headers })
  if (typeof body === 'string') return new Response(body, { status, headers })
  if (body instanceof Uint8Array) return new Response(body as Uint8Array<ArrayBuffer>, { status, headers })
  return new Response(streamOf(body), { status, headers })
}

/** Makes the parts while they are read. If making one fails, the answer ends early. */
const streamOf = ({ parts, cancel }: BodyInParts<string>): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await parts.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    cancel,
  })
}
