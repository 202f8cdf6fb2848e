import t from 'tap'
import type { Log } from '../../src/adapters/log.ts'
import { watchDatabase } from '../../src/compose/observe-work.ts'
import { unavailable } from '../../src/core/engine/failures.ts'
import { takesNoWrites } from '../../src/core/engine/obstacles.ts'

t.test('the log says since when the database takes no writes, and when it does again', async (t) => {
  let nowMs = Date.parse('2026-11-29T17:00:00.000Z')
  t.intercept(Date, 'now', { value: () => nowMs })
  const lines: unknown[] = []
  const keep = (facts: object, message: string) => lines.push({ ...facts, message })
  let why: Error | null = null
  const step = watchDatabase({ warn: keep, info: keep } as unknown as Log, async () => {
    if (why) throw why
  })
  const later = async (error: Error | null) => {
    why = error
    await step()
    nowMs += 5_000
  }
  await later(null)
  await later(unavailable('The database cannot answer now.'))
  t.strictSame(lines, [])
  await later(takesNoWrites('disk_full'))
  await later(takesNoWrites('disk_full'))
  const since = '2026-11-29T17:00:10.000Z'
  t.strictSame(lines, [{ since, message: 'The database takes no writes: disk_full.' }])
  await later(null)
  await later(null)
  t.strictSame(lines.slice(1), [{ since, message: 'The database takes writes again.' }])
})
