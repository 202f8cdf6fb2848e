import { parseActivity } from '../core/engine/parse-input.ts'
import type { UseCases } from '../core/use-cases.ts'
import { isJson } from '../json/is-json.ts'
import { membersOf } from '../json/raw-json.ts'
import { type Import, importLines } from './import-lines.ts'
import { linesOf, textOf } from './lines.ts'

/**
 * Logs the activities of a file of JSON lines, each the body of one request: see `importLines`. A member that is null counts
 * as left out.
 */
export const importProspectLogs =
  (logProspectActivities: UseCases['logProspectActivities']) => (input: Import) => {
    const { tenantId, chunks, lineBytesMax } = input
    return importLines(input, {
      lines: linesOf(chunks, lineBytesMax),
      prepare: (line) => ({ ...parseActivity(withoutNulls(textOf(line, lineBytesMax))), tenantId }),
      run: logProspectActivities,
      kinds: ['logged', 'replayed'],
      kindsOf: ({ replayed }) => [replayed ? 'replayed' : 'logged'],
    })
  }

/** The text of an object without the members that are null. Payloads stay byte for byte; invalid JSON stays unchanged. */
const withoutNulls = (text: string): string => {
  if (!/:\s*null\b/.test(text) || !isJson(text)) return text
  const given = [...membersOf(text).members].filter(([, { rawJson }]) => rawJson !== 'null')
  return `{${given.map(([name, { rawJson }]) => `${JSON.stringify(name)}:${rawJson}`)}}`
}
