import { type EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import type { Store } from '../../../../src/core/ports/store.ts'
import { codesOf } from '../../../support/dial.ts'
import { until } from '../../../support/program.ts'
import { ACTIVITY, JSON_TYPE, serve } from './serve.ts'

t.setTimeout(0)

/** So short that every sender below exceeds them. The server looks for slow senders every two seconds. */
const IMPATIENT = { headersMsMax: 100, requestMsMax: 100 }
const HALF_A_HEAD = 'GET /v0/page_groups HTTP/1.1\r\nHost: local'

t.test('a sender that is too slow with its headers gets a problem and is disconnected', async (t) => {
  const { dial, answered, errors } = await serve(t, { limits: IMPATIENT })
  const answers = await dial().send(HALF_A_HEAD).closed()
  t.strictSame(codesOf(answers), ['invalid_request'])
  t.equal(answers[0]?.json.detail, 'The request took too long to arrive.')
  t.strictSame(answered, [], 'it never became a request')
  t.strictSame(errors, [])
})

t.test('a sender that is too slow with its body gets a problem and is disconnected', async (t) => {
  const { dial, ask, textOf, answered, errors } = await serve(t, { limits: IMPATIENT })
  const head = textOf('POST /v0/prospect_logs', [JSON_TYPE, 'Content-Length: 30'])
  const answers = await dial().send(head, '{').closed()
  t.strictSame(codesOf(answers), ['invalid_request'])
  t.equal(answers[0]?.json.detail, 'The request took too long to arrive.')
  t.equal((await ask(textOf('GET /healthz'))).status, 200)
  t.match(answered, [{ status: 400, code: 'invalid_request' }, { status: 200 }])
  t.strictSame(errors, [])
})

t.test('a connection that has sent nothing is closed without an answer', async (t) => {
  const { dial, answered, errors } = await serve(t, { limits: IMPATIENT })
  const answers = await dial().closed()
  t.strictSame(answers, [], 'a browser would take one for the answer to its next request')
  t.strictSame(answered, [])
  t.strictSame(errors, [])
})

t.test('an idle connection is closed', async (t) => {
  const { dial, textOf } = await serve(t, { limits: { keepAliveMs: 10 } })
  t.strictSame(codesOf(await dial().send(textOf('GET /healthz')).closed()), [200])
})

/** Resolves when the next connection that the server accepts has closed. */
const nextToClose = async ({ server }: { readonly server: EventEmitter }): Promise<void> => {
  const [socket] = (await once(server, 'connection')) as [Socket]
  // Not `once` of node:events: a connection that was reset emits an error, too.
  await new Promise<void>((resolve) => socket.once('close', () => resolve()))
}

t.test('a sender that disconnects during its body does not affect other requests', async (t) => {
  const { dial, ask, logOf, textOf, http, store, errors, answered } = await serve(t)
  const disconnected = nextToClose(http)
  const cutShort = logOf(ACTIVITY, ['Expect: 100-continue']).slice(0, -5)
  const connection = dial().send(cutShort)
  t.strictSame(codesOf(await connection.answers(1)), [100])
  connection.hangUp()
  await disconnected

  t.equal((await ask(textOf('GET /healthz'))).status, 200)
  t.match(answered, [{ status: 400, code: 'invalid_request' }, { status: 200 }])
  t.strictSame(store.kept.logs(), [])
  t.strictSame(errors, [])
})

for (const { title, unsentBytes } of [
  { title: 'after it has sent its body', unsentBytes: 0 },
  { title: 'in the middle of its body', unsentBytes: 5 },
])
  t.test(`a request ends even if its sender disconnects before the body is read, ${title}`, async (t) => {
    const lookingUpKey = Promise.withResolvers<void>()
    const disconnected = Promise.withResolvers<void>()
    const storeAs = (store: Store): Store => ({
      ...store,
      apiKeys: {
        ...store.apiKeys,
        // A body is read only after the key was found.
        findByHashes: async (hashes) => {
          lookingUpKey.resolve()
          await disconnected.promise
          return store.apiKeys.findByHashes(hashes)
        },
      },
    })
    const { dial, ask, textOf, logOf, http, answered, errors } = await serve(t, { storeAs })
    const closed = nextToClose(http)
    const request = logOf(ACTIVITY)
    const connection = dial().send(request.slice(0, request.length - unsentBytes))
    await lookingUpKey.promise
    connection.hangUp()
    await closed
    disconnected.resolve()

    t.equal((await ask(textOf('GET /healthz'))).status, 200)
    t.match(answered, [{ route: '/v0/prospect_logs' }, { route: '/healthz' }], 'both are logged as ended')
    t.strictSame(errors, [])
  })

t.test('a connection beyond the limit is not accepted', async (t) => {
  const { dial, textOf } = await serve(t, { limits: { connectionsMax: 1 } })
  const first = dial()
  t.strictSame(codesOf(await first.send(textOf('GET /healthz')).answers(1)), [200])
  const second = dial()
  await second.fault()
  t.strictSame(codesOf(await first.send(textOf('GET /healthz')).answers(2)), [200, 200])
})

t.test(
  'of 40 pipelined requests 32 are answered, the next is refused, and the rest do not start',
  async (t) => {
    const allArrived = Promise.withResolvers<void>()
    const storeAs = (store: Store): Store => ({
      ...store,
      activities: {
        ...store.activities,
        record: async (change, events) => {
          await allArrived.promise
          return store.activities.record(change, events)
        },
      },
    })
    const { dial, logOf, store, http } = await serve(t, { storeAs })
    let arrived = 0
    http.server.on('request', () => {
      arrived++
      if (arrived === 40) allArrived.resolve()
    })
    const connection = dial().send(logOf(ACTIVITY).repeat(40))
    const answers = await connection.closed()
    t.strictSame(codesOf(answers.slice(0, 32)), Array(32).fill(201))
    t.strictSame(codesOf(answers.slice(32)), ['unavailable'])
    t.match(answers.at(-1)?.headers, { connection: 'close', 'retry-after': '1' })
    t.equal(store.kept.logs().length, 32)
  },
)

t.test('a connection may send any number of requests, if it reads answers in between', async (t) => {
  const { dial, textOf } = await serve(t)
  const connection = dial()
  // Fewer than may be unanswered at a time; in all many more.
  const twentyRequests = textOf('GET /healthz').repeat(20)
  for (let sent = 20; sent <= 200; sent += 20) {
    connection.send(twentyRequests)
    t.equal((await connection.answers(sent)).length, sent)
  }
})

/** A store in which a list of page groups waits for `rows`. `called` resolves when it is asked for. */
const waitingList = (rows: Promise<never[]>) => {
  const called = Promise.withResolvers<void>()
  const storeAs = (store: Store): Store => ({
    ...store,
    pageGroups: {
      ...store.pageGroups,
      list: () => {
        called.resolve()
        return rows
      },
    },
  })
  return { storeAs, called: called.promise }
}

t.test('a stopping server answers requests in flight, and no client can delay it', async (t) => {
  const rows = Promise.withResolvers<never[]>()
  const { storeAs, called } = waitingList(rows.promise)
  const { dial, textOf, http } = await serve(t, { storeAs })
  const idle = dial().send(textOf('GET /healthz'))
  const halfSent = dial().send(`${textOf('GET /healthz')}GET /v0`)
  const inFlight = dial().send(textOf('GET /v0/page_groups'))
  await Promise.all([idle.answers(1), halfSent.answers(1), called])

  const drained = http.drain(1_000)
  rows.resolve([])
  const [answer] = await inFlight.closed()
  t.match(answer, { status: 200, headers: { connection: 'close' } })
  await Promise.all([drained, idle.fault(), halfSent.fault()])
  t.match(await dial().fault(), { code: 'ECONNREFUSED' })
})

t.test('a stopping server does not wait for an answer that never comes', async (t) => {
  const { storeAs, called } = waitingList(new Promise(() => {}))
  const { dial, textOf, http } = await serve(t, { storeAs })
  const inFlight = dial().send(textOf('GET /v0/page_groups'))
  await called
  await http.drain(0)
  await inFlight.fault()
  t.equal(http.server.listening, false)
})

/** A store that counts the waits for events: how many have begun, and how many are in progress. */
const countingWaits = () => {
  const waits = { begun: 0, inProgress: 0 }
  const storeAs = (store: Store): Store => ({
    ...store,
    watch: (listener) => {
      const remove = store.watch(listener)
      waits.begun++
      waits.inProgress++
      return () => {
        waits.inProgress--
        remove()
      }
    },
  })
  return { storeAs, waits }
}

t.test('a wait for events ends when the caller disconnects', async (t) => {
  const { storeAs, waits } = countingWaits()
  const { dial, textOf } = await serve(t, { storeAs })
  const caller = dial().send(textOf('GET /v0/events?wait=25'))
  await until('the wait begins', () => waits.begun === 1)
  caller.hangUp()
  await until('the wait ends', () => waits.inProgress === 0)
})

t.test('a wait for events ends with an answer when the server stops', async (t) => {
  const { storeAs, waits } = countingWaits()
  const { dial, textOf, http } = await serve(t, { storeAs })
  const caller = dial().send(textOf('GET /v0/events?wait=25'))
  await until('the wait begins', () => waits.begun === 1)
  const drained = http.drain(20_000)
  const [answer] = await caller.closed()
  t.match(answer, { status: 200, headers: { connection: 'close' } })
  await drained
  t.equal(waits.inProgress, 0)
})
