import t, { type Test } from 'tap'
import { createAdmission, type Slot } from '../../../src/adapters/http/admission.ts'
import { ticks } from '../../support/ticks.ts'

type Limits = Parameters<typeof createAdmission>[0]
const LIMITS = { atOnceMax: 4, waitingMax: 100, waitMsMax: 60_000, bodyBytesMax: 1_000 }

/** An admission, and what happened to each request, in order. Requests are named after their tenant, such as `a1`. */
const admissionScene = (limits: Partial<Limits> = {}) => {
  const admission = createAdmission({ ...LIMITS, ...limits })
  const working: string[] = []
  const refused: string[] = []
  const slots = new Map<string, Slot>()
  const slotOf = (name: string) => slots.get(name) as Slot
  const arrive = (name: string, answerBytes?: number, asksFor?: string) =>
    slots.set(name, admission.arrive(name.slice(0, 1), answerBytes, asksFor))
  const turn = async (name: string): Promise<void> => {
    try {
      await admission.turn(slotOf(name))
      working.push(name)
    } catch {
      refused.push(name)
    }
  }
  return {
    ...admission,
    working,
    refused,
    slotOf,
    arrive,
    /** The requests arrive, and wait for their turns if they must. */
    arriveAndWait: (...names: string[]) => {
      for (const name of names) {
        arrive(name)
        void turn(name)
      }
    },
    /** Requests whose answers may have so many bytes. */
    ask: (answerBytes: number, ...names: string[]) => {
      for (const name of names) {
        arrive(name, answerBytes)
        void turn(name)
      }
    },
    /** Requests that share an answer of so many bytes. */
    askForOne: (answerBytes: number, asksFor: string, ...names: string[]) => {
      for (const name of names) {
        arrive(name, answerBytes, asksFor)
        void turn(name)
      }
    },
    turn,
    read: (name: string) =>
      admission.reading(slotOf(name), new Promise(() => {})).catch(() => refused.push(name)),
    leave: async (...names: string[]) => {
      for (const name of names) admission.leave(slotOf(name))
      await ticks()
    },
  }
}
const UNAVAILABLE = { kind: 'unavailable', facts: { retryAfterS: 1 } } as never
const named = (tenant: string, count: number) => Array.from({ length: count }, (_, i) => `${tenant}${i}`)

t.test('a tenant alone uses every slot; requests do not wait while slots are free', async (t) => {
  const { arriveAndWait, working } = admissionScene()
  arriveAndWait(...named('a', 4))
  await ticks()
  t.strictSame(working, named('a', 4))
})

t.test('waiting requests start as others leave, tenants in turn', async (t) => {
  const { arriveAndWait, leave, working } = admissionScene({ atOnceMax: 2 })
  arriveAndWait(...named('a', 6), ...named('b', 3))
  await leave('a0')
  await leave('a1')
  await leave('a2')
  await leave('b0')
  await leave('a3', 'b1')
  t.strictSame(working, ['a0', 'a1', 'b0', 'a2', 'a3', 'b1', 'a4', 'b2'])
})

t.test('large bodies of one tenant leave room for that of another', async (t) => {
  const { arrive, turn, hold, slotOf, working } = admissionScene({ atOnceMax: 100, bodyBytesMax: 1_000 })
  const send = async (name: string, bytes: number): Promise<void> => {
    arrive(name)
    hold(slotOf(name), bytes)
    void turn(name)
    await ticks()
  }
  for (const name of named('a', 5)) await send(name, 100)
  t.strictSame(
    working,
    named('a', 4),
    'bodies in progress take half of the bytes, of one tenant seven eighths of that',
  )
  await send('b0', 60)
  t.ok(working.includes('b0'))
})

t.test('a tenant with slow requests does not take the slots of one with fast requests', async (t) => {
  const { arriveAndWait, leave, working } = admissionScene({ atOnceMax: 4 })
  arriveAndWait(...named('slow', 20))
  for (let i = 0; i < 10; i++) arriveAndWait(`fast${i}`)
  await leave('slow0')
  for (let i = 0; i < 9; i++) await leave(`fast${i}`)
  t.ok(working.includes('fast9'), working.join())
  await leave('slow1')
  t.equal(working.at(-1), 'slow4', 'slots that no other tenant needs')
})

t.test('a flood of one tenant delays another tenant by at most one turn', async (t) => {
  const { arriveAndWait, leave, working } = admissionScene({ waitingMax: 5_000 })
  arriveAndWait(...named('loud', 1_000), 'quiet')
  await leave('loud0')
  await leave('loud1')
  t.ok(working.includes('quiet'), working.join())
})

t.test('a tenant alone may use all of the waiting room, and is refused beyond it', async (t) => {
  const { arriveAndWait, arrive, leave } = admissionScene({ atOnceMax: 1, waitingMax: 10 })
  arriveAndWait(...named('a', 11))
  t.throws(() => arrive('a'), UNAVAILABLE)
  await leave('a0')
  t.doesNotThrow(() => arrive('a'))
})

t.test('in a full waiting room, competing tenants get equal shares', async (t) => {
  const { arriveAndWait, arrive, refused, slotOf } = admissionScene({ atOnceMax: 0, waitingMax: 12 })
  arriveAndWait(...named('a', 12))
  for (const tenant of ['b', 'c', 'd']) {
    arriveAndWait(...named(tenant, 3))
    await ticks()
  }
  t.strictSame(refused, named('a', 9), 'the oldest of the tenant with the most')
  const waiting = ['a9', 'b0', 'c0', 'd0'].map((name) => slotOf(name).tenant.waiting)
  t.strictSame(waiting, [3, 3, 3, 3])
  for (const tenant of ['a', 'b', 'c', 'd']) t.throws(() => arrive(`${tenant}x`), UNAVAILABLE, tenant)
})

t.test('a thirteenth tenant is admitted although twelve others fill the waiting room', async (t) => {
  const { arriveAndWait, arrive, refused } = admissionScene({ atOnceMax: 0, waitingMax: 64 })
  const tenants = [...'abcdefghijkl']
  for (let round = 0; round < 10; round++) {
    for (const tenant of tenants) {
      try {
        arriveAndWait(`${tenant}${round}`)
      } catch {
        // The waiting room is full, as the test wants it.
      }
    }
  }
  arrive('m')
  await ticks()
  t.equal(refused.length, 1)
})

t.test('a request frees its slot once, even if it leaves several times', async (t) => {
  const { arriveAndWait, leave, arrive, slotOf } = admissionScene({ atOnceMax: 1, waitingMax: 1 })
  arriveAndWait('a0', 'a1')
  await leave('a0', 'a0', 'a0')
  arrive('a2')
  t.equal(slotOf('a2').tenant.slots, 2)
  t.throws(() => arrive('a3'), UNAVAILABLE)
})

/** A waiting request keeps no process alive; a connection does. */
const keepAlive = (t: Test): void => {
  const connection = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(connection))
}

t.test('a request that has waited too long is refused', async (t) => {
  keepAlive(t)
  const { arriveAndWait, arrive, turn, leave, working, refused } = admissionScene({
    atOnceMax: 1,
    waitMsMax: 1,
  })
  arriveAndWait('a0')
  arrive('a1')
  await turn('a1')
  t.strictSame(refused, ['a1'])
  await leave('a0')
  arriveAndWait('a2')
  await ticks()
  t.strictSame(working, ['a0', 'a2'])
})

t.test('a request for a large answer waits longer than others before it is refused', async (t) => {
  keepAlive(t)
  const { ask, arrive, turn, working, refused, leave } = admissionScene({ atOnceMax: 1, waitMsMax: 100 })
  ask(100, 'a0', 'a1')
  arrive('a2')
  await turn('a2')
  t.strictSame(refused, ['a2'])
  await leave('a0')
  t.strictSame(working, ['a0', 'a1'])
})

t.test('bodies: a tenant alone may use all bytes, and is refused beyond them', async (t) => {
  const { arrive, hold, slotOf, leave } = admissionScene()
  for (const name of ['a0', 'a1', 'a2']) arrive(name)
  hold(slotOf('a0'), 600)
  hold(slotOf('a1'), 400)
  t.throws(() => hold(slotOf('a2'), 1), UNAVAILABLE)
  hold(slotOf('a1'), 300)
  hold(slotOf('a2'), 100)
  await leave('a0')
  arrive('a3')
  hold(slotOf('a3'), 600)
})

t.test(
  'bodies: a request that needs bytes takes them from waiting requests of the largest tenant',
  async (t) => {
    const { arrive, hold, slotOf, read, turn, refused } = admissionScene({ atOnceMax: 0 })
    for (const name of ['a0', 'a1', 'a2', 'c0', 'b0']) arrive(name)
    for (const name of ['a0', 'a1', 'a2']) hold(slotOf(name), 300)
    hold(slotOf('c0'), 100)
    for (const name of ['a2', 'c0']) void read(name)
    for (const name of ['a0', 'a1']) void turn(name)
    hold(slotOf('b0'), 400)
    await ticks()
    t.strictSame(refused, ['a2', 'a0'], 'requests that still read their body are dropped first')
    t.throws(() => hold(slotOf('a2'), 1), UNAVAILABLE, 'a dropped request holds no bytes')
  },
)

t.test('bodies: requests in progress are never dropped, and hold at most half of the bytes', async (t) => {
  const { arrive, hold, slotOf, turn, working, refused, leave } = admissionScene({ atOnceMax: 10 })
  for (const name of named('a', 4)) {
    arrive(name)
    hold(slotOf(name), 200)
    void turn(name)
  }
  await ticks()
  t.strictSame(working, ['a0', 'a1'])
  arrive('b0')
  hold(slotOf('b0'), 500)
  await ticks()
  t.strictSame(refused, ['a2', 'a3'])
  arrive('c0')
  hold(slotOf('c0'), 333)
  t.throws(() => hold(slotOf('c0'), 334), UNAVAILABLE, 'more than its share')
  void turn('b0')
  await leave('a0', 'a1')
  t.ok(working.includes('b0'), 'a body larger than half runs alone')
})

t.test('bodies: a request without a body does not wait behind one that is too large for now', async (t) => {
  const { arriveAndWait, arrive, hold, slotOf, turn, working, leave } = admissionScene({ atOnceMax: 10 })
  arrive('a0')
  hold(slotOf('a0'), 700)
  void turn('a0')
  arrive('b0')
  hold(slotOf('b0'), 300)
  void turn('b0')
  arriveAndWait('c0')
  await ticks()
  t.strictSame(working, ['a0', 'c0'])
  await leave('a0')
  t.strictSame(working, ['a0', 'c0', 'b0'])
})

t.test('bodies: a waiting request without a body overtakes one that is too large for now', async (t) => {
  const { arriveAndWait, arrive, hold, slotOf, turn, working, leave } = admissionScene({ atOnceMax: 2 })
  for (const name of ['a0', 'b0']) {
    arrive(name)
    hold(slotOf(name), 400)
  }
  void turn('a0')
  arriveAndWait('d0')
  void turn('b0')
  arriveAndWait('c0')
  await leave('d0')
  t.strictSame(working, ['a0', 'd0', 'c0'])
})

/** Random numbers, the same in every run. */
const seeded = (seed: number) => (below: number) => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((seed / 2 ** 32) * below)
}

type Pending = { resolve: () => void; reject: (why: Error) => void }
type OpenRequest = { slot: Slot; pending: Pending | null }

/** Requests of random tenants. Each waits in its steps until the test ends the step. */
const randomRequests = (
  { arrive, hold, reading, turn, leave }: ReturnType<typeof createAdmission>,
  random: (below: number) => number,
) => {
  const open = new Set<OpenRequest>()
  const tenants = new Set<Slot['tenant']>()
  let running = 0

  const step = (request: OpenRequest): Promise<void> =>
    new Promise((resolve, reject) => {
      request.pending = { resolve, reject }
    })
  const readBody = async (request: OpenRequest): Promise<void> => {
    const announcedBytes = 1 + random(BODY_BYTES_MAX)
    hold(request.slot, announcedBytes)
    await reading(request.slot, step(request))
    hold(request.slot, 1 + random(announcedBytes))
  }
  const run = async (): Promise<void> => {
    const slot = arrive('abcdef'.charAt(random(6)))
    const request: OpenRequest = { slot, pending: null }
    open.add(request)
    tenants.add(slot.tenant)
    try {
      if (random(3) > 0) await readBody(request)
      await turn(slot)
      await step(request)
    } finally {
      leave(slot)
      if (random(4) === 0) leave(slot)
      open.delete(request)
    }
  }
  return {
    tenants,
    running: () => running,
    openSlots: () => [...open].map(({ slot }) => slot).filter(({ state }) => state !== 'gone'),
    /** Starts a request. It may be refused at once or later. */
    start: () => {
      running++
      run()
        .catch(() => {})
        .finally(() => running--)
    },
    /** Ends the step of one request, sometimes with a failure. */
    advance: async () => {
      const steppable = [...open].filter(({ pending }) => pending !== null)
      const request = steppable[random(steppable.length)]
      const pending = request?.pending
      if (request) request.pending = null
      if (random(5) === 0) pending?.reject(new Error('failed'))
      else pending?.resolve()
      await ticks()
    },
  }
}
const BODY_BYTES_MAX = 150

t.test('in any order of requests and failures, the bounds hold and every request ends', async (t) => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = seeded(seed)
    const limits: Limits = {
      atOnceMax: 1 + random(4),
      waitingMax: 1 + random(12),
      waitMsMax: 60_000,
      bodyBytesMax: 100 + random(400),
    }
    const requests = randomRequests(createAdmission(limits), random)
    for (let i = 0; i < 80; i++) {
      if (random(2) === 0) requests.start()
      else await requests.advance()
      const broken = brokenBound(requests.openSlots(), limits)
      if (broken !== null) t.fail(`seed ${seed}: ${broken}`)
    }
    for (let i = 0; i < 500 && requests.running() > 0; i++) await requests.advance()
    t.equal(requests.running(), 0, `seed ${seed}: every request ends`)
    for (const { slots, waiting, bytes, waitingBytes, reading, ready } of requests.tenants) {
      t.strictSame([slots, waiting, bytes, waitingBytes, reading.size, ready.size], [0, 0, 0, 0, 0, 0])
    }
  }
})

const brokenBound = (slots: readonly Slot[], limits: Limits): string | null => {
  const inProgress = slots.filter(({ state }) => state === 'inProgress').length
  const waiting = slots.length - inProgress
  const bytes = slots.reduce((sum, slot) => sum + slot.bytes, 0)
  if (inProgress > limits.atOnceMax) return `${inProgress} in progress`
  if (waiting > limits.waitingMax) return `${waiting} waiting`
  if (bytes > 1.5 * limits.bodyBytesMax + BODY_BYTES_MAX) return `${bytes} bytes`
  return null
}

t.test('a batch that is weighed before its turn takes as many slots once it begins', async (t) => {
  const { arrive, weigh, turn, arriveAndWait, leave, working, slotOf } = admissionScene({ atOnceMax: 8 })
  arrive('a0')
  weigh(slotOf('a0'), 100)
  void turn('a0')
  arriveAndWait('b0')
  await ticks()
  t.strictSame(working, ['a0'], 'it begins while one slot is free, and fills all')
  await leave('a0')
  t.strictSame(working, ['a0', 'b0'])
})

t.test(
  'a batch counts as its items in progress, and other tenants take turns between its parts',
  async (t) => {
    const { arriveAndWait, leave, working, nextTurn, slotOf } = admissionScene({ atOnceMax: 4 })
    arriveAndWait('a0', 'a1', 'b0')
    await ticks()
    const next = async (name: string, items: number) => {
      await nextTurn(slotOf(name), items)
      working.push(`${name} ${items}`)
    }
    void next('a0', 3)
    await ticks()
    t.strictSame(working.splice(0), ['a0', 'a1', 'b0', 'a0 3'], 'it begins while one slot is free')
    arriveAndWait('b1', 'b2')
    await ticks()
    t.strictSame(working.splice(0), [], 'five items are in progress')
    void next('a0', 100)
    await ticks()
    t.strictSame(working.splice(0), ['b1', 'b2'], 'another tenant takes its turn first')
    await leave('a1')
    t.strictSame(working.splice(0), ['a0 100'])
    arriveAndWait('b3')
    await leave('b0', 'b1', 'b2')
    t.strictSame(working.splice(0), [], 'a hundred items fill every slot')
    await leave('a0')
    t.strictSame(working, ['b3'])
  },
)

t.test('a batch in progress continues before a new request of its tenant starts', async (t) => {
  const { arriveAndWait, leave, working, nextTurn, slotOf } = admissionScene({ atOnceMax: 2 })
  arriveAndWait('a0', 'a1', 'a2', 'b0')
  await ticks()
  const next = nextTurn(slotOf('a0'), 2)?.then(() => working.push('a0 again'))
  arriveAndWait('a3')
  await ticks()
  t.strictSame(working, ['a0', 'a1', 'b0'])
  await leave('a1', 'b0')
  await next
  t.strictSame(working, ['a0', 'a1', 'b0', 'a0 again'])
  await leave('a0')
  t.strictSame(working.slice(4), ['a2', 'a3'])
})

t.test('waiting batches are dropped before a tenant with fewer requests is refused', async (t) => {
  const { arriveAndWait, arrive, refused, nextTurn, slotOf } = admissionScene({ atOnceMax: 3, waitingMax: 2 })
  arriveAndWait(...named('a', 3))
  await ticks()
  void nextTurn(slotOf('a0'), 3)
  const dropped = nextTurn(slotOf('a1'), 3)?.catch(() => refused.push('a1'))
  void nextTurn(slotOf('a2'), 3)?.catch(() => refused.push('a2'))
  arrive('b0')
  await dropped
  t.strictSame(refused, ['a1'])
  t.throws(() => nextTurn(slotOf('a1'), 2), UNAVAILABLE)
})

t.test('large answers are made within half of the bytes, and a tenant leaves room for another', async (t) => {
  // Half of 1,000 bytes: a tenant alone makes four answers of 100 bytes.
  const { ask, leave, working } = admissionScene({ atOnceMax: 100 })
  ask(100, ...named('a', 10))
  ask(100, 'b0', 'b1')
  await ticks()
  t.strictSame(working, [...named('a', 4), 'b0'])
  await leave('a0')
  t.strictSame(working.slice(5), ['b1'], 'the tenant that makes the fewest goes first')
  await leave('b0', 'b1')
  t.strictSame(working.slice(6), ['a4'])
})

t.test('a large answer counts once, however many requests share it', async (t) => {
  // A tenant alone makes four answers of 100 bytes.
  const { ask, askForOne, leave, working } = admissionScene({ atOnceMax: 100 })
  askForOne(100, 'the list', ...named('a', 10))
  ask(100, 'a-first', 'a-second', 'a-third', 'a-fourth')
  await ticks()
  t.strictSame(working, [...named('a', 10), 'a-first', 'a-second', 'a-third'])
  await leave(...named('a', 9))
  t.notOk(working.includes('a-fourth'), 'the last of them still holds the answer')
  await leave('a9')
  t.ok(working.includes('a-fourth'))
})

t.test('nothing waits for the answers of others but large answers', async (t) => {
  const { ask, arriveAndWait, hold, slotOf, arrive, turn, working } = admissionScene({ atOnceMax: 100 })
  ask(100, ...named('a', 10))
  arriveAndWait('a-small', 'b-small')
  arrive('b-body')
  hold(slotOf('b-body'), 100)
  void turn('b-body')
  await ticks()
  t.strictSame(working, [...named('a', 4), 'a-small', 'b-small', 'b-body'])
})

t.test('an answer that is larger than all the room is made alone', async (t) => {
  const { ask, leave, working, refused } = admissionScene({ atOnceMax: 100 })
  ask(5_000, 'a0', 'b0')
  await ticks()
  t.strictSame(working, ['a0'])
  await leave('a0')
  t.strictSame(working, ['a0', 'b0'])
  t.strictSame(refused, [])
})
