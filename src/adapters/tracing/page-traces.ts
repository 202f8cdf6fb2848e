import { randomBytes } from 'node:crypto'
import type { ClaimedVersion } from '../../core/ports.ts'
import type { OpenTelemetry } from './open-telemetry.ts'

/** Pages are named within moments; after a restart, or in another process, nobody knows their request any more. */
const REMEMBERED_MAX = 10_000

/**
 * The traces of calls to the naming server. A page is named in the background, maybe by another process. Where the
 * process that names it has created it, and was sent a `traceparent` with that request, the call carries on that trace.
 * Nothing of it is stored: any other attempt is a trace of its own.
 */
export const createPageTraces = (openTelemetry: OpenTelemetry | null = null) => {
  const ofPages = new Map<string, string>()
  const ofAttempts = new WeakMap<ClaimedVersion, string>()

  const traceparentOf = (version: ClaimedVersion): string => {
    const known = ofPages.get(version.pageId) ?? ofAttempts.get(version)
    if (known !== undefined) return known
    const own = newTraceparent()
    ofAttempts.set(version, own)
    return own
  }

  return {
    remember: (pageId: string, traceparent: string): void => {
      ofPages.set(pageId, traceparent)
      for (const oldest of ofPages.keys()) {
        if (ofPages.size <= REMEMBERED_MAX) break
        ofPages.delete(oldest)
      }
    },
    /** What a log line says of it. */
    lineOf: (version: ClaimedVersion) => ({ traceId: traceparentOf(version).slice(3, 35) }),
    /** Sends something for this attempt, with the headers that carry its trace. */
    send: <Answer>(version: ClaimedVersion, act: (headers: Record<string, string>) => Answer): Answer => {
      const traceparent = traceparentOf(version)
      // The instrumentation of `fetch` adds a header of its own; two of them would be none.
      return openTelemetry === null ? act({ traceparent }) : openTelemetry.within(traceparent, () => act({}))
    },
  }
}

const newTraceparent = (): string =>
  `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`
