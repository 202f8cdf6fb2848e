import { existsSync, globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { PROBLEMS } from '../../src/adapters/http/problems.ts'
import { settingsHelp } from '../../src/config/settings.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const PAGES = globSync(['*.md', 'docs/*.md', 'test/*.md', 'test/bench/*.md'], { cwd: root.pathname })

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
const anchorsIn = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading))

t.test('every link between the pages leads to a file and a heading', async (t) => {
  for (const page of PAGES)
    for (const [, path = '', anchor] of read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const file =
        path === '' ? page : new URL(path, new URL(page, root)).pathname.slice(root.pathname.length)
      t.ok(existsSync(new URL(file, root)), `${page}: ${file}`)
      if (anchor !== undefined) t.ok(anchorsIn(file).includes(anchor), `${page}: ${file}#${anchor}`)
    }
})

t.test('the README fits its 180 lines and uses the one name of the program', async (t) => {
  t.ok(read('README.md').trimEnd().split('\n').length <= 180)
  t.notMatch(read('README.md'), /bin\.js/)
})

t.test('the settings page lists every setting as the program does', async (t) => {
  const rows = settingsHelp().map(
    ({ name, default: fallback, help }) =>
      `| \`${name}\` | ${fallback ? `\`${fallback}\`` : 'empty'} | ${help} |`,
  )
  t.strictSame(read('docs/settings.md').match(/^\| `[A-Z_]+` \|.*$/gm), rows)
})

t.test('the API page lists every scope and every problem code', async (t) => {
  const rows = read('docs/api.md').match(/^\| .*$/gm) ?? []
  for (const scope of SCOPES)
    t.ok(
      rows.some((row) => row.startsWith(`| \`${scope}\` |`)),
      scope,
    )
  for (const [code, { status }] of Object.entries(PROBLEMS))
    t.ok(
      rows.some((row) => row.startsWith(`| ${status} |`) && row.includes(`\`${code}\``)),
      code,
    )
})

t.test('who follows the page on erasure erases nobody that another page logs', async (t) => {
  const [, erased = 'nobody'] = /"email":"([^"]+)"/.exec(read('docs/erasure.md')) ?? []
  for (const page of PAGES.filter((page) => page !== 'docs/erasure.md')) t.notMatch(read(page), erased, page)
})
