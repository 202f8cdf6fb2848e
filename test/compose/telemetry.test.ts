import t from 'tap'
import type { Log } from '../../src/adapters/log.ts'
import { observe } from '../../src/compose/telemetry.ts'
import { unavailable } from '../../src/core/failures.ts'

/** The hooks of the publisher, and what they logged. */
const setting = () => {
  const lines: unknown[][] = []
  const at =
    (level: string) =>
    (...given: unknown[]) =>
      lines.push([level, ...given])
  const log = { info: at('info'), warn: at('warn'), error: at('error') } as unknown as Log
  return { ...observe({ log }).publishing, lines }
}
const away = unavailable('The database cannot answer now.', new Error('connect ECONNREFUSED 127.0.0.1:1'))

t.test('a database that is away is one line of each work, and one when it is back', async (t) => {
  const { onError, onStep, lines } = setting()
  onStep()
  for (let step = 0; step < 100; step++) onError(away)
  const reason = 'connect ECONNREFUSED 127.0.0.1:1'
  t.strictSame(lines, [['warn', { reason }, 'Publishing waits: the database cannot answer.']])
  onStep()
  onStep()
  t.strictSame(lines.slice(1), [['info', 'Publishing works again.']])
})

t.test('one that goes away again within the minute is no line', async (t) => {
  const { onError, onStep, lines } = setting()
  for (let time = 0; time < 3; time++) {
    onError(away)
    onStep()
  }
  t.equal(lines.length, 2)
})

t.test('a bug keeps its stack, every time', async (t) => {
  const { onError, onStep, lines } = setting()
  const bug = new Error('a bug')
  for (const error of [bug, away, bug]) onError(error)
  onStep()
  t.match(lines, [
    ['error', { err: bug }],
    ['warn'],
    ['error', { err: bug }, 'Publishing failed; retrying.'],
    ['info'],
  ])
})
