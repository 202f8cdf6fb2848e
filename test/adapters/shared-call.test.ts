import t from 'tap'
import { sharedCall } from '../../src/adapters/shared-call.ts'

t.test('callers that come while a call runs share the next one', async (t) => {
  const runs: PromiseWithResolvers<string>[] = []
  const begun = Promise.withResolvers<void>()
  const call = sharedCall(() => {
    const run = Promise.withResolvers<string>()
    runs.push(run)
    if (runs.length === 2) run.resolve('second')
    begun.resolve()
    return run.promise
  })
  const first = call()
  await begun.promise
  const later = [call(), call()]
  runs[0]?.resolve('first')
  t.equal(await first, 'first')
  t.strictSame(await Promise.all(later), ['second', 'second'])
  t.equal(runs.length, 2)
})

t.test('each caller of a call that fails gets its error, and the next call runs again', async (t) => {
  let runs = 0
  const call = sharedCall(async () => {
    if (++runs === 1) throw new Error('away')
    return runs
  })
  const failed = await Promise.allSettled([call(), call()])
  t.match(failed, [{ reason: { message: 'away' } }, { reason: { message: 'away' } }])
  t.equal(await call(), 2)
})
