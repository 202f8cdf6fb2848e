import { callListener } from '../engine/call-listener.ts'
import type { ClaimedVersion, Namer, NamingContext, OnFailedAttempt } from '../ports/versions.ts'
import { oneLine } from './first-words.ts'

type Deps = {
  readonly namer: Namer
  /** Maximum delay of a version by naming: all calls and the pauses between them. */
  readonly patienceMs: number
  /** Resolves after this time, or when `stop` is aborted. */
  readonly sleep: (ms: number, stop: AbortSignal) => Promise<void>
  readonly onFailedAttempt?: OnFailedAttempt
}
export type PatientNamer = ReturnType<typeof namePatiently>

/**
 * Names versions by a namer that may fail or hang. Returns null for one that keeps its built-in name, and throws only
 * if `stop` is aborted.
 *
 * A failed call is retried after growing pauses, until the patience with this version ends, or would end during the
 * pause that the failure demands. If no other version was named in that time, the namer then rests for as long: all
 * versions keep their built-in names at once, so that they never wait for it one after the other.
 */
export const namePatiently = ({ namer, patienceMs, sleep, onFailedAttempt }: Deps) => {
  let namedCount = 0
  let resting: Promise<void> | null = null

  const nameWithRetries = async (context: NamingContext, stop: AbortSignal, version: ClaimedVersion) => {
    let leftMs = patienceMs
    // The pauses double: four of them, and so five calls, fit into the patience.
    for (let pauseMs = Math.ceil(patienceMs / 16); ; pauseMs *= 2) {
      try {
        return nameFrom(await namer(context, stop))
      } catch (why) {
        const retryInMs = Math.max(pauseMs, retryAfterMsOf(why))
        if (stop.aborted || retryInMs >= leftMs) throw why
        leftMs -= retryInMs
        callListener(() => onFailedAttempt?.(version, why, retryInMs))
        await sleep(retryInMs, stop)
        stop.throwIfAborted()
      }
    }
  }

  return async (context: NamingContext, stop: AbortSignal, version: ClaimedVersion) => {
    if (resting !== null) return null
    const namedBefore = namedCount
    const ending = new AbortController()
    const signal = AbortSignal.any([stop, ending.signal])
    const tooLate = () => Promise.reject(new Error(`no name came within ${patienceMs} ms`))
    try {
      // A namer may ignore the signal.
      const timeout = sleep(patienceMs, signal).then(tooLate)
      const name = await Promise.race([nameWithRetries(context, signal, version), timeout])
      namedCount++
      return name
    } catch (why) {
      stop.throwIfAborted()
      callListener(() => onFailedAttempt?.(version, why, null))
      if (retryAfterMsOf(why) !== NEVER_MS && namedCount === namedBefore)
        resting ??= sleep(patienceMs, stop).then(() => {
          resting = null
        })
      return null
    } finally {
      ending.abort()
    }
  }
}

const NEVER_MS = Number.POSITIVE_INFINITY
/** An error for a namer to throw: it is not retried, or not before `retryAfterMs`. Every other error is retried. */
export const namingFailure = (message: string, retryAfterMs = NEVER_MS): Error =>
  Object.assign(new Error(message), { retryAfterMs })
const retryAfterMsOf = (why: unknown): number => Number(Object(why).retryAfterMs) || 0

/** A namer's answer as a valid name of a page. Some models omit the first of the tags around their reasoning. */
export const nameFrom = (answer: string): string => {
  const withoutReasoning = answer.replace(/<think>.*?(<\/think>|$)/gs, '').replace(/^.*<\/think>/s, '')
  const name = oneLine(withoutReasoning)
  if (name === '') throw namingFailure('the namer returned no name')
  return name
}

/** `fetch failed` explains nothing without its cause, which may have a code but no message. */
export const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error & { readonly cause?: { message?: string; code?: string } }
  return cause ? `${message}: ${cause.message || cause.code}` : message
}
