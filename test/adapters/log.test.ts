import t from 'tap'
import { createLogOn } from '../../src/adapters/log.ts'

const linesAt = (level: string) => {
  const lines: string[] = []
  const write = (line: string) => lines.push(line)
  return { log: createLogOn(level, { write } as unknown as NodeJS.WriteStream), lines }
}

t.test('a line has the level, the time, the process and the facts', async (t) => {
  const { log, lines } = linesAt('info')
  log.info({ requestId: 'a"b', ms: 1.5, code: null, traceId: undefined }, 'answered')
  const { hostname, time, ...line } = JSON.parse(String(lines[0]))
  t.strictSame(line, { level: 30, pid: process.pid, requestId: 'a"b', ms: 1.5, code: null, msg: 'answered' })
  t.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
})

t.test('and is not written below the level', async (t) => {
  const { log, lines } = linesAt('warn')
  log.info({}, 'answered')
  t.strictSame(lines, [])
})
