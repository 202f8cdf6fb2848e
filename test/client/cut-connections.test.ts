import t from 'tap'
import { loggingScene } from '../support/logging-scene.ts'
import { faultsRandom } from '../support/random.ts'

t.setTimeout(0)

t.test('every activity is stored once, even if connections are cut', async (t) => {
  const { log, faults, client } = await loggingScene(t, faultsRandom(t))
  const [singly, inLists, buffered] = await Promise.all([
    log.singly(100, 25),
    log.inLists(2_100),
    log.buffered(200, 50),
  ])
  const logged = { singly, 'in lists': inLists, buffered }
  t.strictSame(await faults(logged), { lost: [], doubled: 0, unknown: 0 })
  let found = 0
  for await (const _ of client.each('/v0/prospect_logs', { limit: 100, source: 'singly' })) found++
  t.equal(found, 100, 'the client reads the list to its end')
})
