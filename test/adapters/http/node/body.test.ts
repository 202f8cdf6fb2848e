import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { malformed } from '../../../../src/adapters/http/malformed.ts'
import { bodyOf } from '../../../../src/adapters/http/node/body.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

t.test('a body that is discarded while it is read releases the bytes that have arrived', async (t) => {
  const req = Object.assign(new EventEmitter(), {
    headers: { 'content-length': '200000' },
    resume: () => {},
    pause: () => {},
  }) as unknown as IncomingMessage
  const body = bodyOf(req, { bodyBytesMax: 1_000_000, batchBytesMax: 1_000_000 }, () => malformed('never'))
  const read = body?.read(1_000_000)
  const arrive = () => {
    const chunk = Buffer.alloc(100_000)
    req.emit('data', chunk)
    return new WeakRef(chunk)
  }
  const chunk = arrive()
  const discarded = body?.discard()
  await nextTurn()
  collectGarbage()
  t.equal(chunk.deref(), undefined)
  req.emit('close')
  await discarded
  await t.rejects(read as Promise<unknown>, { kind: 'invalid_request' } as never)
})
