import t from 'tap'
import { createLogOn } from '../../src/adapters/log.ts'

const linesAt = (level: string) => {
  const lines: string[] = []
  const write = (line: string) => lines.push(line)
  return { log: createLogOn(level, { write } as unknown as NodeJS.WriteStream), lines }
}

t.test('a fact is written as info writes it', async (t) => {
  const { log, lines } = linesAt('info')
  const facts = { requestId: 'a"b', ms: 1.5, code: null, traceId: undefined }
  log.info(facts, 'answered')
  log.fact(facts, 'answered')
  const [byInfo, byFact] = lines.map((line) => line.replace(/"time":"[^"]*"/, ''))
  t.equal(byFact, byInfo)
})

t.test('and not at all where info is not', async (t) => {
  const { log, lines } = linesAt('warn')
  log.fact({}, 'answered')
  t.strictSame(lines, [])
})
