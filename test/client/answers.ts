import { mock } from 'node:test'

export type Sent = {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: string
}
type Given = {
  readonly status?: number
  readonly headers?: Record<string, string>
  /** Text as it is, or JSON. */
  readonly body?: unknown
}
/** An answer; an error: the connection broke; 'none': nothing comes, whatever is aborted. */
export type Fake = Given | Error | 'none' | ((sent: Sent) => Given)

/** A `fetch` that gives these answers in turn, the last one again and again, and keeps what was sent. */
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
    const given = answers[Math.min(sent.length, answers.length) - 1] as Fake
    if (given === 'none') return new Promise(() => {})
    if (given instanceof Error) throw given
    const { status = 200, headers = {}, body = {} } = typeof given === 'function' ? given(request) : given
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers })
  }
  return { sent, fetch: fetch as typeof globalThis.fetch }
}

const PATIENCE_MS = 600_000
const STEP_MS = 50
const turn = () => new Promise((resolve) => setImmediate(resolve))
/** Resolves once all work that does not wait for time has settled. */
export const rest = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns++) await turn()
}
/** Lets time pass until the call has ended: what became of it, and the milliseconds of waiting. */
export const ended = async <T>(call: Promise<T>) => {
  let outcome: PromiseSettledResult<T> | undefined
  void Promise.allSettled([call]).then(([one]) => {
    outcome = one
  })
  let ms = 0
  for (await rest(); outcome === undefined && ms < PATIENCE_MS; ms += STEP_MS) {
    mock.timers.tick(STEP_MS)
    await rest()
  }
  const { value, reason } = { value: undefined, reason: undefined, ...outcome }
  return { value: value as T, reason, ms }
}
