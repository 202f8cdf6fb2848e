/** The HTTP interface for servers that speak the Fetch standard: Next.js, Hono, Bun and Deno. */
import './needs-node.ts'
import { type FetchHandler, fetchHandler } from '../adapters/http/fetch-handler.ts'
import { basePathFrom } from '../adapters/http/mounted.ts'
import { checkOptions } from '../config/check-options.ts'
import { withDefaults } from '../config/with-defaults.ts'
import { type ApiOptions, createApi } from './http.ts'

export type { FetchHandler } from '../adapters/http/fetch-handler.ts'

/** The options of `createApi`, and where it is mounted. Only the store is required. */
export type FetchOptions = ApiOptions & {
  /** Where the API is mounted: the whole path before `/v0`, such as `/api/prospects`. Links in answers begin with it. */
  readonly basePath?: string | undefined
  /** Largest request body, in bytes. */
  readonly bodyBytesMax?: number | undefined
  /** Largest body of a batch, in bytes; `bodyBytesMax` limits each of its items. */
  readonly batchBytesMax?: number | undefined
  /**
   * The IP address of the sender, which a `Request` does not have. Without it senders of invalid keys are not limited
   * by their address.
   */
  readonly addressOf?: ((request: Request) => string | undefined) | undefined
}

/**
 * The API as a function from a `Request` to a `Response`. It rejects only if `addressOf` throws. Pass the request before
 * anything reads its body: a payload is stored byte for byte.
 *
 * `close` stops listening to the store, which stays open. Only a program that makes many over one store needs it.
 */
export const createFetchHandler = (options: FetchOptions): FetchHandler & { readonly close: () => void } => {
  const {
    basePath = '',
    bodyBytesMax,
    batchBytesMax,
    addressOf = () => undefined,
    ...apiOptions
  } = checkOptions('createFetchHandler', options)
  const api = createApi(apiOptions)
  const handle = fetchHandler({
    api,
    basePath: basePathFrom(basePath),
    limits: withDefaults({ bodyBytesMax, batchBytesMax }),
    addressOf,
  })
  return Object.assign(handle, { close: api.close })
}
