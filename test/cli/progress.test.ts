import t from 'tap'
import { showProgress } from '../../src/cli/progress.ts'
import { screenOf } from '../../src/cli/screen.ts'

const begin = (stream: object, env: Record<string, string> = { NO_COLOR: '1' }) => {
  const clock = { ms: 1_000 }
  const said: string[] = []
  const screen = screenOf(stream, env)
  const write = (text: string) => said.push(text)
  return { clock, said, ...showProgress({ screen, write, nowMs: () => clock.ms }) }
}
const TERMINAL = { isTTY: true, columns: 80 }

t.test('long work tells its count and rate on one line, ten times a second at most', async (t) => {
  const { clock, said, progress, end } = begin(TERMINAL)
  for (let done = 1; done <= 4_000; done++) {
    clock.ms += 0.5
    progress(done, 4_000)
  }
  end()
  t.equal(said.length, 22)
  t.equal(said[1], '\r201 of 4,000 · 5 % · 2,000/s · 0.1 s\u001b[K')
  t.equal(said.at(-2), '\r4,000 of 4,000 · 100 % · 2,000/s · 2.0 s\u001b[K', 'the last stays')
  t.equal(said.at(-1), '\n')
})

t.test('a failure leaves the line as far as it came', async (t) => {
  const { clock, said, progress, end } = begin(TERMINAL)
  clock.ms += 500
  progress(100, 400)
  end()
  t.strictSame(said.slice(-2), ['\r100 of 400 · 25 % · 200/s · 0.5 s\u001b[K', '\n'])
})

t.test('short work, pipes and terminals that cannot write over a line show nothing', async (t) => {
  const cases = [
    { ...begin(TERMINAL), total: 99 },
    { ...begin({}), total: 1_000 },
    { ...begin(TERMINAL, { TERM: 'dumb' }), total: 1_000 },
  ]
  for (const { clock, said, progress, end, total } of cases) {
    clock.ms += 5_000
    progress(1, total)
    end()
    t.strictSame(said, [])
  }
})

t.test('on a narrow terminal it is still one line', async (t) => {
  const { clock, said, progress } = begin({ isTTY: true, columns: 24 })
  clock.ms += 5_000
  progress(123_456, 1_000_000)
  t.equal(said.join(''), '\r123,456 of 1,000,000 ·\u001b[K')
})
