import t, { type Test } from 'tap'
import { workInBackground } from '../../src/adapters/background-work.ts'
import { createListeners } from '../../src/adapters/stores/listeners.ts'
import { ticks } from '../support/ticks.ts'

const NEVER_MS = 2 ** 30
type Round = {
  readonly stop: AbortSignal
  readonly woken: Promise<void>
  readonly onError: (error: unknown) => void
}
/** A job whose steps are `works`, one after the other; then there is nothing to do. */
const setUp = (
  t: Test,
  works: ((round: Round) => boolean | Promise<boolean>)[] = [],
  pollMs = NEVER_MS,
  restMs = 1,
) => {
  const rounds: AbortSignal[] = []
  const errors: unknown[] = []
  let steps = 0
  const listeners = createListeners()
  let watching = 0
  const watch: typeof listeners.add = (listener) => {
    watching++
    const remove = listeners.add(listener)
    return () => {
      watching--
      remove()
    }
  }
  const worker = workInBackground(
    {
      store: { watch },
      onError: (error) => errors.push(error),
      onStep: () => {
        steps++
      },
    },
    [
      {
        signal: 'events',
        pollMs,
        restMs,
        createStep: (onError) => async (stop, woken) => {
          rounds.push(stop)
          return (await works.shift()?.({ stop, woken, onError })) ?? false
        },
      },
    ],
  )
  t.teardown(worker.stop)
  const { emit } = listeners
  return { ...worker, rounds, errors, emit, steps: () => steps, watching: () => watching }
}
const held = () => {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  return { work: () => promise, letGo: resolve }
}
const resolving = (promised: PromiseWithResolvers<void>) => () => {
  promised.resolve()
  return false
}

t.test('it looks for work when it starts, and goes on while there is some', async (t) => {
  const lastStep = Promise.withResolvers<void>()
  const { start, rounds } = setUp(t, [() => true, () => true, resolving(lastStep)])
  start()
  await lastStep.promise
  t.equal(rounds.length, 3)
})

t.test('a step knows whether it is asked to look, or was only handed work', async (t) => {
  const asked: boolean[] = []
  let wake = () => {}
  const step =
    () =>
    async (_stop: AbortSignal, _woken: Promise<void>, isAsked = true) => {
      asked.push(isAsked)
      return false
    }
  const job = { pollMs: NEVER_MS, restMs: 1, signal: 'events' as const, createStep: step }
  const registerWake = (wakeUp: () => void) => {
    wake = wakeUp
  }
  const worker = workInBackground({ store: { watch: () => () => {} } }, [{ ...job, registerWake }])
  t.teardown(worker.stop)
  worker.start()
  await ticks()
  for (const act of [wake, worker.wake]) {
    act()
    await ticks()
    await ticks()
  }
  t.strictSame(asked, [true, false, true])
})

t.test('a wake makes it look again', async (t) => {
  const { start, wake, rounds } = setUp(t)
  start()
  await ticks()
  wake()
  await ticks()
  t.equal(rounds.length, 2)
})

t.test(
  'a wake during a step that finds nothing is not lost, and makes no two steps run at once',
  async (t) => {
    const { work, letGo } = held()
    const again = Promise.withResolvers<void>()
    const { start, wake, rounds } = setUp(t, [work, resolving(again)])
    start()
    wake()
    wake()
    await ticks()
    t.equal(rounds.length, 1)
    letGo(false)
    await again.promise
    t.equal(rounds.length, 2)
  },
)

t.test('a wake reaches a step that waits for slow calls', async (t) => {
  const lastStep = Promise.withResolvers<void>()
  const { start, wake, rounds } = setUp(t, [({ woken }) => woken.then(() => true), resolving(lastStep)])
  start()
  await ticks()
  wake()
  await lastStep.promise
  t.equal(rounds.length, 2)
})

t.test('so does the poll', async (t) => {
  const lastStep = Promise.withResolvers<void>()
  const { start, rounds } = setUp(t, [({ woken }) => woken.then(() => true), resolving(lastStep)], 1)
  start()
  await lastStep.promise
  t.equal(rounds.length, 2)
})

t.test('it rests after a step, even if it is woken, and a stop ends the rest', async (t) => {
  const { start, wake, stop, rounds } = setUp(t, [() => true], NEVER_MS, NEVER_MS)
  start()
  await ticks()
  wake()
  await ticks()
  t.equal(rounds.length, 1)
  await stop()
})

t.test('unasked, it looks now and then', async (t) => {
  const lastStep = Promise.withResolvers<void>()
  const { start, rounds } = setUp(t, [() => false, () => false, resolving(lastStep)], 1)
  start()
  await lastStep.promise
  t.equal(rounds.length, 3)
})

t.test('an error is reported, and it goes on', async (t) => {
  const bug = new Error('a bug')
  const again = Promise.withResolvers<void>()
  const { start, errors, steps } = setUp(t, [() => Promise.reject(bug), resolving(again)], 1)
  start()
  await again.promise
  t.strictSame(errors, [bug])
  t.equal(steps(), 0)
  await ticks()
  t.equal(steps(), 1, 'a step without an error is reported too')
})

t.test('a stop aborts what is in progress, waits for it, and starts nothing afterwards', async (t) => {
  const { work, letGo } = held()
  const { start, stop, wake, rounds } = setUp(t, [work])
  start()
  wake()
  let stopped = false
  const stopping = stop().then(() => {
    stopped = true
  })
  await ticks()
  t.equal(rounds[0]?.aborted, true)
  t.equal(stopped, false)
  letGo(true)
  await stopping
  const last = rounds.length
  wake()
  await ticks()
  t.equal(rounds.length, last)
})

t.test('a stop saves what was left in progress by a step that failed', async (t) => {
  const saved = Promise.withResolvers<void>()
  const { start, stop, steps } = setUp(t, [() => Promise.reject(new Error('away')), resolving(saved)])
  start()
  await ticks()
  await stop()
  await t.resolves(saved.promise)
  t.equal(steps(), 0, 'which does not mean that the work goes on')
})

t.test('one that never started stops too', async (t) => {
  const { stop, start, rounds } = setUp(t)
  await stop()
  start()
  await ticks()
  t.ok(rounds.every(({ aborted }) => aborted))
})

t.test('an onError that throws ends neither the work nor its stop', async (t) => {
  const printed = t.capture(console, 'error', () => {})
  const onError = () => {
    throw new Error('a bug of the hook')
  }
  const createStep = () => () => Promise.reject(new Error('away'))
  const worker = workInBackground({ store: { watch: createListeners().add }, onError }, [
    { signal: 'events', pollMs: NEVER_MS, restMs: 1, createStep },
  ])
  worker.start()
  await ticks()
  worker.wake()
  await ticks()
  await worker.stop()
  t.equal(printed().length, 3)
})

t.test('only its own signal wakes it, however often it is started', async (t) => {
  const { start, emit, rounds, watching } = setUp(t)
  for (let time = 0; time < 3; time++) start()
  t.equal(watching(), 1)
  await ticks()
  emit('keys')
  await ticks()
  t.equal(rounds.length, 1)
  emit('events')
  await ticks()
  t.equal(rounds.length, 2)
})

t.test('a stop removes its listener, and a start after that adds none', async (t) => {
  const { start, stop, watching } = setUp(t)
  start()
  await stop()
  t.equal(watching(), 0)
  start()
  t.equal(watching(), 0)
})

t.test('two stops at once both wait for the same last step', async (t) => {
  const { work, letGo } = held()
  const { start, stop, rounds } = setUp(t, [() => false, work])
  start()
  await ticks()
  const ended: string[] = []
  const stops = [stop().then(() => ended.push('one')), stop().then(() => ended.push('two'))]
  await ticks()
  t.strictSame(ended, [])
  letGo(false)
  await Promise.all(stops)
  t.equal(rounds.length, 2)
})

t.test('a step that reported an error is not reported as a success', async (t) => {
  const fail = ({ onError }: Round) => {
    onError(new Error('away'))
    return false
  }
  const { start, wake, errors, steps } = setUp(t, [fail, fail])
  start()
  await ticks()
  wake()
  await ticks()
  t.equal(errors.length, 2)
  t.equal(steps(), 0)
  wake()
  await ticks()
  t.equal(steps(), 1)
})

t.test('nor is a step of one job while another job is failing', async (t) => {
  const outcomes: (Error | null)[] = [new Error('away'), new Error('away'), null]
  const done: string[] = []
  const failing = (onError: (error: unknown) => void) => async () => {
    const outcome = outcomes.shift()
    if (outcome) onError(outcome)
    return false
  }
  const working = () => async () => {
    done.push('step')
    return false
  }
  const worker = workInBackground(
    {
      store: { watch: createListeners().add },
      onError: () => done.push('error'),
      onStep: () => done.push('works'),
    },
    [failing, working].map((createStep) => ({
      signal: 'events',
      pollMs: NEVER_MS,
      restMs: 1,
      createStep,
    })),
  )
  t.teardown(worker.stop)
  worker.start()
  await ticks()
  worker.wake()
  await ticks()
  t.strictSame(done, ['error', 'step', 'error', 'step'])
  worker.wake()
  await ticks()
  t.ok(done.includes('works'))
})
