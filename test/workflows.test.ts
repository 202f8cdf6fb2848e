import { existsSync, globSync, readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const workflows = globSync('.github/workflows/*.yml', { cwd: root.pathname })

t.test(
  'workflows may read and no more, end in bounded time, and run code that nobody can exchange',
  async (t) => {
    t.strictSame(workflows.sort(), ['.github/workflows/release.yml', '.github/workflows/test.yml'])
    for (const path of workflows) {
      const text = read(path)
      t.match(text, /^permissions:\n {2}contents: read\n$/m, path)
      const uses = [...text.matchAll(/uses: (\S+)(.*)/g)]
      t.ok(uses.length > 0)
      for (const [, action = '', comment = ''] of uses)
        if (action.startsWith('./')) t.ok(existsSync(new URL(action, root)), action)
        else t.match(action + comment, /^actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, action)
      t.equal(
        text.match(/runs-on:/g)?.length,
        text.match(/timeout-minutes:/g)?.length,
        'each job has its limit',
      )
      for (const [line] of text.matchAll(/run: .*|^ {10}.*$/gm))
        t.notMatch(line, /\$\{\{ *github\.(?:event|head)/)
    }
  },
)

t.test('what is promised of Node and PostgreSQL is what is tested', async (t) => {
  const text = read('.github/workflows/test.yml')
  const tested = [...text.matchAll(/\{ node: (\w+), postgres: (\d+) \}/g)]
  const unique = (column: 1 | 2) => [...new Set(tested.map((row) => row[column]))].sort()
  t.strictSame(unique(1), ['22', '24', '26', 'oldest'])
  t.strictSame(unique(2), ['14', '15', '16', '17', '18'])
  t.match(read('.ci/nodes'), 'set -- 22 24 26 oldest')
  t.equal(JSON.parse(read('package.json')).engines.node, '>=22.13')
  t.match(read('README.md'), /Node 22\.13/)
})

t.test('only publishing may ask who it is, and it waits for the tests', async (t) => {
  const [before = '', publish = ''] = read('.github/workflows/release.yml').split('\n  publish:\n')
  t.notMatch(before, /: write/)
  t.strictSame(publish.match(/\S+: write/g), ['id-token: write'])
  t.match(publish, /^ {4}needs: test\n/)
  t.match(before, /\n {2}test:\n {4}needs: version\n {4}uses: \.\/\.github\/workflows\/test\.yml\n/)
  t.match(publish, 'npm publish --provenance')
  t.notMatch(publish, /secrets\./)
})
