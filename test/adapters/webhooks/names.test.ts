import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { type Lookup, lookupNames } from '../../../src/adapters/webhooks/names.ts'

/** Answers `known.*` with 192.0.2.7, never answers `silent.*`, and denies every other name. */
const nameServer = async (t: Test): Promise<string> => {
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12) + 5
    const name = query.toString('latin1', 13, 13 + Number(query[12]))
    if (name === 'silent') return
    const isA = name === 'known' && query.readUInt16BE(end - 4) === 1
    const head = [0x81, name === 'known' ? 0x80 : 0x83, 0, 1, 0, Number(isA), 0, 0, 0, 0]
    const record = isA ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 192, 0, 2, 7] : []
    const answer = [query.subarray(0, 2), Buffer.from(head), query.subarray(12, end), Buffer.from(record)]
    socket.send(Buffer.concat(answer), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  return `127.0.0.1:${socket.address().port}`
}
const answerOf = (lookup: Lookup, hostname: string) =>
  new Promise((resolve) => lookup(hostname, { all: true }, (error, found) => resolve(error?.code ?? found)))
const KNOWN = [{ address: '192.0.2.7', family: 4 }]

t.test('names that are never answered delay no other name', async (t) => {
  const lookup = lookupNames({
    isTrusted: () => false,
    mayBeLocal: false,
    servers: [await nameServer(t)],
  })
  const ended: string[] = []
  const silent = Array.from({ length: 20 }, async (_, i) => {
    t.match(await answerOf(lookup, `silent.${i}.example`), 'ETIMEOUT')
    ended.push('silent')
  })
  t.strictSame(await answerOf(lookup, 'known.example'), KNOWN)
  t.equal(await answerOf(lookup, 'other.example'), 'ENOTFOUND')
  t.strictSame(ended, [])
  await Promise.all(silent)
})

t.test(
  'the system is asked for names that are trusted, and for local ones where they may be called',
  async (t) => {
    const servers = [await nameServer(t)]
    const isTrusted = (name: string) => name === 'localhost'
    const address = /^(127\.0\.0\.1|::1)$/
    for (const lookup of [
      lookupNames({ isTrusted, mayBeLocal: false, servers }),
      lookupNames({ isTrusted: () => false, mayBeLocal: true, servers }),
    ]) {
      t.match(await answerOf(lookup, 'localhost'), [{ address }])
      t.strictSame(await answerOf(lookup, 'known.example'), KNOWN)
    }
  },
)
