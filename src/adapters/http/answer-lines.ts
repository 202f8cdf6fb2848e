import { writeLine } from '../../json/write-json.ts'
import { shareLoop } from '../loop-share.ts'
import type { Admission, Slot } from './admission.ts'
import type { ApiResponse } from './requests.ts'

/** Characters of a part: long enough for few writes, short enough to hold for a slow reader. */
const PART_LENGTH_MAX = 65_536

type Deps = {
  readonly tenantId: string
  readonly admission: Pick<Admission, 'arrive' | 'turn' | 'pause' | 'leave'>
  /** Refuses if the key has been revoked. */
  readonly requireCaller: () => Promise<void>
  readonly onError: (why: unknown) => void
}

/**
 * An answer of JSON lines. Each part is made when the reader has taken the one before and other work has had its turn.
 * A slow reader holds nothing but a slot in the admission: when that is needed for another tenant, the answer ends
 * early. The answer is logged when it begins; an error in the middle is reported, and ends it early.
 */
export const answerLines = (lines: AsyncIterable<object>, deps: Deps): ApiResponse => {
  const cancelling = new AbortController()
  const parts = partsOf(lines[Symbol.asyncIterator](), deps, cancelling.signal)
  const cancel = async () => {
    // Otherwise `return` would wait for the whole part in progress.
    cancelling.abort()
    await parts.return(undefined)
  }
  return {
    status: 200,
    headers: { 'content-type': 'application/x-ndjson' },
    body: { parts, cancel },
    tenantId: deps.tenantId,
  }
}

async function* partsOf(
  lines: AsyncIterator<object>,
  { tenantId, admission, requireCaller, onError }: Deps,
  cancelled: AbortSignal,
): AsyncGenerator<string> {
  let slot: Slot | undefined
  let isLast = false
  const nextPart = async () => {
    await requireCaller()
    slot ??= admission.arrive(tenantId)
    await admission.turn(slot)
    await shareLoop(tenantId)
    let part = ''
    while (part.length < PART_LENGTH_MAX && !cancelled.aborted) {
      const { done, value } = await lines.next()
      isLast = done === true
      if (isLast) break
      // Callers that wait for the same read get it at once: each writes in its turn.
      const turnToWrite = shareLoop(tenantId, true)
      if (turnToWrite !== undefined) await turnToWrite
      part += `${writeLine(value)}\n`
    }
    admission.pause(slot, () => void lines.return?.())
    return part
  }
  try {
    while (!isLast) yield await nextPart()
  } catch (why) {
    onError(why)
    throw why
  } finally {
    if (slot !== undefined) admission.leave(slot)
  }
}
