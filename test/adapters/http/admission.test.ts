import t from 'tap'
import { createAdmission, type Slot } from '../../../src/adapters/http/admission.ts'

type Limits = Parameters<typeof createAdmission>[0]
const LIMITS = { atOnceMax: 4, waitingMax: 100, waitMsMax: 60_000, bodyBytesMax: 1_000 }

/** Requests of tenants by name, such as `a1`; what happened to each, in order. */
const setting = (limits: Partial<Limits> = {}) => {
  const admission = createAdmission({ ...LIMITS, ...limits })
  const working: string[] = []
  const refused: string[] = []
  const slots = new Map<string, Slot>()
  const slotOf = (name: string) => slots.get(name) as Slot
  const arrive = (name: string) => slots.set(name, admission.arrive(name.slice(0, 1)))
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
    /** Arrives, and waits for its turn if it must. */
    come: (...names: string[]) => {
      for (const name of names) {
        arrive(name)
        void turn(name)
      }
    },
    turn,
    read: (name: string) =>
      admission.reading(slotOf(name), new Promise(() => {})).catch(() => refused.push(name)),
    go: async (...names: string[]) => {
      for (const name of names) admission.leave(slotOf(name))
      await settled()
    },
  }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))
const UNAVAILABLE = { kind: 'unavailable', facts: { retryAfterS: 1 } } as never
const named = (tenant: string, count: number) => Array.from({ length: count }, (_, i) => `${tenant}${i}`)

t.test('a tenant alone uses all of the room, and whoever finds room does not wait', async (t) => {
  const { come, working } = setting()
  come(...named('a', 4))
  await settled()
  t.strictSame(working, named('a', 4))
})

t.test('who waits begins when others leave, in order, and tenants take turns', async (t) => {
  const { come, go, working } = setting({ atOnceMax: 2 })
  come(...named('a', 6), ...named('b', 3))
  await go('a0')
  await go('a1')
  await go('a2')
  await go('b0')
  await go('a3', 'b1')
  t.strictSame(working, ['a0', 'a1', 'b0', 'a2', 'a3', 'b1', 'a4', 'b2'])
})

t.test('a tenant with slow requests does not take the room of one with fast requests', async (t) => {
  const { come, go, working } = setting({ atOnceMax: 4 })
  come(...named('slow', 20))
  for (let i = 0; i < 10; i++) come(`fast${i}`)
  await go('slow0')
  for (let i = 0; i < 9; i++) await go(`fast${i}`)
  t.ok(working.includes('fast9'), working.join())
  await go('slow1')
  t.equal(working.at(-1), 'slow4', 'room that nobody else wants')
})

t.test('one tenant that floods costs another at most the wait for one turn', async (t) => {
  const { come, go, working } = setting({ waitingMax: 5_000 })
  come(...named('loud', 1_000), 'quiet')
  await go('loud0')
  await go('loud1')
  t.ok(working.includes('quiet'), working.join())
})

t.test('a tenant alone may fill the waiting room, and is refused past it', async (t) => {
  const { come, arrive, go } = setting({ atOnceMax: 1, waitingMax: 10 })
  come(...named('a', 11))
  t.throws(() => arrive('a'), UNAVAILABLE)
  await go('a0')
  t.doesNotThrow(() => arrive('a'))
})

t.test('in a full waiting room competing tenants get equal parts, one after another', async (t) => {
  const { come, arrive, refused, slotOf } = setting({ atOnceMax: 0, waitingMax: 12 })
  come(...named('a', 12))
  for (const tenant of ['b', 'c', 'd']) {
    come(...named(tenant, 3))
    await settled()
  }
  t.strictSame(refused, named('a', 9), 'the oldest of the tenant that has most')
  const waiting = ['a9', 'b0', 'c0', 'd0'].map((name) => slotOf(name).tenant.waiting)
  t.strictSame(waiting, [3, 3, 3, 3])
  for (const tenant of ['a', 'b', 'c', 'd']) t.throws(() => arrive(`${tenant}x`), UNAVAILABLE, tenant)
})

t.test('the thirteenth tenant is let in, however much twelve others hold', async (t) => {
  const { come, arrive, refused } = setting({ atOnceMax: 0, waitingMax: 64 })
  const tenants = [...'abcdefghijkl']
  for (let round = 0; round < 10; round++)
    for (const tenant of tenants) {
      try {
        come(`${tenant}${round}`)
      } catch {}
    }
  arrive('m')
  await settled()
  t.equal(refused.length, 1)
})

t.test('a request that has left frees its room, once', async (t) => {
  const { come, go, arrive, slotOf } = setting({ atOnceMax: 1, waitingMax: 1 })
  come('a0', 'a1')
  await go('a0', 'a0', 'a0')
  arrive('a2')
  t.equal(slotOf('a2').tenant.slots, 2)
  t.throws(() => arrive('a3'), UNAVAILABLE)
})

t.test('who has waited too long is refused, and the rest goes on', async (t) => {
  // A waiting request keeps no process alive; a connection does.
  const connection = setInterval(() => {}, 1_000)
  t.teardown(() => clearInterval(connection))
  const { come, arrive, turn, go, working, refused } = setting({ atOnceMax: 1, waitMsMax: 1 })
  come('a0')
  arrive('a1')
  await turn('a1')
  t.strictSame(refused, ['a1'])
  await go('a0')
  come('a2')
  await settled()
  t.strictSame(working, ['a0', 'a2'])
})

t.test('bodies: a tenant alone may hold all bytes, and is refused past them', async (t) => {
  const { arrive, hold, slotOf, go } = setting()
  for (const name of ['a0', 'a1', 'a2']) arrive(name)
  hold(slotOf('a0'), 600)
  hold(slotOf('a1'), 400)
  t.throws(() => hold(slotOf('a2'), 1), UNAVAILABLE)
  hold(slotOf('a1'), 300)
  hold(slotOf('a2'), 100)
  await go('a0')
  arrive('a3')
  hold(slotOf('a3'), 600)
})

t.test(
  'bodies: who needs room gets that of requests that wait, from the tenant that holds most',
  async (t) => {
    const { arrive, hold, slotOf, read, turn, refused } = setting({ atOnceMax: 0 })
    for (const name of ['a0', 'a1', 'a2', 'c0', 'b0']) arrive(name)
    for (const name of ['a0', 'a1', 'a2']) hold(slotOf(name), 300)
    hold(slotOf('c0'), 100)
    for (const name of ['a2', 'c0']) void read(name)
    for (const name of ['a0', 'a1']) void turn(name)
    hold(slotOf('b0'), 400)
    await settled()
    t.strictSame(refused, ['a2', 'a0'], 'those that still read come first')
    t.throws(() => hold(slotOf('a2'), 1), UNAVAILABLE, 'a dropped request holds nothing any more')
  },
)

t.test('bodies: what is worked on cannot be dropped, and never takes more than half', async (t) => {
  const { arrive, hold, slotOf, turn, working, refused, go } = setting({ atOnceMax: 10 })
  for (const name of named('a', 4)) {
    arrive(name)
    hold(slotOf(name), 250)
    void turn(name)
  }
  await settled()
  t.strictSame(working, ['a0', 'a1'])
  arrive('b0')
  hold(slotOf('b0'), 500)
  await settled()
  t.strictSame(refused, ['a2', 'a3'])
  arrive('c0')
  hold(slotOf('c0'), 333)
  t.throws(() => hold(slotOf('c0'), 334), UNAVAILABLE, 'more than its part')
  void turn('b0')
  await go('a0', 'a1')
  t.ok(working.includes('b0'), 'a body larger than half goes alone')
})

t.test('bodies: a request without a body does not wait for one that is too large for now', async (t) => {
  const { come, arrive, hold, slotOf, turn, working, go } = setting({ atOnceMax: 10 })
  for (const [name, bytes] of [
    ['a0', 700],
    ['b0', 300],
  ] as const) {
    arrive(name)
    hold(slotOf(name), bytes)
    void turn(name)
  }
  come('c0')
  await settled()
  t.strictSame(working, ['a0', 'c0'])
  await go('a0')
  t.strictSame(working, ['a0', 'c0', 'b0'])
})

t.test(
  'bodies: a request without a body that waits for a turn overtakes one that is too large',
  async (t) => {
    const { come, arrive, hold, slotOf, turn, working, go } = setting({ atOnceMax: 2 })
    for (const name of ['a0', 'b0']) {
      arrive(name)
      hold(slotOf(name), 400)
    }
    void turn('a0')
    come('d0')
    void turn('b0')
    come('c0')
    await go('d0')
    t.strictSame(working, ['a0', 'd0', 'c0'])
  },
)

/** A sequence that is the same in every run. */
const seeded = (seed: number) => (below: number) => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((seed / 2 ** 32) * below)
}

t.test('in any order of requests and failures bounds hold, and nothing is kept or left open', async (t) => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = seeded(seed)
    const limits = { atOnceMax: 1 + random(4), waitingMax: 1 + random(12), waitMsMax: 60_000 }
    const bodyBytesMax = 100 + random(400)
    const admission = createAdmission({ ...limits, bodyBytesMax })
    const open = new Map<Slot, { working: boolean; fail: (() => void)[] }>()
    let ended = 0
    const tenantsSeen = new Set<Slot['tenant']>()

    const request = async (): Promise<void> => {
      const slot = admission.arrive('abcdef'.charAt(random(6)))
      const state = { working: false, fail: [] as (() => void)[] }
      open.set(slot, state)
      tenantsSeen.add(slot.tenant)
      const step = <Value>(value: Value) =>
        new Promise<Value>((resolve, reject) => {
          state.fail = [() => resolve(value), () => reject(new Error('failed'))]
        })
      try {
        if (random(3) > 0) {
          const bytes = 1 + random(150)
          admission.hold(slot, bytes)
          await admission.reading(slot, step(null))
          admission.hold(slot, 1 + random(bytes))
        }
        await admission.turn(slot)
        state.working = true
        await step(null)
      } finally {
        admission.leave(slot)
        if (random(4) === 0) admission.leave(slot)
        open.delete(slot)
      }
    }
    const mustHold = () => {
      const slots = [...open.keys()].filter(({ state }) => state !== 'gone')
      const bytes = slots.reduce((sum, slot) => sum + slot.bytes, 0)
      const working = slots.filter(({ state }) => state === 'working').length
      if (
        working > limits.atOnceMax ||
        slots.length - working > limits.waitingMax ||
        bytes > 1.5 * bodyBytesMax + 150
      )
        t.fail(`seed ${seed}: ${working} working, ${slots.length - working} waiting, ${bytes} bytes`)
    }
    const requests: Promise<void>[] = []
    const advance = async () => {
      const states = [...open.values()].filter(({ fail }) => fail.length > 0)
      const state = states[random(states.length)]
      const [resolve, reject] = state?.fail.splice(0) ?? []
      if (random(5) === 0) reject?.()
      else resolve?.()
      await settled()
    }
    for (let i = 0; i < 80; i++) {
      if (random(2) === 0)
        requests.push(
          request()
            .finally(() => ended++)
            .catch(() => {}),
        )
      else await advance()
      mustHold()
    }
    for (let i = 0; i < 500 && ended < requests.length; i++) await advance()
    t.equal(ended, requests.length, `seed ${seed}: every request ends`)
    for (const { slots, waiting, bytes, waitingBytes, reading, ready } of tenantsSeen)
      t.strictSame([slots, waiting, bytes, waitingBytes, reading.size, ready.size], [0, 0, 0, 0, 0, 0])
  }
})

t.test(
  'a batch counts as its items while they are worked on, and others take their turns in between',
  async (t) => {
    const { come, go, working, nextTurn, slotOf } = setting({ atOnceMax: 4 })
    come('a0', 'a1', 'b0')
    await settled()
    const next = async (name: string, items: number) => {
      await nextTurn(slotOf(name), items)
      working.push(`${name} ${items}`)
    }
    void next('a0', 3)
    await settled()
    t.strictSame(working.splice(0), ['a0', 'a1', 'b0', 'a0 3'], 'it begins while there is room for one')
    come('b1', 'b2')
    await settled()
    t.strictSame(working.splice(0), [], 'five are worked on')
    void next('a0', 100)
    await settled()
    t.strictSame(working.splice(0), ['b1', 'b2'], 'another tenant has its turn first')
    await go('a1')
    t.strictSame(working.splice(0), ['a0 100'])
    come('b3')
    await go('b0', 'b1', 'b2')
    t.strictSame(working.splice(0), [], 'a hundred fill the room alone')
    await go('a0')
    t.strictSame(working, ['b3'])
  },
)

t.test('a batch that was begun goes on before a new request of its tenant', async (t) => {
  const { come, go, working, nextTurn, slotOf } = setting({ atOnceMax: 2 })
  come('a0', 'a1', 'a2', 'b0')
  await settled()
  const next = nextTurn(slotOf('a0'), 2)?.then(() => working.push('a0 again'))
  come('a3')
  await settled()
  t.strictSame(working, ['a0', 'a1', 'b0'])
  await go('a1', 'b0')
  await next
  t.strictSame(working, ['a0', 'a1', 'b0', 'a0 again'])
  await go('a0')
  t.strictSame(working.slice(4), ['a2', 'a3'])
})

t.test(
  'batches that wait for their next turns are dropped before a tenant that holds less is refused',
  async (t) => {
    const { come, arrive, refused, nextTurn, slotOf } = setting({ atOnceMax: 3, waitingMax: 2 })
    come(...named('a', 3))
    await settled()
    void nextTurn(slotOf('a0'), 3)
    const [dropped] = ['a1', 'a2'].map((name) => nextTurn(slotOf(name), 3)?.catch(() => refused.push(name)))
    arrive('b0')
    await dropped
    t.strictSame(refused, ['a1'])
    t.throws(() => nextTurn(slotOf('a1'), 2), UNAVAILABLE)
  },
)
