import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createPipelining } from '../../../../src/adapters/http/node/pipelining.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** An answer, and what hangs on it: the request with its body. */
const answer = () =>
  Object.assign(new EventEmitter(), { req: { complete: true } }) as unknown as ServerResponse & EventEmitter

t.test('a connection holds no memory of answered requests', async (t) => {
  const pipelining = createPipelining()
  const socket = new Duplex()
  const ask = () => {
    const first = answer()
    const second = answer()
    for (const res of [first, second]) pipelining.take(socket, res)
    first.emit('close')
    second.emit('close')
    return [new WeakRef(first), new WeakRef(second)]
  }
  const asked = ask()
  await nextTurn()
  collectGarbage()
  t.strictSame(
    asked.map((res) => res.deref()),
    [undefined, undefined],
  )
  let isDone = false
  pipelining.afterComplete(socket, () => {
    isDone = true
  })
  t.ok(isDone, 'nothing is waited for')
})
