import { DomainFailure } from '../core/engine/failures.ts'
import { inOrder, LIST_LENGTH_MAX } from '../core/engine/in-order.ts'
import type { Outcome } from '../core/engine/outcome.ts'
import type { Store } from '../core/ports/store.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'
import { batchesOf } from './batches.ts'
import type { CsvColumns } from './csv.ts'
import type { Line } from './lines.ts'

/** The number of lines read, and by result. `nextLine`: every line before it is stored or refused. */
export type Imported<Kind extends string = never> = Readonly<
  Record<Kind | 'read' | 'refused' | 'nextLine', number>
>
/** A line that is not stored, or not completely. */
export type ReportedLine = ReturnType<typeof reportedLine>
/** The file to import, its tenant, and listeners. */
export type Import = {
  readonly store: Pick<Store, 'tenants'>
  readonly tenantId: string
  readonly chunks: AsyncIterable<Buffer>
  /** The same once more, if the file can be read twice. */
  readonly preview?: AsyncIterable<Buffer> | undefined
  readonly csv?: CsvColumns
  readonly lineBytesMax: number
  /** Lines before it are skipped. */
  readonly fromLine: number
  readonly stop: AbortSignal
  readonly onReported: (line: ReportedLine) => void
  readonly onProgress: (soFar: Imported) => void
}
type Steps<Item, Answer, Kind extends string> = {
  readonly lines: AsyncIterable<Line>
  /** Checks one line. Its failure is its answer. */
  readonly prepare: (line: Line) => Item
  /** A use case for many at once. */
  readonly run: (items: readonly Item[]) => Promise<readonly Outcome<Answer>[]>
  /** The possible results of a line that is not refused. */
  readonly kinds: readonly Kind[]
  readonly kindsOf: (answer: Answer) => readonly Kind[]
  /** Why a line that is not refused is reported nevertheless. */
  readonly conflictOf?: (answer: Answer) => DomainFailure | null
}

const LIST_MAX = { count: LIST_LENGTH_MAX, size: 1_048_576 }

/**
 * Imports the lines of a file in order, a short list at a time, in constant memory. Blank lines count for nothing. Ends
 * early at a stop, or at an error that is not the fault of a line: that is `why`. Refuses `not_found`: the tenant.
 */
export const importLines = async <Item, Answer, Kind extends string>(
  { store, tenantId, fromLine, stop, onReported, onProgress }: Import,
  { lines, prepare, run, kinds, kindsOf, conflictOf }: Steps<Item, Answer, Kind>,
) => {
  type Counts = Record<keyof Imported<Kind>, number>
  const zeros = Object.fromEntries(['read', ...kinds, 'refused'].map((name) => [name, 0]))
  const imported = { ...zeros, nextLine: fromLine } as Counts
  async function* wanted() {
    for await (const line of lines) if (line.number >= fromLine && !isBlank(line)) yield line
  }
  await brandsOf(store, tenantId)
  try {
    for await (const list of batchesOf(wanted(), ({ bytes }) => bytes?.length ?? 0, LIST_MAX)) {
      // It may be deleted in the meantime: rows written behind its removal would stay.
      await brandsOf(store, tenantId)
      const answers = await inOrder(list, { prepare, run })
      for (const [i, answer] of answers.entries()) {
        const { number } = list[i] as Line
        const isRefused = answer instanceof Error
        const fault = isRefused ? answer : conflictOf?.(answer)
        if (fault) onReported(reportedLine(number, fault))
        for (const kind of isRefused ? (['refused'] as const) : kindsOf(answer)) imported[kind]++
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

/** Throws errors that are not the fault of the line. */
const reportedLine = (line: number, why: Error) => {
  if (!(why instanceof DomainFailure) || why.kind === 'unavailable') throw why
  return { line, code: why.kind, detail: why.message, errors: why.facts.errors }
}
