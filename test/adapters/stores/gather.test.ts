import { AsyncLocalStorage } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { ClaimRules } from '../../../src/adapters/stores/claims.ts'
import { type GatherOptions, gather } from '../../../src/adapters/stores/gather.ts'
import { DomainFailure } from '../../../src/core/engine/failures.ts'
import type { Outcome } from '../../../src/core/engine/outcome.ts'
import { ticks } from '../../support/ticks.ts'

type Options = GatherOptions<string>
type Run = (inputs: readonly string[]) => Promise<readonly Outcome<string>[]>
const OPTIONS: Options = { listLengthMax: 100, listWeightMax: 100, listsInFlightMax: 1 }
const upper: Run = async (inputs) => inputs.map((input) => input.toUpperCase())
const unavailable = new DomainFailure('unavailable', 'Too many requests are waiting.', { retryAfterS: 1 })

/** Gathers, and keeps the lists that were run. */
const setUp = (run: Run = upper, options: Partial<Options> = {}, claims?: ClaimRules<string, string>) => {
  const lists: string[][] = []
  const call = gather<string, string>(
    (inputs) => {
      lists.push([...inputs])
      return run(inputs)
    },
    { ...OPTIONS, ...options },
    claims,
  )
  return { call, lists }
}
/** A run that waits to be let go, list by list. */
const heldRun = () => {
  const held: (() => void)[] = []
  const run: Run = async (inputs) => {
    await new Promise<void>((resolve) => held.push(resolve))
    return upper(inputs)
  }
  return { run, letGo: () => held.shift()?.() }
}

t.test('calls that arrive together become one list, and each gets its own answer', async (t) => {
  const { call, lists } = setUp()
  t.strictSame(await Promise.all(['a', 'b', 'c'].map(call)), ['A', 'B', 'C'])
  t.strictSame(lists, [['a', 'b', 'c']])
})

t.test('a caller alone waits for nobody', async (t) => {
  const { call, lists } = setUp()
  const answer = call('a')
  await ticks(3)
  t.strictSame(lists, [['a']])
  t.equal(await answer, 'A')
})

t.test('while calls come one at a time, each starts before the tick ends', async (t) => {
  const { call, lists } = setUp()
  await call('a')
  await ticks(3)
  const answer = call('b')
  await Promise.resolve()
  t.strictSame(lists, [['a'], ['b']])
  await answer
  await ticks(3)
  t.strictSame(await Promise.all(['c', 'd'].map(call)), ['C', 'D'])
  t.strictSame(lists.slice(2), [['c', 'd']], 'calls of one run still share a list')
  const later = call('e')
  await Promise.resolve()
  t.equal(lists.length, 3, 'after a list of several, a call waits for others of its tick')
  t.equal(await later, 'E')
})

t.test('calls of one tick share a list, though the first of them was answered before', async (t) => {
  const { call, lists } = setUp()
  await call('a')
  await ticks(3)
  await call('b')
  const answer = call('c')
  await Promise.resolve()
  t.strictSame(await Promise.all([answer, call('d')]), ['C', 'D'])
  t.strictSame(lists, [['a'], ['b'], ['c', 'd']])
})

t.test('lists that may start together share what waits, unless it is little', async (t) => {
  const { run } = heldRun()
  const little = setUp(run, { listsInFlightMax: 2, unsharedMax: 3 })
  for (const each of ['a', 'b', 'c']) void little.call(each)
  await ticks(3)
  t.strictSame(little.lists, [['a', 'b', 'c']])
  const much = setUp(run, { listsInFlightMax: 2, unsharedMax: 3 })
  for (const each of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) void much.call(each)
  await ticks(3)
  t.strictSame(much.lists, [
    ['a', 'b', 'c', 'd'],
    ['e', 'f', 'g', 'h'],
  ])
  const none = setUp(run, { listsInFlightMax: 2 })
  for (const each of ['a', 'b', 'c', 'd', 'e']) void none.call(each)
  await ticks(3)
  t.strictSame(none.lists, [['a', 'b', 'c', 'd', 'e']])
})

t.test('while a list is in flight the next one grows', async (t) => {
  const { run, letGo } = heldRun()
  const { call, lists } = setUp(run)
  const answers = [call('a')]
  await ticks(3)
  answers.push(call('b'))
  await ticks(3)
  answers.push(call('c'))
  await ticks(3)
  t.strictSame(lists, [['a']])
  letGo()
  await answers[0]
  await ticks(3)
  t.strictSame(lists, [['a'], ['b', 'c']])
  letGo()
  t.strictSame(await Promise.all(answers), ['A', 'B', 'C'])
})

t.test('as many lists are in flight as allowed', async (t) => {
  const { run, letGo } = heldRun()
  const { call, lists } = setUp(run, { listsInFlightMax: 2 })
  const answers: Promise<string>[] = []
  for (const input of ['a', 'b', 'c']) {
    answers.push(call(input))
    await ticks(3)
  }
  t.strictSame(lists, [['a'], ['b']])
  letGo()
  await answers[0]
  await ticks(3)
  t.strictSame(lists, [['a'], ['b'], ['c']])
  letGo()
  letGo()
  t.strictSame(await Promise.all(answers), ['A', 'B', 'C'])
})

/** `a1` is of group a. */
const groupOf = (input: string) => input[0] ?? ''

t.test('calls that do not fit into one list take turns by group', async (t) => {
  const { run, letGo } = heldRun()
  const { call, lists } = setUp(run, { groupOf, listLengthMax: 2 })
  const answers = Promise.all(['a1', 'a2', 'a3', 'a4', 'b1', 'c1'].map(call))
  for (let list = 0; list < 3; list++) {
    await ticks(3)
    letGo()
  }
  t.strictSame(await answers, ['A1', 'A2', 'A3', 'A4', 'B1', 'C1'])
  t.strictSame(lists, [
    ['a1', 'b1'],
    ['c1', 'a2'],
    ['a3', 'a4'],
  ])
})

t.test('a list is no longer than may be, and nobody is lost', async (t) => {
  const { call, lists } = setUp(upper, { listLengthMax: 2 })
  t.strictSame(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(call)), ['A', 'B', 'C', 'D', 'E'])
  t.strictSame(lists, [['a', 'b'], ['c', 'd'], ['e']])
})

t.test('a no to one member goes to its caller alone', async (t) => {
  const no = new DomainFailure('page_not_found', 'no')
  const { call, lists } = setUp(async (inputs) => inputs.map((input) => (input === 'b' ? no : input)))
  const answers = await Promise.allSettled(['a', 'b', 'c'].map(call))
  t.match(answers, [{ value: 'a' }, { reason: no }, { value: 'c' }])
  t.equal(lists.length, 1)
})

t.test('when a list fails its halves are tried, so nobody fails for a neighbour', async (t) => {
  const bug = new Error('a bug')
  const { call, lists } = setUp((inputs) => (inputs.includes('b') ? Promise.reject(bug) : upper(inputs)))
  const answers = await Promise.allSettled(['a', 'b', 'c'].map(call))
  t.match(answers, [{ value: 'A' }, { reason: bug }, { value: 'C' }])
  t.strictSame(lists, [['a', 'b', 'c'], ['a', 'b'], ['a'], ['b'], ['c']])
})

t.test(
  'of a long list only the bad member fails, after few runs, and each other is answered once',
  async (t) => {
    const bug = new Error('a bug')
    const inputs = Array.from({ length: 100 }, (_, i) => `i${i}`)
    for (const bad of ['i0', 'i37', 'i99']) {
      const answered: string[] = []
      const { call, lists } = setUp(async (list) => {
        if (list.includes(bad)) throw bug
        answered.push(...list)
        return upper(list)
      })
      const answers = await Promise.allSettled(inputs.map(call))
      t.strictSame(
        answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason)),
        inputs.map((input) => (input === bad ? bug : input.toUpperCase())),
      )
      t.strictSame(
        answered,
        inputs.filter((input) => input !== bad),
        'each once, in order',
      )
      t.ok(lists.length <= 1 + 2 * Math.ceil(Math.log2(inputs.length)), `${lists.length} runs`)
    }
  },
)

t.test('two bad members of one list fail, each with its own reason', async (t) => {
  const { call } = setUp(async (list) => {
    const bad = list.find((input) => input.startsWith('bad'))
    if (bad) throw new Error(bad)
    return upper(list)
  })
  const answers = await Promise.allSettled(['bad1', 'a', 'b', 'bad2', 'c'].map(call))
  t.match(answers, [
    { reason: { message: 'bad1' } },
    { value: 'A' },
    { value: 'B' },
    { reason: { message: 'bad2' } },
    { value: 'C' },
  ])
})

t.test('a half that fails as unavailable ends the rest of its list, which is not tried', async (t) => {
  const { call, lists } = setUp(async (list) => {
    if (list.length > 2) throw new Error('a bug')
    if (list.includes('c')) throw unavailable
    return upper(list)
  })
  const answers = await Promise.allSettled(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(call))
  t.match(answers, [
    ...[{ value: 'A' }, { value: 'B' }],
    ...Array.from({ length: 6 }, () => ({ reason: unavailable })),
  ])
  t.strictSame(
    lists.map((list) => list.join('')),
    ['abcdefgh', 'abcd', 'ab', 'cd'],
  )
})

t.test('a list that failed as unavailable is not tried again, for it may have been written', async (t) => {
  const { call, lists } = setUp(() => Promise.reject(unavailable))
  const answers = await Promise.allSettled(['a', 'b'].map(call))
  t.match(answers, [{ reason: unavailable }, { reason: unavailable }])
  t.strictSame(lists, [['a', 'b']])
})

t.test('a run that answers no list fails its callers', async (t) => {
  const { call } = setUp((async () => undefined) as never)
  await t.rejects(call('a'))
  await t.rejects(Promise.all([call('b'), call('c')]))
})

t.test('after a list that failed, it goes on', async (t) => {
  let fails = true
  const { call } = setUp((inputs) => (fails ? Promise.reject(new Error('a bug')) : upper(inputs)))
  await t.rejects(call('a'), /a bug/)
  fails = false
  t.equal(await call('b'), 'B')
})

t.test('equal calls that wait for one list are one member of it, and each gets the answer', async (t) => {
  const { call, lists } = setUp(upper, { dedupeKey: (input) => input })
  t.strictSame(await Promise.all(['a', 'b', 'a', 'a'].map(call)), ['A', 'B', 'A', 'A'])
  t.strictSame(lists, [['a', 'b']])
})

t.test('a call never shares the answer of a list that was in flight before it', async (t) => {
  const { run, letGo } = heldRun()
  const { call, lists } = setUp(run, { dedupeKey: (input) => input })
  const first = call('a')
  await ticks(3)
  const later = Promise.all([call('a'), call('a')])
  await ticks(3)
  t.strictSame(lists, [['a']])
  letGo()
  await first
  await ticks(3)
  t.strictSame(lists, [['a'], ['a']])
  letGo()
  t.strictSame(await later, ['A', 'A'])
})

t.test('what was left over for a later list is never joined after the first has started', async (t) => {
  const { run, letGo } = heldRun()
  const { call, lists } = setUp(run, { listLengthMax: 1, dedupeKey: (input) => input })
  const answers = [call('a'), call('b')]
  await ticks(3)
  answers.push(call('b'))
  for (const _ of answers) {
    letGo()
    await ticks(3)
  }
  t.strictSame(await Promise.all(answers), ['A', 'B', 'B'])
  t.strictSame(lists, [['a'], ['b'], ['b']])
})

t.test('a list is no heavier than may be; what is heavier than that goes alone', async (t) => {
  const { call, lists } = setUp(upper, { listWeightMax: 5, weightOf: (input) => input.length })
  const inputs = ['aa', 'bbb', 'c', 'dddddddd', 'e', '', 'fffff']
  t.strictSame(
    await Promise.all(inputs.map(call)),
    inputs.map((input) => input.toUpperCase()),
  )
  t.strictSame(lists, [['aa', 'bbb'], ['c'], ['dddddddd'], ['e', ''], ['fffff']])
})

t.test('equal calls fail together', async (t) => {
  const no = new DomainFailure('page_not_found', 'no')
  const { call } = setUp(async (inputs) => inputs.map(() => no), { dedupeKey: (input) => input })
  t.match(await Promise.allSettled([call('a'), call('a')]), [{ reason: no }, { reason: no }])
})

t.test('an observer hears of each list, and of how many calls wait', async (t) => {
  const { run, letGo } = heldRun()
  const seen: string[] = []
  const observer = {
    list: (length: number) => seen.push(`list ${length}`),
    queued: (change: number) => seen.push(`queued ${change}`),
  }
  const { call } = setUp(run, { observer, dedupeKey: (input) => input })
  const first = call('a')
  await ticks(3)
  const others = [call('b'), call('b')]
  t.strictSame(seen, ['queued 1', 'list 1', 'queued -1', 'queued 1', 'queued 1'])
  letGo()
  await first
  await ticks(3)
  letGo()
  await Promise.all(others)
  t.strictSame(seen.slice(5), ['list 1', 'queued -2'], 'equal calls are one member')
})

t.test('a list runs in the context of the call that started it, and of no other call', async (t) => {
  const caller = new AsyncLocalStorage<string>()
  const { run, letGo } = heldRun()
  const seen: string[] = []
  const watched: Run = (inputs) => {
    seen.push(`${inputs} ${caller.getStore()}`)
    return run(inputs)
  }
  const { call } = setUp(watched, { listLengthMax: 1, listsInFlightMax: 2 })
  const calls = ['a', 'b', 'c'].map((name) => caller.run(name, () => call(name)))
  await ticks(3)
  letGo()
  await ticks(3)
  t.strictSame(seen, ['a a', 'b undefined', 'c undefined'])
  for (const _ of calls) letGo()
  t.strictSame(await Promise.all(calls), ['A', 'B', 'C'])
})

/** `a b!` claims a and b, and wins. */
const claims: ClaimRules<string, string> = {
  of: (input) => input.replace('!', '').split(' ').filter(Boolean),
  wins: (answer) => answer.endsWith('!'),
  lost: 'lost',
}

t.test('calls that claim the same never share a list, nor are in flight at once', async (t) => {
  const { run, letGo } = heldRun()
  const { call, lists } = setUp(run, { listsInFlightMax: 3 }, claims)
  const answers = Promise.all(['a', 'a', 'b', 'a c', ''].map(call))
  await ticks(3)
  t.strictSame(lists, [['a', 'b', '']])
  for (const next of [['a'], ['a c']]) {
    letGo()
    await ticks(3)
    t.strictSame(lists.at(-1), next)
  }
  letGo()
  t.strictSame(await answers, ['A', 'A', 'B', 'A C', ''])
  t.equal(lists.length, 3)
})

t.test('a call passes no earlier one that waits for the same', async (t) => {
  const { run, letGo } = heldRun()
  const { call, lists } = setUp(run, { listsInFlightMax: 3 }, claims)
  const answers = Promise.all(['a', 'a b', 'b', 'c'].map(call))
  await ticks(3)
  t.strictSame(lists, [['a', 'c']], 'b is free, but another waits for it')
  letGo()
  await ticks(3)
  t.strictSame(lists.at(-1), ['a b'])
  letGo()
  await ticks(3)
  t.strictSame(lists.at(-1), ['b'])
  letGo()
  t.strictSame(await answers, ['A', 'A B', 'B', 'C'])
})

t.test('once a call wins, those that wait for the same have lost, without a list', async (t) => {
  const { run, letGo } = heldRun()
  const queued: number[] = []
  const observer = { list: () => {}, queued: (change: number) => queued.push(change) }
  const { call, lists } = setUp(run, { observer }, claims)
  const answers = Promise.all(['a!', 'a', 'x', 'a b', 'b', 'a!'].map(call))
  await ticks(3)
  t.strictSame(lists, [['a!', 'x']], 'b waits behind an earlier claim')
  letGo()
  await ticks(3)
  t.strictSame(lists, [['a!', 'x'], ['b']])
  letGo()
  t.strictSame(await answers, ['A!', 'lost', 'X', 'lost', 'B', 'lost'])
  t.equal(
    queued.reduce((sum, change) => sum + change, 0),
    0,
    'none of them is counted as waiting any more',
  )
  const again = call('a')
  await ticks(3)
  letGo()
  t.equal(await again, 'A', 'one that comes later is tried')
})

t.test('a call that loses, is refused or fails leaves what it claimed to the next', async (t) => {
  const no = new DomainFailure('page_not_found', 'no')
  const { call, lists } = setUp(
    async (inputs) => {
      if (lists.length === 1) return inputs.map(() => no)
      if (lists.length === 2) throw new Error('a bug')
      return lists.length === 3 ? inputs.map(() => 'lost too') : upper(inputs)
    },
    {},
    claims,
  )
  const answers = await Promise.allSettled(['a!', 'a!', 'a!', 'a!', 'a!'].map(call))
  t.match(answers, [
    { reason: no },
    { reason: { message: 'a bug' } },
    { value: 'lost too' },
    { value: 'A!' },
    { value: 'lost' },
  ])
  t.strictSame(lists, [['a!'], ['a!'], ['a!'], ['a!']])
})

t.test('calls that claim nothing wait for nobody', async (t) => {
  const { call, lists } = setUp(upper, {}, claims)
  t.strictSame(await Promise.all(['', '!', '', 'a'].map(call)), ['', '!', '', 'A'])
  t.equal(lists.length, 1)
})

t.test('under a backlog that never ends, nothing keeps what is answered alive', async (t) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const { run, letGo } = heldRun()
  const call = gather<{ text: string }, string>((inputs) => run(inputs.map(({ text }) => text)), {
    listLengthMax: 1,
    listsInFlightMax: 1,
  })
  const answered: WeakRef<object>[] = []
  const calls: Promise<string>[] = []
  const add = (text: string) => {
    const input = { text }
    answered.push(new WeakRef(input))
    calls.push(call(input))
  }
  add('0')
  for (let i = 1; i <= 20; i++) {
    add(`${i}`)
    await ticks(3)
    letGo()
    await calls[i - 1]
  }
  await ticks(3)
  collectGarbage()
  t.equal(answered.slice(0, -2).filter((input) => input.deref() !== undefined).length, 0)
  letGo()
  await calls[20]
})
