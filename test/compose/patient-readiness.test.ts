import { mock } from 'node:test'
import t from 'tap'
import { patientReadiness } from '../../src/compose/patient-readiness.ts'
import { unavailable } from '../../src/core/engine/failures.ts'
import { takesNoWrites } from '../../src/core/engine/obstacles.ts'
import { refusalOf } from '../core/scene.ts'

/** Readiness over a database that fails with `error` unless that is null. */
const setUp = () => {
  const database: { error: Error | null } = { error: null }
  const ready = patientReadiness(async () => {
    if (database.error !== null) throw database.error
  })
  return { database, ready }
}

t.test('a process is unready only after three looks in a row without an answer', async (t) => {
  const { database, ready } = setUp()
  const away = unavailable('away')
  for (let round = 0; round < 2; round++) {
    database.error = away
    await t.resolves(ready())
    await t.resolves(ready())
    database.error = null
    await t.resolves(ready())
  }
  database.error = away
  for (let look = 1; look < 3; look++) await t.resolves(ready())
  for (let look = 3; look < 6; look++) t.match(await refusalOf(ready()), { message: 'away' })
  database.error = null
  await t.resolves(ready(), 'one answer is enough to be ready again')
})

t.test('a reason that the database gives makes it unready at once', async (t) => {
  for (const error of [takesNoWrites('disk_full'), new Error('another database')]) {
    const { database, ready } = setUp()
    database.error = error
    await t.rejects(ready(), error)
  }
})

t.test('a look that takes longer than a second has no answer', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const ready = patientReadiness(() => new Promise(() => {}))
  const looks = [ready(), ready(), ready()]
  mock.timers.tick(1_000)
  await t.resolves(Promise.all(looks.slice(0, 2)))
  t.match(await refusalOf(looks[2] ?? ready()), { kind: 'unavailable' })
})
