import { existsSync, globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { PROBLEMS } from '../../src/adapters/http/problems.ts'
import { settingsHelp } from '../../src/config/settings.ts'
import { EVERY_SCOPE } from '../../src/core/ports/api-keys.ts'
import { KINDS } from '../../src/maintenance/findings.ts'

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

t.test('the README uses the one name of the program', async (t) => {
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
  for (const scope of EVERY_SCOPE)
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

/** The texts in code that a pattern finds, without what is filled in. */
const textsIn = (files: string, pattern: RegExp): string[] =>
  globSync(files, { cwd: root.pathname })
    .flatMap((file) => [...read(file).matchAll(pattern)].map(([, text = '']) => text))
    .flatMap((text) => text.split(/\$\{.*?\}/))
    .map((part) => part.trim())
    .filter((part) => part.length > 3)

t.test('the page on troubleshooting explains all that the service can say is wrong', async (t) => {
  const page = read('docs/troubleshooting.md')
  const work = textsIn('src/compose/telemetry.ts', /background\(log, '(.*?)'/g)
  const checks = /(?:\b(?:passed|warned|failed|check|unlessFound)\(\s*|select )'([\w ]+)'(?:,| as name)/g
  const names = {
    'the code of a problem': Object.keys(PROBLEMS),
    'a finding of status': [...KINDS, 'database', 'migrations'],
    'a check of doctor': textsIn('src/maintenance/*.ts', checks),
  }
  for (const [what, list] of Object.entries(names))
    for (const name of list) t.ok(page.includes(`\`${name}\``), `${what}: ${name}`)
  const said: Record<string, string[]> = {
    'an alert': textsIn('deploy/prometheus-alerts.yml', /- alert: (\w+)/g),
    'a line of the log': [
      ...work,
      ...textsIn(
        'src/{cli,compose,adapters}/**/*.ts',
        /\blog(?:\.(?:warn|error|fatal)|\[[^\]]+\])\(.*['`](.+?)['`]\)/g,
      ),
      ...textsIn('src/adapters/postgres/migrate.ts', /\bwarn\('(.*?):/g),
      ...textsIn('src/compose/telemetry.ts', /(?:resting|disabled): '(.*?)'/g),
      ...textsIn('src/compose/eraser.ts', /PAUSED =\s*'(.*?):/g),
      ...textsIn('src/config/near-names.ts', /warning: `(.*?)`/g),
      ...textsIn('src/adapters/sqlite/watch-place.ts', /detail = `(.*?)\. /g),
    ],
    'why the service is unavailable': textsIn(
      'src/**/*.ts',
      /(?:unavailable\(|refuse\('unavailable', |TOO_MANY\w* = |NO_ANSWER_IN_TIME = )['`](.*?)['`]/g,
    ),
  }
  for (const [what, texts] of Object.entries(said))
    for (const text of new Set(texts)) t.ok(page.includes(text), `${what}: ${text}`)
  for (const found of Object.values({ ...names, ...said })) t.ok(found.length > 10)
})
