import type { TestEvent } from 'node:test/reporters'
import t from 'tap'
import report from '../support/reporter.ts'

type Event = readonly [type: string, data: object]
const FILE = 'test/core/one.test.ts'
const of = (name: string, nesting: number, details: object = {}, file = FILE) => ({
  ...{ name, nesting, file, entryFile: file },
  details: { duration_ms: 1_500, ...details },
})
/** A test with a title, and how it ended. */
const titled = (name: string, ended: 'pass' | 'fail', details = {}): Event[] => [
  ['test:start', of(name, 0)],
  [`test:${ended}`, of(name, 0, { type: 'suite', ...details })],
]
const error = (message: string, more = {}) => Object.assign(new Error(message), more)

const reportOf = async (events: readonly Event[]): Promise<string> => {
  async function* source() {
    for (const [type, data] of events) yield { type, data } as unknown as TestEvent
  }
  let page = ''
  for await (const text of report(source())) page += text
  return page
}

t.test('a green run: folders, reasons of what was skipped, once, and how long files took', async (t) => {
  const skipped: Event = ['test:pass', { ...of('on postgres', 0), skip: 'PostgreSQL is not installed' }]
  const notice: Event = ['test:stdout', { file: FILE, message: 'NOTICE: nothing of this\n' }]
  const ended: Event = ['test:complete', of(FILE, 0)]
  const text = await reportOf([...titled('it works', 'pass'), skipped, skipped, notice, ended])
  t.equal(
    text,
    `
test/core                    1 passed in 1 file, 1.5 s
skipped: PostgreSQL is not installed (test/core/one.test.ts)
slowest: test/core/one.test.ts 1.5 s
1 tests passed, 0 failed, in 1 file and 0 s
`,
  )
})

t.test('a failure: where, the titles, the difference without colours, and how to run it alone', async (t) => {
  const difference = error('should be equal\n\u001b[31m-1   \u001b[39m\n+2   ')
  const text = await reportOf([
    ['test:start', of('it counts', 0)],
    ['test:start', of('should be equal', 1)],
    ['test:fail', { ...of('should be equal', 1, { error: error('', { cause: difference }) }), line: 7 }],
    ['test:fail', of('it counts', 0, { type: 'suite', error: { failureType: 'subtestsFailed' } })],
  ])
  const lines = [
    'failed  test/core/one.test.ts:7',
    'it counts › should be equal',
    'should be equal',
    '-1',
    '+2',
    'at ',
  ]
  for (const line of lines) t.ok(text.includes(`${line}`), line)
  t.match(text, /^ +npx node --test test\/core\/one\.test\.ts$/m)
  t.notOk(text.includes('\u001b'))
  t.match(text, /0 tests passed, 1 failed/)
})

t.test('a file that ends without a word is shown with what it printed last', async (t) => {
  const ended = error('test failed', { exitCode: 7 })
  const text = await reportOf([
    ['test:stderr', { file: FILE, message: 'Error: no such thing\n' }],
    ['test:fail', of(FILE, 0, { error: ended })],
  ])
  t.match(
    text,
    /failed {2}test\/core\/one\.test\.ts\n +the whole file\n +test failed \(exit code 7\)\n +Error: no such/,
  )
})
