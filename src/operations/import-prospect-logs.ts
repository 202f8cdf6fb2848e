import { parseActivity } from '../core/engine/parse-input.ts'
import type { UseCases } from '../core/use-cases.ts'
import { type Import, importLines } from './import-lines.ts'
import { linesOf, textOf } from './lines.ts'

/** Logs the activities of a file of JSON lines, each the body of one request: see `importLines`. */
export const importProspectLogs =
  (logProspectActivities: UseCases['logProspectActivities']) => (input: Import) => {
    const { tenantId, chunks, lineBytesMax } = input
    return importLines(input, {
      lines: linesOf(chunks, lineBytesMax),
      prepare: (line) => ({ ...parseActivity(textOf(line, lineBytesMax)), tenantId }),
      run: logProspectActivities,
      kinds: ['logged', 'replayed'],
      kindOf: ({ replayed }) => (replayed ? 'replayed' : 'logged'),
    })
  }
