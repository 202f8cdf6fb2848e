import { mock } from 'node:test'

export type Sent = {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: string
}
type FakeAnswer = {
  readonly status?: number
  readonly headers?: Record<string, string>
  /** Text is sent unchanged, anything else as JSON. */
  readonly body?: unknown
}
/** What `fetch` does: it answers, throws an error as if the connection broke, or with 'none' never settles. */
export type Fake = FakeAnswer | Error | 'none' | ((sent: Sent) => FakeAnswer)

/** A `fetch` that gives the answers in turn, repeats the last one, and records the requests. */
export const answering = (...answers: readonly Fake[]) => {
  const sent: Sent[] = []
  const fetch = async (url: URL, init: RequestInit): Promise<Response> => {
    const request = {
      method: String(init.method),
      url,
      headers: new Headers(init.headers),
      body: String(init.body),
    }
    sent.push(request)
    const fake = answers[Math.min(sent.length, answers.length) - 1] as Fake
    if (fake === 'none') return new Promise(() => {})
    if (fake instanceof Error) throw fake
    const { status = 200, headers = {}, body = {} } = typeof fake === 'function' ? fake(request) : fake
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers })
  }
  return { sent, fetch: fetch as typeof globalThis.fetch }
}

const PATIENCE_MS = 600_000
const STEP_MS = 50
const turn = () => new Promise((resolve) => setImmediate(resolve))
/** Resolves once everything has settled that does not wait for a timer. */
export const rest = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns++) await turn()
}
/** Lets time pass until the call settles. Returns its value or its reason, and the milliseconds that passed. */
export const ended = async <T>(call: Promise<T>) => {
  let outcome: PromiseSettledResult<T> | undefined
  void Promise.allSettled([call]).then(([settled]) => {
    outcome = settled
  })
  let ms = 0
  for (await rest(); outcome === undefined && ms < PATIENCE_MS; ms += STEP_MS) {
    mock.timers.tick(STEP_MS)
    await rest()
  }
  const { value, reason } = { value: undefined, reason: undefined, ...outcome }
  return { value: value as T, reason, ms }
}
