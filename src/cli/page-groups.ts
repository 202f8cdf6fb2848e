import { readFileSync } from 'node:fs'
import { isatty } from 'node:tty'
import { refuse } from '../core/engine/failures.ts'
import { orNull } from '../core/engine/outcome.ts'
import { createPageGroup, type PageGroupFields } from '../core/pages/create-page-group.ts'
import { getPageGroup, locatePageGroup } from '../core/pages/get-page-group.ts'
import { listAllPageGroups } from '../core/pages/list-page-groups.ts'
import { updatePageGroup } from '../core/pages/update-page-group.ts'
import { membersOf } from '../json/raw-json.ts'
import { checkShape } from '../shapes/check.ts'
import { withTexts } from '../shapes/json.ts'
import { PAGE_GROUP_STATUSES, PageGroupFile, type PageGroupStatus } from '../shapes/page-group.ts'
import { type Command, isFolder, type Open, TENANT, type Texts, valued, wrongUse } from './command.ts'
import { reportEverySecond } from './output.ts'

const STATUSES = PAGE_GROUP_STATUSES.join(', ')
const COLUMNS = ['pageGroupId', 'name', 'title', 'status', 'pagesCount']

const FIELD_OPTIONS = {
  name: valued('N', 'name, 1 to 255 characters'),
  title: valued('T', 'title, 1 to 255 characters'),
  brand: valued('B', "brand id; the tenant's first brand by default"),
  'page-context': valued('C', 'what all pages of the group are about'),
  status: valued('S', STATUSES),
  file: valued('F', 'a JSON file with the fields, - for stdin; options override it'),
}
const FILE_DETAILS = [
  'The fields of a file are those of the API: brandId, name, title, pageContext, status, actions,',
  'footerLinks, scripts, headerActionId.',
]

const statusCommand = (verb: string, status: PageGroupStatus, help: string): Command => ({
  words: `page-groups ${verb}`,
  help,
  details: ['page-groups update ID --status active undoes it.'],
  operand: 'ID',
  examples: { [`${verb} a page group`]: `prospect-pages page-groups ${verb} "$GROUP"` },
  run: async ({ operand: pageGroupId }, open) => change(open, pageGroupId, { status }),
})

export const pageGroupCommands: readonly Command[] = [
  {
    words: 'page-groups create',
    help: 'creates page groups, from options or a file',
    details: [
      'A name and a title are required.',
      ...FILE_DETAILS,
      'A file contains one JSON object, or JSON lines with one object each. All are checked before the',
      'first is created, and each is printed as soon as it is created.',
    ],
    options: { tenant: TENANT, ...FIELD_OPTIONS },
    examples: {
      'one page group': 'prospect-pages page-groups create --tenant "$TENANT" --name offers --title Offers',
      'two, from JSON lines': `printf '%s\\n' '{"name":"spring","title":"Spring"}' '{"name":"autumn","title":"Autumn"}' | prospect-pages page-groups create --tenant "$TENANT" --file -`,
    },
    format: { columns: COLUMNS },
    async *run({ texts: { tenant: tenantId = '', ...given } }, open) {
      const groups = groupsIn(given).map(({ name, title, ...others }, i) =>
        name === undefined || title === undefined
          ? wrongUse(`page group ${i + 1} needs a name and a title`)
          : { ...others, tenantId, name, title },
      )
      const create = createPageGroup(await open())
      const report = reportEverySecond()
      for (const [i, group] of groups.entries()) {
        yield (await create(group)).pageGroup
        report(`${i + 1} of ${groups.length}`)
      }
    },
  },
  {
    words: 'page-groups list',
    help: 'lists the page groups of a tenant, newest first',
    options: { tenant: TENANT, status: valued('S', `${STATUSES}; all but deleted ones by default`) },
    examples: {
      'all but the deleted ones': 'prospect-pages page-groups list --tenant "$TENANT"',
      'those that can be restored': 'prospect-pages page-groups list --tenant "$TENANT" --status deleted',
    },
    format: { list: true, columns: COLUMNS },
    async *run({ texts: { tenant: tenantId = '', status: given } }, open) {
      const { status } = fieldsOf(JSON.stringify({ status: given }), 'options')
      yield* listAllPageGroups(await open())({ tenantId, status })
    },
  },
  {
    words: 'page-groups show',
    help: 'shows a page group, even a deleted one',
    operand: 'ID',
    examples: { 'all fields': 'prospect-pages page-groups show "$GROUP"' },
    run: async ({ operand: pageGroupId }, open) => {
      const deps = { ...(await open()), seesDeleted: true }
      return (await getPageGroup(deps)(await locatePageGroup(deps)(pageGroupId))).pageGroup
    },
  },
  {
    words: 'page-groups update',
    help: 'changes the given fields of a page group',
    details: [...FILE_DETAILS, 'Other fields keep their values.'],
    operand: 'ID',
    options: { ...FIELD_OPTIONS, brand: valued('B', 'brand id') },
    examples: {
      'another title': 'prospect-pages page-groups update "$GROUP" --title "Spring offers"',
      'set links and remove the page context': `echo '{"pageContext":null,"footerLinks":[{"href":"/imprint"}]}' | prospect-pages page-groups update "$GROUP" --file -`,
    },
    run: async ({ texts, operand: pageGroupId }, open) => {
      const [fields = {}, ...more] = groupsIn(texts)
      if (Object.keys(fields).length === 0) wrongUse('nothing to change: no field is given')
      if (more.length > 0) wrongUse('an update takes the fields of one page group')
      return change(open, pageGroupId, fields)
    },
  },
  statusCommand('archive', 'archived', 'archives a page group: it takes no new pages'),
  statusCommand('delete', 'deleted', 'deletes a page group: callers no longer find it'),
]

/** Of any tenant, even a deleted one. */
const change = async (open: Open, pageGroupId: string, fields: PageGroupFields) => {
  const deps = { ...(await open()), seesDeleted: true }
  return (await updatePageGroup(deps)({ ...(await locatePageGroup(deps)(pageGroupId)), ...fields })).pageGroup
}

/** The fields of each group in the file, or of one without a file; options override them. */
const groupsIn = (texts: Texts): PageGroupFields[] => {
  const { name, title, brand: brandId, 'page-context': pageContext, status, file } = texts
  const overrides = fieldsOf(JSON.stringify({ name, title, brandId, pageContext, status }), 'options')
  const content = file === undefined ? '{}' : readUtf8(file)
  // One JSON value, or one on each line.
  const objects = orNull(() => JSON.parse(content)) === null ? content.trim().split(/\s*\n\s*/) : [content]
  const subjectOf = (i: number) => (objects.length === 1 ? 'The page group' : `Page group ${i + 1}`)
  return objects.map((text, i) => ({ ...fieldsOf(text, subjectOf(i)), ...overrides }))
}

const readUtf8 = (file: string): string => {
  const source = file === '-' ? 0 : file
  if (source === 0 && isatty(0)) process.stderr.write('Type or paste page groups; end with Ctrl-D.\n')
  if (isFolder(file)) wrongUse(`--file ${file} is a folder`)
  return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(source))
}

/** The checked fields of one group; its arrays are kept as the exact text they came in. */
const fieldsOf = (text: string, subject: string): PageGroupFields => {
  const value: unknown = orNull(() => JSON.parse(text))
  if (value === null || Array.isArray(value))
    return refuse('invalid_json', `${subject} is not a JSON object. A file has one, or one on each line.`)
  const { output, faults } = checkShape(PageGroupFile, value)
  if (faults[0] && subject === 'options')
    wrongUse(`--${faults[0]['pointer']?.replaceAll(/^.|Id$/g, '')} ${faults[0].detail}`)
  if (faults.length > 0) refuse('invalid_request', `${subject} is invalid.`, { errors: faults })
  return withTexts(output, membersOf(text).members)
}
