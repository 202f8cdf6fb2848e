import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { settingsHelp } from '../src/settings.ts'

const root = new URL('../', import.meta.url)
const readme = readFileSync(new URL('README.md', root), 'utf8')

t.test('the README lists every setting as it is', async (t) => {
  const rows = settingsHelp().map(
    ({ name, default: fallback, help }) =>
      `| \`${name}\` | ${fallback ? `\`${fallback}\`` : 'none'} | ${help} |`,
  )
  for (const row of rows) t.ok(readme.includes(row), row)
  t.equal(readme.match(/^\| `[A-Z_]+` \|/gm)?.length, rows.length, 'and none besides')
})

t.test('every file and folder that the README names is there', async (t) => {
  const named = [...readme.matchAll(/`((?:src|test|sql|\.ci)\/[\w./-]*)`/g)].map(([, path]) => path as string)
  t.ok(named.length > 10)
  for (const path of named) t.ok(existsSync(new URL(path, root)), path)
})
