import { parseJson, refuseFaults } from '../core/engine/parse-input.ts'
import { ignoredAttributes } from '../core/prospects/attributes.ts'
import type { CreatedProspect } from '../core/prospects/create-prospect.ts'
import type { createProspects } from '../core/prospects/create-prospects.ts'
import { NO_IDENTIFIER } from '../core/prospects/refuse-unidentified.ts'
import { membersOf } from '../json/raw-json.ts'
import { ATTRIBUTES_MAX } from '../shapes/attributes.ts'
import { type Ignored, lenientOf } from '../shapes/body.ts'
import { checkShape, type RawJson, withTexts } from '../shapes/json.ts'
import { type IdentifierConflict, NewProspect, Prospect } from '../shapes/prospect.ts'
import { attributeIn, PROSPECT_COLUMNS, useOfColumn } from './attribute-columns.ts'
import { csvRows } from './csv-rows.ts'
import { collectIgnored, type Import, importLines } from './import-lines.ts'
import { type Line, linesOf, textOf } from './lines.ts'

/**
 * Creates the prospects of a file of JSON lines or CSV, or finds them and fills their blanks: see `importLines`. Null
 * or an empty field counts as left out, so that an export can be imported. Other columns of CSV are attributes.
 */
export const importProspects =
  (createAll: ReturnType<typeof createProspects>) => async (input: Import, isCsv: boolean) => {
    const { tenantId, chunks, lineBytesMax, attributesMode } = input
    const csv = isCsv ? csvRows(input, PROSPECT_COLUMNS, REQUIRED) : null
    const ignored = collectIgnored(Prospect.entries)
    const prepare = (line: Line) => {
      const prospect = csv ? prospectInRow(csv.rowOf(line)) : prospectInJson(textOf(line, lineBytesMax))
      ignored.note(prospect)
      return { ...prospect, attributesMode, tenantId }
    }
    const kindsOf = (created: CreatedProspect) => {
      ignored.note(created.value)
      return kindsOfAnswer(created)
    }
    const lines = csv?.lines ?? linesOf(chunks, lineBytesMax)
    const storeLines = (list: readonly Line[]) => createAll({ inputs: list, prepare })
    const result = await importLines(input, { lines, store: storeLines, kinds: KINDS, kindsOf, conflictOf })
    return { ...result, ignored: ignored.names() }
  }

const REQUIRED = {
  oneOf: ['externalId', 'email'],
  expected:
    'The first line of CSV names the columns externalId, email and name: one of the first two at least. Others are attributes.',
  useOf: useOfColumn,
}
const KINDS = ['created', 'found', 'conflicts'] as const
const kindsOfAnswer = ({ created, value: { conflicts } }: CreatedProspect) => {
  const kind = created ? 'created' : 'found'
  return conflicts.length === 0 ? ([kind] as const) : ([kind, 'conflicts'] as const)
}
const conflictOf = ({ value: { prospectId, conflicts } }: CreatedProspect) => {
  if (conflicts.length === 0) return null
  return { detail: `${conflicts.map(reasonOf).join(' ')} The rest is stored with ${prospectId}.`, conflicts }
}

const NAMES = { email: 'email', externalId: 'external id' }
/** A sentence that does not repeat the text: it may be long. */
const reasonOf = ({ field, reason, prospectId }: IdentifierConflict): string => {
  const name = NAMES[field]
  if (reason === 'taken') return `The ${name} belongs to ${prospectId}.`
  if (reason === 'different') return `The prospect has another ${name}.`
  return `The ${name} ${NO_IDENTIFIER[field]}.`
}

/** Other members are ignored. */
const ProspectLine = lenientOf(NewProspect.entries)
const prospectIn = (value: unknown, texts: ReadonlyMap<string, RawJson>): NewProspect & Ignored => {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const present = isObject ? Object.entries(value).filter(([, member]) => member !== null) : null
  const { output, faults } = checkShape(ProspectLine, present && Object.fromEntries(present))
  return faults.length > 0
    ? refuseFaults(faults, 'The line is invalid. See `errors`.')
    : withTexts(output, texts)
}

const prospectInJson = (line: string) => {
  const value = parseJson(line, 'The line')
  return prospectIn(value, membersOf(line).members)
}

/** A row of CSV. Beyond the fiftieth, attributes are ignored. */
const prospectInRow = ({ members, others }: ReturnType<ReturnType<typeof csvRows>['rowOf']>) => {
  const filled = Object.entries(others).filter(([, text]) => text.trim() !== '')
  if (filled.length === 0) return prospectIn(members, NO_TEXTS)
  const named = filled.map(([column, text]) => [attributeIn(column), text] as const)
  const attributes = Object.fromEntries(named.slice(0, ATTRIBUTES_MAX))
  const texts = new Map([['attributes', { rawJson: JSON.stringify(attributes) }]])
  const prospect = prospectIn({ ...members, attributes }, texts)
  const ignored = ignoredAttributes(named.slice(ATTRIBUTES_MAX).map(([name]) => name))
  return ignored.length === 0 ? prospect : { ...prospect, ignored }
}
const NO_TEXTS: ReadonlyMap<string, RawJson> = new Map()
