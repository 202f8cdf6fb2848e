import { DomainFailure, tooLarge } from '../core/engine/failures.ts'
import { inOrder, LIST_LENGTH_MAX } from '../core/engine/in-order.ts'
import { decodeUtf8, parseActivity } from '../core/engine/parse-input.ts'
import type { Store } from '../core/ports/store.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'
import type { UseCases } from '../core/use-cases.ts'
import { batchesOf } from './batches.ts'
import { type Line, linesOf } from './lines.ts'

/** `nextLine`: every line before it is stored or refused. */
export type Imported = Readonly<Record<'read' | 'logged' | 'replayed' | 'refused' | 'nextLine', number>>
/** A line of which nothing is stored. */
export type RefusedLine = ReturnType<typeof refusedLine>
type Deps = Pick<UseCases, 'logProspectActivities'> & {
  readonly store: Pick<Store, 'tenants'>
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

const LIST_MAX = { count: LIST_LENGTH_MAX, size: 1_048_576 }

/**
 * Logs the activities of a file in order, a short list at a time, in constant memory. Blank lines count for nothing. Ends
 * early at a stop, or when something fails that is not the fault of a line: that is `why`. Refuses `not_found`: the tenant.
 */
export const importProspectLogs =
  ({ store, logProspectActivities, onRefused, onProgress }: Deps) =>
  async ({ tenantId, chunks, lineBytesMax, fromLine, stop }: Import) => {
    const imported = { read: 0, logged: 0, replayed: 0, refused: 0, nextLine: fromLine }
    async function* wanted() {
      for await (const line of linesOf(chunks, lineBytesMax))
        if (line.number >= fromLine && !isBlank(line)) yield line
    }
    const prepare = ({ bytes }: Line) => {
      if (bytes === null) throw tooLarge(lineBytesMax)
      return { ...parseActivity(decodeUtf8(bytes)), tenantId }
    }
    await brandsOf(store, tenantId)
    try {
      for await (const list of batchesOf(wanted(), ({ bytes }) => bytes?.length ?? 0, LIST_MAX)) {
        // It may be deleted meanwhile: what is written behind its removal would stay.
        await brandsOf(store, tenantId)
        const answers = await inOrder(list, { prepare, run: logProspectActivities })
        for (const [i, answer] of answers.entries()) {
          const { number } = list[i] as Line
          if (answer instanceof Error) onRefused(refusedLine(number, answer))
          imported[answer instanceof Error ? 'refused' : answer.replayed ? 'replayed' : 'logged']++
          imported.read++
          imported.nextLine = number + 1
        }
        onProgress(imported)
        stop.throwIfAborted()
      }
      return { imported, why: null }
    } catch (why) {
      return { imported, why }
    }
  }

const isBlank = ({ bytes }: Line): boolean => bytes?.every((byte) => byte <= 0x20) ?? false

/** Throws what is not the fault of the line. */
const refusedLine = (line: number, why: Error) => {
  if (!(why instanceof DomainFailure) || why.kind === 'unavailable') throw why
  return { line, code: why.kind, detail: why.message, errors: why.facts.errors }
}
