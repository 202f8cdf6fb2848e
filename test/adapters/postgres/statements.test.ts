import t from 'tap'
import { unavailableUnlessRejected } from '../../../src/adapters/postgres/error-codes.ts'
import { unlessOvertaken } from '../../../src/adapters/postgres/overtaken.ts'
import { refusalOf } from '../../core/scene.ts'

t.test('a deadlock overtakes a write, and makes everything else unavailable', async (t) => {
  const error = Object.assign(new Error('deadlock detected'), { name: 'PostgresError', code: '40P01' })
  const asked = Promise.reject(error).catch(unavailableUnlessRejected)
  t.match(await refusalOf(asked), { kind: 'unavailable' })
  t.equal(await unlessOvertaken(asked), 'overtaken')
})
