import t from 'tap'
import { DomainFailure, unavailable } from '../../../src/core/engine/failures.ts'
import { LIST_LENGTH_MAX, runInWaves } from '../../../src/core/engine/run-in-waves.ts'

/** An item is written as its identifiers, its name and its key, such as `a b/x/k`. The steps record when it begins and ends. */
const setting = (failures: Readonly<Record<string, Error>> = {}) => {
  const steps: string[] = []
  const running: string[] = []
  let mostAtOnce = 0
  const run = async (item: string): Promise<string> => {
    steps.push(`+${item}`)
    mostAtOnce = Math.max(mostAtOnce, running.push(item))
    await new Promise(setImmediate)
    running.splice(running.indexOf(item), 1)
    steps.push(`-${item}`)
    if (failures[item]) throw failures[item]
    return item.toUpperCase()
  }
  const effectOf = (item: string) => {
    const [identifiers = '', name = '', idempotencyKey] = item.split('/')
    return {
      identifiers: identifiers.split(' ').filter((identifier) => identifier !== '_'),
      name,
      idempotencyKey,
    }
  }
  const prepare = (item: string) => item
  return { steps, given: { prepare, effectOf, run }, mostAtOnce: () => mostAtOnce }
}
const refused = new DomainFailure('page_not_found', 'no')

t.test('no input is no answer', async (t) => {
  t.strictSame(await runInWaves([], setting().given), [])
})

t.test('inputs without a common identifier run together, and answer in order', async (t) => {
  const { given, steps } = setting()
  t.strictSame(await runInWaves(['a', 'b', '_', '_'], given), ['A', 'B', '_', '_'])
  t.strictSame(steps, ['+a', '+b', '+_', '+_', '-a', '-b', '-_', '-_'])
})

t.test('an input waits for an earlier unfinished one with the same identifier', async (t) => {
  const { given, steps } = setting()
  t.strictSame(await runInWaves(['a', 'a x', 'b'], given), ['A', 'A X', 'B'])
  t.strictSame(steps, ['+a', '+b', '-a', '-b', '+a x', '-a x'])
})

t.test('an input waits for an earlier one that itself waits', async (t) => {
  const { given, steps } = setting()
  await runInWaves(['a', 'a b', 'b'], given)
  t.strictSame(steps, ['+a', '-a', '+a b', '-a b', '+b', '-b'])
})

t.test(
  'once an input with an identifier has ended, all others with only that identifier go together',
  async (t) => {
    const { given, steps, mostAtOnce } = setting()
    const inputs = Array<string>(50).fill('a')
    t.strictSame(await runInWaves(inputs, given), Array(50).fill('A'))
    t.strictSame(steps.slice(0, 2), ['+a', '-a'], 'the first one runs alone')
    t.equal(mostAtOnce(), 49)
  },
)

t.test(
  'an input with other identifiers goes alone, and inputs that repeat an earlier one go together',
  async (t) => {
    const { given, steps } = setting()
    await runInWaves(['a', 'a b', 'a b', 'a', 'a c'], given)
    t.strictSame(steps, ['+a', '-a', '+a b', '-a b', '+a b', '+a', '-a b', '-a', '+a c', '-a c'])
  },
)

t.test('after an input was refused, the others with its identifier still run', async (t) => {
  const bug = new TypeError('a bug')
  const { given } = setting({ a: refused, b: bug })
  t.strictSame(await runInWaves(['a', 'a x', 'b', 'b x'], given), [refused, 'A X', bug, 'B X'])
})

t.test('after `unavailable` the rest is not tried, and fails alike', async (t) => {
  const away = unavailable('away')
  const { given, steps } = setting({ b: away })
  t.strictSame(await runInWaves(['a', 'b', 'c', 'b x', 'a x'], given), ['A', away, 'C', away, away])
  t.strictSame(steps, ['+a', '+b', '+c', '-a', '-b', '-c'], 'what had begun has its own answer')
})

t.test('after `unavailable` no later list begins', async (t) => {
  const away = unavailable('away')
  const { given, steps } = setting({ a: away })
  const inputs = ['a', ...Array<string>(LIST_LENGTH_MAX).fill('_')]
  const answers = await runInWaves(inputs, given)
  t.strictSame([answers[0], answers[1], answers.at(-1)], [away, '_', away])
  t.equal(steps.filter((step) => step.startsWith('+')).length, LIST_LENGTH_MAX)
})

t.test('an input that cannot be prepared is answered with its refusal, and is not run', async (t) => {
  const { given, steps } = setting()
  for (const refuse of [
    () => Promise.reject(refused),
    () => {
      throw refused
    },
  ]) {
    const prepare = (input: string) => (input === 'b' ? refuse() : input)
    t.strictSame(await runInWaves(['a', 'b', 'b x'], { ...given, prepare }), ['A', refused, 'B X'])
  }
  t.strictSame(
    steps.filter((step) => step === '+b'),
    [],
  )
})

t.test('a bug while preparing is no answer', async (t) => {
  const prepare = () => Promise.reject(new TypeError('a bug'))
  await t.rejects(runInWaves(['a'], { ...setting().given, prepare }), TypeError)
})

t.test('lists are no longer and no heavier than may be', async (t) => {
  const { given } = setting()
  const lengths: number[] = []
  const beforeList = async (length: number) => void lengths.push(length)
  await runInWaves(Array<string>(LIST_LENGTH_MAX + 1).fill('_'), { ...given, beforeList })
  t.strictSame(lengths, [LIST_LENGTH_MAX, 1])
  lengths.length = 0
  const weightOf = (input: string) => (input === 'heavy' ? 1_048_576 : 1)
  const inputs = ['_', '_', 'heavy', '_']
  t.strictSame(await runInWaves(inputs, { ...given, weightOf, beforeList }), ['_', '_', 'HEAVY', '_'])
  t.strictSame(lengths, [2, 1, 1])
})

t.test('a list that may not begin fails with all that follow', async (t) => {
  const { given } = setting()
  let lists = 0
  const beforeList = async () => {
    if (++lists > 1) throw refused
  }
  const answers = await runInWaves(Array<string>(LIST_LENGTH_MAX + 2).fill('_'), { ...given, beforeList })
  t.strictSame(answers.slice(-3), ['_', refused, refused])
})

t.test('inputs with different names for the same prospect go one after the other', async (t) => {
  const { given, steps } = setting()
  await runInWaves(['a', 'a/x', 'a/y', 'a/x'], given)
  t.strictSame(steps, ['+a', '-a', '+a/x', '-a/x', '+a/y', '+a/x', '-a/y', '-a/x'])
})

t.test(
  'an input with the identifiers of two groups waits for both, and later inputs wait for it',
  async (t) => {
    const { given, steps } = setting()
    await runInWaves(['a', 'b', 'a b', 'b'], given)
    t.strictSame(steps, ['+a', '+b', '-a', '-b', '+a b', '+b', '-a b', '-b'])
  },
)

t.test('of inputs with one key the others wait for the first', async (t) => {
  const { given, steps } = setting()
  await runInWaves(['a//k', 'b//k', 'c//k'], given)
  t.strictSame(steps, ['+a//k', '-a//k', '+b//k', '+c//k', '-b//k', '-c//k'])
})

t.test('one that was contended does not stop the others', async (t) => {
  const contended = new DomainFailure('unavailable', 'no', { isContended: true })
  const { given } = setting({ a: contended })
  t.strictSame(await runInWaves(['a', 'a', 'b'], given), [contended, contended, 'B'])
})
