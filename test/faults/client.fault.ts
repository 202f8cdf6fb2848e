import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { loggingScene } from '../support/logging-scene.ts'
import { faultsRandom, timesOf } from '../support/random.ts'

t.setTimeout(0)
const COUNT = timesOf(2_000)

t.test(`a client logs ${COUNT} activities by each way over connections that are cut`, async (t) => {
  const random = faultsRandom(t)
  const { log, faults, restart } = await loggingScene(t, random)
  const began = performance.now()
  const ways = Promise.all([log.singly(COUNT, 128), log.inLists(COUNT), log.buffered(COUNT, 100)])
  await pause(500 + random.below(2_000))
  await restart()
  const [singly, inLists, buffered] = await ways
  t.comment(`${3 * COUNT} activities in ${Math.round((performance.now() - began) / 1_000)} s`)
  t.strictSame(await faults({ singly, 'in lists': inLists, buffered }), { lost: [], doubled: 0, unknown: 0 })
  const replayed = [...singly, ...buffered].filter((one) => one.replayed).length
  t.ok(replayed > COUNT / 20, `${replayed} had been stored by an earlier try`)
})
