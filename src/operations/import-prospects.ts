import { DomainFailure, refuse } from '../core/engine/failures.ts'
import { parseJson, refuseFaults } from '../core/engine/parse-input.ts'
import type { CreatedProspect, createProspects } from '../core/prospects/create-prospect.ts'
import { checkShape } from '../shapes/check.ts'
import { NewProspect } from '../shapes/prospect.ts'
import { csvFieldsOf, csvLinesOf } from './csv.ts'
import { type Import, importLines } from './import-lines.ts'
import { type Line, linesOf, textOf } from './lines.ts'

/** The columns of CSV, in the order in which they are exported. */
export const PROSPECT_COLUMNS = ['externalId', 'email', 'name'] as const

/**
 * Creates the prospects of a file of JSON lines or CSV, or finds them and fills their blanks: see `importLines`. Null
 * or an empty field counts as left out, so that an export can be imported.
 */
export const importProspects =
  (create: ReturnType<typeof createProspects>) => (input: Import, isCsv: boolean) => {
    const { tenantId, chunks, lineBytesMax } = input
    let columns: readonly string[] = []
    async function* lines() {
      const all = (isCsv ? csvLinesOf : linesOf)(chunks, lineBytesMax)
      if (isCsv) columns = columnsIn((await all.next()).value, lineBytesMax)
      yield* all
    }
    const prepare = (line: Line) => {
      const text = textOf(line, lineBytesMax)
      const given = isCsv ? csvObjectOf(text, columns) : parseJson(text, 'The line')
      return { ...prospectIn(given), tenantId }
    }
    return importLines(input, { lines: lines(), prepare, run: create, kinds: KINDS, kindsOf, conflictOf })
  }

const KINDS = ['created', 'found', 'conflicts'] as const
const kindsOf = ({ created, prospect }: CreatedProspect) => [
  created ? ('created' as const) : ('found' as const),
  ...(prospect.emailTakenBy === null ? [] : (['conflicts'] as const)),
]
const conflictOf = ({ prospect: { prospectId, emailTakenBy } }: CreatedProspect) =>
  emailTakenBy === null
    ? null
    : new DomainFailure(
        'email_taken',
        `The email belongs to ${emailTakenBy}. The rest is stored with ${prospectId}.`,
      )

const csvObjectOf = (text: string, columns: readonly string[]): object => {
  const fields = csvFieldsOf(text)
  if (fields.length !== columns.length)
    refuse('invalid_request', `The line has ${fields.length} fields, and the header ${columns.length}.`)
  return Object.fromEntries(columns.map((column, i) => [column, fields[i] || null]))
}

const prospectIn = (value: unknown): NewProspect => {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const given = isObject ? Object.entries(value).filter(([, member]) => member !== null) : null
  const { output, faults } = checkShape(NewProspect, given && Object.fromEntries(given))
  refuseFaults(faults, 'The line is invalid. See `errors`.')
  return output
}

/** Refuses `invalid_request`: a header that names anything else, or nothing to find a prospect by. */
const columnsIn = (header: Line | undefined, bytesMax: number): readonly string[] => {
  const columns = header ? csvFieldsOf(textOf(header, bytesMax)).map((name) => name.trim()) : []
  const known: readonly string[] = PROSPECT_COLUMNS
  const wrong = columns.find((name, i) => !known.includes(name) || columns.indexOf(name) !== i)
  const expected =
    'The first line of CSV names the columns externalId, email and name: one of the first two at least.'
  if (wrong !== undefined)
    refuse('invalid_request', `${expected} The column ${JSON.stringify(wrong)} is unknown or occurs twice.`)
  return columns.includes('externalId') || columns.includes('email')
    ? columns
    : refuse('invalid_request', expected)
}
