import { decodeUtf8, parseActivity } from '../adapters/http/parse-request.ts'
import { tooLarge } from '../adapters/http/requests.ts'
import { brandsOf } from '../core/create-tenant.ts'
import { DomainFailure, type Fault } from '../core/failures.ts'
import { inOrder, LIST_LENGTH_MAX } from '../core/in-order.ts'
import type { LoggedActivity } from '../core/log-prospect-activity.ts'
import type { NewActivity } from '../core/new-log.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Store } from '../core/ports/store.ts'
import { type Line, linesOf } from './lines.ts'

/** `nextLine`: every line before it is stored or refused. */
export type Imported = Readonly<Record<'read' | 'logged' | 'replayed' | 'refused' | 'nextLine', number>>
/** A line of which nothing is stored. */
export type RefusedLine = {
  readonly line: number
  readonly code: string
  readonly detail: string
  readonly errors?: readonly Fault[] | undefined
}
type Deps = {
  readonly store: Pick<Store, 'tenants'>
  /** Stores a list of activities. */
  readonly log: (activities: readonly NewActivity[]) => Promise<readonly Outcome<LoggedActivity>[]>
  readonly onRefused: (refused: RefusedLine) => void
  readonly onProgress: (soFar: Imported) => void
}
type Import = {
  readonly tenantId: string
  /** JSON lines, each the body of one request. */
  readonly chunks: AsyncIterable<Buffer>
  readonly lineBytesMax: number
  /** Lines before it are skipped. */
  readonly fromLine: number
  readonly stop: AbortSignal
}

const LIST_BYTES_MAX = 1_048_576

/**
 * Logs the activities of a file in order, a short list at a time, in constant memory. Blank lines count for nothing. Ends
 * early at a stop, or when something fails that is not the fault of a line: that is `why`. Refuses `not_found`: the tenant.
 */
export const importProspectLogs =
  ({ store, log, onRefused, onProgress }: Deps) =>
  async ({ tenantId, chunks, lineBytesMax, fromLine, stop }: Import) => {
    const counts = { read: 0, logged: 0, replayed: 0, refused: 0, nextLine: fromLine }
    let list: Line[] = []
    let bytesInList = 0

    const prepare = ({ bytes }: Line) => {
      if (bytes === null) throw tooLarge(lineBytesMax)
      return { ...parseActivity(decodeUtf8(bytes)), tenantId }
    }
    const logList = async () => {
      const answers = await inOrder(list, { prepare, run: log })
      for (const [i, { number }] of list.entries()) {
        const answer = answers[i] as LoggedActivity | Error
        if (!(answer instanceof Error)) counts[answer.replayed ? 'replayed' : 'logged']++
        else {
          onRefused(refusedLine(number, answer))
          counts.refused++
        }
        counts.read++
        counts.nextLine = number + 1
      }
      list = []
      bytesInList = 0
      onProgress(counts)
      stop.throwIfAborted()
    }

    await brandsOf(store, tenantId)
    try {
      for await (const line of linesOf(chunks, lineBytesMax)) {
        if (line.number < fromLine || isBlank(line)) continue
        list.push(line)
        bytesInList += line.bytes?.length ?? 0
        if (list.length === LIST_LENGTH_MAX || bytesInList >= LIST_BYTES_MAX) await logList()
      }
      await logList()
      return { imported: counts, why: null }
    } catch (why) {
      return { imported: counts, why }
    }
  }

const isBlank = ({ bytes }: Line): boolean => bytes?.every((byte) => byte <= 0x20) ?? false

/** Throws what is not the fault of the line. */
const refusedLine = (line: number, why: unknown): RefusedLine => {
  if (!(why instanceof DomainFailure) || why.kind === 'unavailable') throw why
  return { line, code: why.kind, detail: why.message, errors: why.facts.errors }
}
