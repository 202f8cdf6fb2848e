import { DomainFailure, type Fault, type ProblemCode } from '../core/engine/failures.ts'
import type { Store } from '../core/ports/store.ts'
import { brandsOf } from '../core/tenants/create-tenant.ts'
import type { AttributesMode } from '../shapes/attributes.ts'
import type { Ignored } from '../shapes/body.ts'
import type { IdentifierConflict } from '../shapes/prospect.ts'
import { batchesOf } from './batches.ts'
import type { CsvColumns } from './csv.ts'
import type { Line } from './lines.ts'

/** How many lines were read, and how many had each result. Every line before `nextLine` is stored or refused. */
export type Imported<Kind extends string = never> = Readonly<
  Record<Kind | 'read' | 'refused' | 'nextLine', number>
>

/** A line that is not stored, or not completely: then its code is `conflict`. */
export type ReportedLine = {
  readonly line: number
  readonly code: ProblemCode | 'conflict'
  readonly detail: string
  readonly errors?: readonly Fault[] | undefined
  readonly conflicts?: readonly IdentifierConflict[]
}

/** The file to import, its tenant, and listeners. */
export type Import = {
  readonly store: Pick<Store, 'tenants'>
  readonly tenantId: string
  readonly chunks: AsyncIterable<Buffer>
  /** The same bytes again, if the file can be read twice. */
  readonly preview?: AsyncIterable<Buffer> | undefined
  readonly csv?: CsvColumns
  readonly lineBytesMax: number
  readonly attributesMode?: AttributesMode | undefined
  /** Lines before it are skipped. */
  readonly fromLine: number
  readonly stop: AbortSignal
  readonly onReported: (line: ReportedLine) => void
  readonly onProgress: (soFar: Imported) => void
  /** Called with what was read differently than the file may mean it. */
  readonly onWarning?: ((warning: string) => void) | undefined
}
type Steps<Answer, Kind extends string> = {
  readonly lines: AsyncIterable<Line>
  /** Stores lines in order, and returns each with its answer or its error. */
  readonly store: (lines: readonly Line[]) => Promise<readonly (Answer | Error)[]>
  /** The possible results of a line that is not refused. */
  readonly kinds: readonly Kind[]
  readonly kindsOf: (answer: Answer) => readonly Kind[]
  /** Why a line that is not refused is reported nevertheless. */
  readonly conflictOf?: (answer: Answer) => Pick<ReportedLine, 'detail' | 'conflicts'> | null
}

/** A stop takes effect after a batch. */
const BATCH_MAX = { count: 200, size: 1_048_576 }

/**
 * Imports the lines of a file in order, in short batches and constant memory. Skips blank lines. Ends early at a stop, or at
 * an error that is not the fault of a line, and returns that as `why`. Refuses `not_found` if there is no such tenant.
 */
export const importLines = async <Answer, Kind extends string>(
  { store: { tenants }, tenantId, fromLine, stop, onReported, onProgress }: Import,
  { lines, store, kinds, kindsOf, conflictOf }: Steps<Answer, Kind>,
) => {
  type Counts = Record<keyof Imported<Kind>, number>
  const zeros = Object.fromEntries(['read', ...kinds, 'refused'].map((name) => [name, 0]))
  const imported = { ...zeros, nextLine: fromLine } as Counts
  async function* linesToImport() {
    for await (const line of lines) if (line.number >= fromLine && !isBlank(line)) yield line
  }
  await brandsOf({ tenants }, tenantId)
  try {
    for await (const batch of batchesOf(linesToImport(), ({ bytes }) => bytes?.length ?? 0, BATCH_MAX)) {
      // The tenant may be deleted in the meantime. Rows written after its removal would stay.
      await brandsOf({ tenants }, tenantId)
      const answers = await store(batch)
      for (const [i, answer] of answers.entries()) {
        const { number } = batch[i] as Line
        const isRefused = answer instanceof Error
        const conflict = isRefused ? null : conflictOf?.(answer)
        if (isRefused) onReported(refusedLine(number, answer))
        if (conflict) onReported({ line: number, code: 'conflict', ...conflict })
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

const IGNORED_MAX = 20
/** Collects the first names of ignored members, but not of those that an export writes and an import does not need. */
export const collectIgnored = (exported: object) => {
  const names = new Set<string>()
  return {
    note: ({ ignored = [] }: Ignored): void => {
      for (const name of ignored)
        if (names.size < IGNORED_MAX && !Object.hasOwn(exported, name)) names.add(name)
    },
    names: (): readonly string[] => [...names],
  }
}

const isBlank = ({ bytes }: Line): boolean => bytes?.every((byte) => byte <= 0x20) ?? false

/** Throws errors that are not the fault of the line. */
const refusedLine = (line: number, why: Error): ReportedLine => {
  if (!(why instanceof DomainFailure) || why.kind === 'unavailable') throw why
  return { line, code: why.kind, detail: why.message, errors: why.facts.errors }
}
