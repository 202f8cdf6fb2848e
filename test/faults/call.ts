import { Agent, request } from 'node:http'

export type Call = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}
/** The result of a call. `status` null: no answer; `why` says how the connection ended. */
export type Answer = {
  readonly status: number | null
  readonly why: string | null
  readonly retryAfter: string | null
  readonly replayed: boolean
  /** The body as a value; null where there is none, or none that is JSON. */
  readonly body: Readonly<Record<string, unknown>> | null
  readonly ms: number
}

/** Calls over connections that are kept; whatever happens it answers, after `msMax` at the latest. */
export const createCaller = (apiKey: string, msMax: number, connectionsMax = Infinity) => {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax })

  const call = (url: string, { method, path, headers, body }: Call): Promise<Answer> =>
    new Promise((resolve) => {
      const began = performance.now()
      const text = body === undefined ? '' : JSON.stringify(body)
      const ended = (answer: Omit<Answer, 'ms'>) => {
        clearTimeout(timer)
        resolve({ ...answer, ms: Math.round(performance.now() - began) })
      }
      const noAnswer = (error: NodeJS.ErrnoException) =>
        ended({
          status: null,
          why: error.code ?? error.message,
          retryAfter: null,
          replayed: false,
          body: null,
        })
      const sent = request(url + path, {
        agent,
        method,
        headers: {
          'x-api-key': apiKey,
          ...(body && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
          ...headers,
        },
      })
      const timer = setTimeout(() => sent.destroy(new Error(`no answer in ${msMax} ms`)), msMax)
      sent.on('error', noAnswer)
      sent.on('response', (response) => {
        let received = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          received += chunk
        })
        response.on('error', noAnswer)
        response.on('end', () =>
          ended({
            status: response.statusCode ?? null,
            why: null,
            retryAfter: response.headers['retry-after'] ?? null,
            replayed: response.headers['idempotent-replayed'] === 'true',
            body: jsonOf(received),
          }),
        )
      })
      sent.end(text)
    })

  return { call, close: () => agent.destroy() }
}

const jsonOf = (text: string): Answer['body'] => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
