import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import { createPageGroup, type PageGroupFields } from '../core/create-page-group.ts'
import { refuse } from '../core/failures.ts'
import { membersOf } from '../core/raw-json.ts'
import { updatePageGroup } from '../core/update-page-group.ts'
import { checkPageGroup, PAGE_GROUP_STATUSES } from '../shapes/page-group.ts'
import {
  type Command,
  type Example,
  type Option,
  requiredText,
  TENANT,
  textOf,
  type Values,
  wrongUse,
} from './command.ts'

const FIELD_OPTIONS: Readonly<Record<string, Option>> = {
  name: { type: 'string', value: 'N', help: 'name, 1 to 255 characters' },
  title: { type: 'string', value: 'T', help: 'title, 1 to 255 characters' },
  brand: { type: 'string', value: 'B', help: "id of the brand; the tenant's first one unless named" },
  'page-context': { type: 'string', value: 'C', help: 'what the pages of the group have in common' },
  status: { type: 'string', value: 'S', help: PAGE_GROUP_STATUSES.join(', ') },
  file: {
    type: 'string',
    value: 'F',
    help: 'file with the fields, - is stdin; what is said by options counts more',
  },
}
const FILE_DETAILS =
  'A file holds the fields by their names in the API: brandId, name, title, pageContext, status, actions, footerLinks, scripts, headerActionId.'
const FIELDS_USAGE = '[--name N] [--title T] [--brand B] [--page-context C] [--status S] [--file group.json]'

const becomes = (
  words: string,
  status: (typeof PAGE_GROUP_STATUSES)[number],
  help: string,
  example: Example,
): Command => ({
  words,
  usage: 'ID',
  help,
  options: {},
  examples: [example],
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
    options: { tenant: TENANT, ...FIELD_OPTIONS },
    details: [
      `${FILE_DETAILS} It is one JSON object, or JSON lines: an object on each line. Each is checked before the first is created; then each is answered as it is created.`,
      'A name and a title are needed.',
    ],
    examples: [
      {
        does: 'one page group',
        line: 'prospect-pages page-groups create --tenant "$TENANT" --name offers --title Offers',
      },
      {
        does: 'two, from JSON lines',
        line: `printf '%s\\n' '{"name":"spring","title":"Spring"}' '{"name":"autumn","title":"Autumn"}' | prospect-pages page-groups create --tenant "$TENANT" --file -`,
      },
    ],
    look: { columns: ['pageGroupId', 'name', 'title', 'status'] },
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
      return async function* (deps, progress) {
        for (const [done, group] of groups.entries()) {
          yield await createPageGroup(deps)(group)
          progress(done + 1, groups.length)
        }
      }
    },
  },
  {
    words: 'page-groups update',
    usage: `ID ${FIELDS_USAGE}`,
    help: 'changes what is named of a page group',
    options: FIELD_OPTIONS,
    details: [`${FILE_DETAILS} What is not named stays as it is.`],
    examples: [
      { does: 'another title', line: 'prospect-pages page-groups update "$GROUP" --title "Spring offers"' },
      {
        does: 'links, and no page context any more',
        line: `echo '{"pageContext":null,"footerLinks":[{"href":"/imprint"}]}' | prospect-pages page-groups update "$GROUP" --file -`,
      },
    ],
    operands: ['ID'],
    prepare: (values, [pageGroupId = '']) => {
      const [fields, ...more] = groupsGiven(values)
      if (fields === undefined || Object.keys(fields).length === 0 || more.length > 0)
        return wrongUse('name what is to change, of one page group')
      return (deps) => updatePageGroup(deps)(pageGroupId, fields)
    },
  },
  becomes('page-groups archive', 'archived', 'archives a page group: it takes no new pages', {
    does: 'archives it; update "$GROUP" --status active takes that back',
    line: 'prospect-pages page-groups archive "$GROUP"',
  }),
  becomes('page-groups delete', 'deleted', 'deletes a page group: it is gone for callers', {
    does: 'deletes it; update "$GROUP" --status active takes that back',
    line: 'prospect-pages page-groups delete "$GROUP"',
  }),
]

/** What the file says of each group, and over it what the flags say. */
const groupsGiven = (values: Values): PageGroupFields[] => {
  const file = textOf(values, 'file')
  const fromFlags = fieldsIn(JSON.stringify(flagsOf(values)), 'The page group')
  const texts = file === undefined ? ['{}'] : textsIn(readUtf8(file === '-' ? STDIN : file))
  return texts.map((text, i) => ({
    ...fieldsIn(text, texts.length === 1 ? 'The page group' : `Page group ${i + 1}`),
    ...fromFlags,
  }))
}

const STDIN = 0

const readUtf8 = (file: string | number): string => {
  if (file === STDIN && isatty(STDIN)) process.stderr.write('type or paste page groups; Ctrl-D ends\n')
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

/** One JSON value, or one on each line. */
const textsIn = (content: string): string[] => {
  if (isJson(content)) return [content]
  const lines = content.split('\n').map((text, i) => ({ text, number: i + 1 }))
  const filled = lines.filter(({ text }) => text.trim() !== '')
  if (filled.length === 0) return refuse('invalid_json', 'The file is empty: it must hold a page group.')
  const broken = filled.find(({ text }) => !isJson(text))
  if (broken !== undefined)
    refuse(
      'invalid_json',
      `Line ${broken.number} is not well-formed JSON: a file holds one object, or one on each line.`,
    )
  return filled.map(({ text }) => text)
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The fields of one group, out of well-formed JSON; its arrays are kept as the text in which they came. */
const fieldsIn = (text: string, name: string): PageGroupFields => {
  const given: unknown = JSON.parse(text)
  if (Array.isArray(given)) return refuse('invalid_json', `${name} is a list: it must be an object.`)
  const { fields, faults } = checkPageGroup(given)
  if (faults.length > 0)
    return refuse('invalid_request', `${name} is not of the right shape.`, { errors: faults })
  const { members } = membersOf(text)
  const { actions, footerLinks, scripts } = Object.fromEntries(members)
  return {
    ...fields,
    ...(actions && { actions }),
    ...(footerLinks && { footerLinks }),
    ...(scripts && { scripts }),
  }
}
