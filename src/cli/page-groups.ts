import { readFileSync } from 'node:fs'
import { refuse } from '../core/failures.ts'
import { createPageGroup, type PageGroupFields, updatePageGroup } from '../core/manage-page-groups.ts'
import { membersOf } from '../core/raw-json.ts'
import { checkPageGroup, PAGE_GROUP_STATUSES } from '../shapes/page-group.ts'
import { type Command, requiredText, textOf, type Values, wrongUse } from './command.ts'

const FIELD_OPTIONS = {
  name: { type: 'string' },
  title: { type: 'string' },
  brand: { type: 'string' },
  'page-context': { type: 'string' },
  status: { type: 'string' },
  file: { type: 'string' },
} as const
const FIELDS_USAGE = '[--name N] [--title T] [--brand B] [--page-context C] [--status S] [--file group.json]'

const becomes = (words: string, status: (typeof PAGE_GROUP_STATUSES)[number], help: string): Command => ({
  words,
  usage: 'ID',
  help,
  options: {},
  operands: ['ID'],
  prepare:
    (_values, [pageGroupId = '']) =>
    (deps) =>
      updatePageGroup(deps)(pageGroupId, { status }),
})

export const pageGroupCommands: readonly Command[] = [
  {
    words: 'page-groups create',
    usage: `--tenant T ${FIELDS_USAGE}`,
    help: `creates a page group; a file holds the fields of the API, one object or JSON lines, - reads stdin; statuses: ${PAGE_GROUP_STATUSES.join(', ')}`,
    options: { tenant: { type: 'string' }, ...FIELD_OPTIONS },
    operands: [],
    prepare: (values) => {
      const tenantId = requiredText(values, 'tenant')
      // Every one is checked before the first is created.
      const groups = groupsGiven(values).map((fields, i) => {
        const { name, title } = fields
        if (name === undefined || title === undefined)
          return wrongUse(`page group ${i + 1} needs a name and a title`)
        return { ...fields, tenantId, name, title }
      })
      return async (deps) => {
        const created = []
        for (const group of groups) created.push(await createPageGroup(deps)(group))
        return created
      }
    },
  },
  {
    words: 'page-groups update',
    usage: `ID ${FIELDS_USAGE}`,
    help: 'changes what is named of a page group',
    options: FIELD_OPTIONS,
    operands: ['ID'],
    prepare: (values, [pageGroupId = '']) => {
      const [fields, ...more] = groupsGiven(values)
      if (fields === undefined || Object.keys(fields).length === 0 || more.length > 0)
        return wrongUse('name what is to change, of one page group')
      return (deps) => updatePageGroup(deps)(pageGroupId, fields)
    },
  },
  becomes('page-groups archive', 'archived', 'archives a page group: it takes no new pages'),
  becomes('page-groups delete', 'deleted', 'deletes a page group: it is gone for callers'),
]

/** What the file says of each group, and over it what the flags say. */
const groupsGiven = (values: Values): PageGroupFields[] => {
  const file = textOf(values, 'file')
  const fromFlags = flagsOf(values)
  const texts = file === undefined ? ['{}'] : textsIn(readUtf8(file === '-' ? 0 : file))
  return texts.map((text) => ({ ...fieldsIn(text), ...fieldsIn(JSON.stringify(fromFlags)) }))
}

const readUtf8 = (file: string | number): string => {
  const bytes = readFileSync(file)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return refuse('invalid_json', 'The file is not UTF-8.')
  }
}

const flagsOf = (values: Values) => ({
  name: textOf(values, 'name'),
  title: textOf(values, 'title'),
  brandId: textOf(values, 'brand'),
  pageContext: textOf(values, 'page-context'),
  status: textOf(values, 'status'),
})

/** One JSON object, or one on each line. */
const textsIn = (content: string): string[] => {
  const lines = content.split('\n').filter((line) => line.trim() !== '')
  return lines.length > 1 && lines.every(isJson) ? lines : [content]
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The fields of one group; its arrays are kept as the text in which they came. */
const fieldsIn = (text: string): PageGroupFields => {
  if (!isJson(text)) return refuse('invalid_json', 'The page group is not well-formed JSON.')
  const given: unknown = JSON.parse(text)
  if (Array.isArray(given)) return refuse('invalid_json', 'A page group is an object, not a list.')
  const { fields, faults } = checkPageGroup(given)
  if (faults.length > 0)
    return refuse('invalid_request', 'The page group is not of the right shape.', { errors: faults })
  const { members } = membersOf(text)
  const { actions, footerLinks, scripts } = Object.fromEntries(members)
  return {
    ...fields,
    ...(actions && { actions }),
    ...(footerLinks && { footerLinks }),
    ...(scripts && { scripts }),
  }
}
