import { createHttpServer, type ServerLimits } from '../../../../src/adapters/http/node/server.ts'
import { openScene } from '../../../support/api.ts'
import { type Answer, dial, requestOf } from '../../../support/dial.ts'

export const LIMITS: ServerLimits = {
  bodyBytesMax: 1_024,
  batchBytesMax: 8_192,
  headersMsMax: 20_000,
  requestMsMax: 20_000,
  keepAliveMs: 20_000,
  connectionsMax: 100,
  unsentBytesMax: 1e6,
}
export const JSON_TYPE = 'Content-Type: application/json'
/** Node takes 16 KiB of headers. */
export const TOO_LARGE_HEADER = `x-large: ${'x'.repeat(20_000)}`
export const ACTIVITY = '{"source":"crm","payload":{}}'

type Owner = { readonly teardown: (end: () => Promise<void>) => void }
type Options = Parameters<typeof openScene>[0] & { readonly limits?: Partial<ServerLimits> }

/** The API of a scene on a free port of the loopback, until the test ends. */
export const serve = async (t: Owner, { limits = {}, ...options }: Options = {}) => {
  const scene = await openScene(options)
  const { api, newRequestId, owner } = scene
  const http = createHttpServer({
    api,
    limits: { ...LIMITS, ...limits },
    newRequestId,
    onMalformed: () => {},
  })
  const port = await http.listen('127.0.0.1', 0)
  t.teardown(() => http.drain(0))
  const textOf = (line: string, headers: readonly string[] = [], body = '') =>
    requestOf(line, [`x-api-key: ${owner.apiKey}`, ...headers], body)
  return {
    ...scene,
    http,
    dial: () => dial(port),
    /** A request with Host and the owner's key, as text. */
    textOf,
    /** The text of an activity's request, with the length of its body. */
    logOf: (body: string, headers: readonly string[] = []) =>
      textOf('POST /v0/prospect_logs', [JSON_TYPE, `Content-Length: ${body.length}`, ...headers], body),
    /** Sends a text over a separate connection. Returns the first answer. */
    ask: async (text: string) => {
      const [answer] = await dial(port).send(text).answers(1)
      return answer as Answer
    },
  }
}

/** Until the test ends, a server waits for the rest of a body that nobody reads as long as it takes, not for a second. */
export const awaitUnreadBodies = (t: Owner): void => {
  const { timeout } = AbortSignal
  t.teardown(async () => {
    AbortSignal.timeout = timeout
  })
  AbortSignal.timeout = () => new AbortController().signal
}
