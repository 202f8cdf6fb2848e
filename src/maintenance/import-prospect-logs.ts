import type { logProspectActivities } from '../core/activities/log-prospect-activities.ts'
import { parseActivity } from '../core/activities/new-log.ts'
import { isJson } from '../json/is-json.ts'
import { membersOf } from '../json/raw-json.ts'
import { NewProspectLog, ProspectLog } from '../shapes/prospect-log.ts'
import { csvRows } from './csv-rows.ts'
import { collectIgnored, type Import, importLines } from './import-lines.ts'
import { type Line, linesOf, textOf } from './lines.ts'

/**
 * Logs the activities of a file of JSON lines, each the body of one request, or of CSV: see `importLines`. Ignores members
 * that are null and fields that are empty. Also returns the names of unknown members as `ignored`.
 */
export const importProspectLogs =
  (logAll: ReturnType<typeof logProspectActivities>) =>
  async (input: Import, isCsv = false) => {
    const { tenantId, chunks, lineBytesMax, attributesMode } = input
    const csv = isCsv ? csvRows(input, MEMBERS, REQUIRED) : null
    const bodyOf = (line: Line) => (csv ? bodyIn(csv.rowOf(line)) : withoutNulls(textOf(line, lineBytesMax)))
    const ignored = collectIgnored(ProspectLog.entries)
    const prepare = (line: Line) => {
      const activity = parseActivity(bodyOf(line))
      ignored.note(activity)
      return { ...activity, attributesMode, tenantId }
    }
    const result = await importLines(input, {
      lines: csv?.lines ?? linesOf(chunks, lineBytesMax),
      store: (list) => logAll({ inputs: list, prepare }),
      kinds: ['logged', 'replayed'],
      kindsOf: ({ replayed }) => [replayed ? 'replayed' : 'logged'],
    })
    return { ...result, ignored: ignored.names() }
  }

/** Not attributes: columns are texts, and the others become the payload. */
const MEMBERS = Object.keys(NewProspectLog.entries).filter((name) => name !== 'attributes')
const REQUIRED = {
  oneOf: ['source'],
  expected: `The first line of CSV names columns, such as email or occurredAt. Without a column source, add --columns source="=old-crm".`,
}

/** The body that a row stands for. Its payload is the column `payload`, or else all columns that belong to no member. */
const bodyIn = ({ members, others }: ReturnType<ReturnType<typeof csvRows>['rowOf']>): string => {
  const { payload = JSON.stringify(others), ...rest } = members
  const texts = Object.entries(rest).map(([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`)
  texts.push(`"payload":${isJson(payload) ? payload : JSON.stringify(payload)}`)
  return `{${texts}}`
}

/** The text of an object without the members that are null. Payloads stay byte for byte; invalid JSON stays unchanged. */
const withoutNulls = (text: string): string => {
  if (!/:\s*null\b/.test(text) || !isJson(text)) return text
  const present = [...membersOf(text).members].filter(([, { rawJson }]) => rawJson !== 'null')
  return `{${present.map(([name, { rawJson }]) => `${JSON.stringify(name)}:${rawJson}`)}}`
}
