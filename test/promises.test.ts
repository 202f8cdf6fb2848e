import { existsSync, globSync, readFileSync } from 'node:fs'
import t from 'tap'

const here = new URL('./', import.meta.url)
const root = new URL('../', import.meta.url)
const page = readFileSync(new URL('README.md', here), 'utf8')

/** Files of tests that a page names: `contract/pages.test.ts`. */
const named = [...page.matchAll(/`((?:[\w-]+\/)*[\w-]+\.(?:test|fault)\.ts)`/g)].map(
  ([, path]) => path as string,
)

t.test('every test that the page of promises names is there', async (t) => {
  t.ok(named.length > 60)
  for (const path of new Set(named)) t.ok(existsSync(new URL(path, here)), path)
})

t.test('no test folder is missing on it, and every fault and every nonsense is named', async (t) => {
  const cwd = here.pathname
  const tests = globSync('**/*.{test,fault}.ts', { cwd, exclude: ['**/node_modules/**'] })
  const folders = new Set(tests.map((path) => path.split('/').slice(0, -1).join('/')))
  folders.delete('')
  for (const folder of folders)
    t.ok(
      named.some((path) => path.startsWith(`${folder}/`)),
      folder,
    )
  const rows = globSync('*/', { cwd }).map((folder) => `| \`${folder.replace(/\/$/, '')}/\` |`)
  for (const row of rows) t.ok(page.includes(row), row)
  const each = tests.filter((path) => /^(faults|nonsense)\//.test(path))
  for (const path of each) t.ok(named.includes(path), path)
})

t.test('every file that SECURITY.md names is there', async (t) => {
  const security = readFileSync(new URL('SECURITY.md', root), 'utf8')
  const links = [...security.matchAll(/\]\(([\w./-]+)\)/g)].map(([, path]) => path as string)
  t.strictSame(links, ['sql/roles.sql', 'test/README.md'])
  for (const path of links) t.ok(existsSync(new URL(path, root)), path)
})

t.test('every row of a table of promises names a test', async (t) => {
  const tables = page.split(/^## /m).filter((part) => part.includes('| promise | tested by |'))
  t.ok(tables.length >= 6)
  for (const table of tables)
    for (const row of table
      .split('\n')
      .filter((line) => line.startsWith('| ') && !line.startsWith('| promise')))
      t.match(row, /\.(test|fault)\.ts`/, row)
})
