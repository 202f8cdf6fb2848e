import t from 'tap'
import { DomainFailure, unavailable } from '../../../src/core/engine/failures.ts'
import { settledEach } from '../../../src/core/engine/outcome.ts'
import type { Effect } from '../../../src/core/engine/prospects-in-waves.ts'
import { LIST_LENGTH_MAX, runInWaves } from '../../../src/core/engine/run-in-waves.ts'

type Item = Effect & { readonly text: string }

/** An item by its identifiers, such as `a b`. Its text is them, and its name or its key. */
const item = (identifiers: string, { name = '', key }: { name?: string; key?: string } = {}): Item => ({
  text: [identifiers, name, key].filter(Boolean).join('/'),
  identifiers: identifiers.split(' '),
  fills: name,
  idempotencyKey: key,
})
const items = (...lists: string[]): Item[] => lists.map((identifiers) => item(identifiers))
const UNIDENTIFIED: Item = { text: '_', identifiers: [], fills: '' }

/** The steps of a run, which records the start of an item as `+a` and its end as `-a`. */
const recordedRun = (failures: Readonly<Record<string, Error>> = {}) => {
  const steps: string[] = []
  let running = 0
  let mostAtOnce = 0
  const run = async ({ text }: Item): Promise<string> => {
    steps.push(`+${text}`)
    running++
    mostAtOnce = Math.max(mostAtOnce, running)
    await new Promise(setImmediate)
    running--
    steps.push(`-${text}`)
    if (failures[text]) throw failures[text]
    return text.toUpperCase()
  }
  const prepare = (input: Item) => input
  const effectOf = (input: Item) => input
  const runEach = (list: readonly Item[]) => settledEach(list, run)
  return { steps, options: { prepare, effectOf, runEach }, mostAtOnce: () => mostAtOnce }
}
const refused = new DomainFailure('page_not_found', 'no')

t.test('no inputs, no answers', async (t) => {
  t.strictSame(await runInWaves([], recordedRun().options), [])
})

t.test('inputs without a common identifier run together, and are answered in order', async (t) => {
  const { options, steps } = recordedRun()
  t.strictSame(await runInWaves([...items('a', 'b'), UNIDENTIFIED, UNIDENTIFIED], options), [
    'A',
    'B',
    '_',
    '_',
  ])
  t.strictSame(steps, ['+a', '+b', '+_', '+_', '-a', '-b', '-_', '-_'])
})

t.test('an input waits for an earlier unfinished one with the same identifier', async (t) => {
  const { options, steps } = recordedRun()
  t.strictSame(await runInWaves(items('a', 'a x', 'b'), options), ['A', 'A X', 'B'])
  t.strictSame(steps, ['+a', '+b', '-a', '-b', '+a x', '-a x'])
})

t.test('an input waits for an earlier one that is waiting too', async (t) => {
  const { options, steps } = recordedRun()
  await runInWaves(items('a', 'a b', 'b'), options)
  t.strictSame(steps, ['+a', '-a', '+a b', '-a b', '+b', '-b'])
})

t.test('after the first input with an identifier, all others with it run together', async (t) => {
  const { options, steps, mostAtOnce } = recordedRun()
  const inputs = Array<Item>(50).fill(item('a'))
  t.strictSame(await runInWaves(inputs, options), Array(50).fill('A'))
  t.strictSame(steps.slice(0, 2), ['+a', '-a'], 'the first one runs alone')
  t.equal(mostAtOnce(), 49)
})

t.test('inputs with other identifiers run alone; repeated ones run together', async (t) => {
  const { options, steps } = recordedRun()
  await runInWaves(items('a', 'a b', 'a b', 'a', 'a c'), options)
  t.strictSame(steps, ['+a', '-a', '+a b', '-a b', '+a b', '+a', '-a b', '-a', '+a c', '-a c'])
})

t.test('a refused input does not make later inputs with its identifier fail', async (t) => {
  const bug = new TypeError('a bug')
  const { options } = recordedRun({ a: refused, b: bug })
  t.strictSame(await runInWaves(items('a', 'a x', 'b', 'b x'), options), [refused, 'A X', bug, 'B X'])
})

t.test('after `unavailable` the remaining inputs are not tried, and fail alike', async (t) => {
  const away = unavailable('away')
  const { options, steps } = recordedRun({ b: away })
  t.strictSame(await runInWaves(items('a', 'b', 'c', 'b x', 'a x'), options), ['A', away, 'C', away, away])
  t.strictSame(steps, ['+a', '+b', '+c', '-a', '-b', '-c'], 'inputs that had started get their answers')
})

t.test('after `unavailable` no later list starts', async (t) => {
  const away = unavailable('away')
  const { options, steps } = recordedRun({ a: away })
  const inputs = [item('a'), ...Array<Item>(LIST_LENGTH_MAX).fill(UNIDENTIFIED)]
  const answers = await runInWaves(inputs, options)
  t.strictSame([answers[0], answers[1], answers.at(-1)], [away, '_', away])
  t.equal(steps.filter((step) => step.startsWith('+')).length, LIST_LENGTH_MAX)
})

t.test('an input that is refused while it is prepared gets its refusal, and is not run', async (t) => {
  const { options, steps } = recordedRun()
  const rejects = () => Promise.reject(refused)
  const throws = () => {
    throw refused
  }
  for (const refuse of [rejects, throws]) {
    const prepare = (input: Item) => (input.text === 'b' ? refuse() : input)
    t.strictSame(await runInWaves(items('a', 'b', 'b x'), { ...options, prepare }), ['A', refused, 'B X'])
  }
  t.strictSame(
    steps.filter((step) => step === '+b'),
    [],
  )
})

t.test('a bug while preparing rejects the call', async (t) => {
  const prepare = () => Promise.reject(new TypeError('a bug'))
  await t.rejects(runInWaves(items('a'), { ...recordedRun().options, prepare }), TypeError)
})

t.test('a list has bounds for its length and its weight', async (t) => {
  const { options } = recordedRun()
  const lengths: number[] = []
  const beforeList = async (length: number) => void lengths.push(length)
  await runInWaves(Array<Item>(LIST_LENGTH_MAX + 1).fill(UNIDENTIFIED), { ...options, beforeList })
  t.strictSame(lengths, [LIST_LENGTH_MAX, 1])
  const weighedLengths: number[] = []
  const answers = await runInWaves([UNIDENTIFIED, UNIDENTIFIED, item('heavy'), UNIDENTIFIED], {
    ...options,
    weightOf: ({ text }) => (text === 'heavy' ? 1_048_576 : 1),
    beforeList: async (length) => void weighedLengths.push(length),
  })
  t.strictSame(answers, ['_', '_', 'HEAVY', '_'])
  t.strictSame(weighedLengths, [2, 1, 1])
})

t.test('a list that cannot begin fails, and so do all later ones', async (t) => {
  const { options } = recordedRun()
  let lists = 0
  const beforeList = async () => {
    if (++lists > 1) throw refused
  }
  const answers = await runInWaves(Array<Item>(LIST_LENGTH_MAX + 2).fill(UNIDENTIFIED), {
    ...options,
    beforeList,
  })
  t.strictSame(answers.slice(-3), ['_', refused, refused])
})

t.test('inputs with different names for one prospect run one after the other', async (t) => {
  const { options, steps } = recordedRun()
  const x = item('a', { name: 'x' })
  await runInWaves([item('a'), x, item('a', { name: 'y' }), x], options)
  t.strictSame(steps, ['+a', '-a', '+a/x', '-a/x', '+a/y', '+a/x', '-a/y', '-a/x'])
})

t.test('an input with two identifiers waits for both, and later inputs wait for it', async (t) => {
  const { options, steps } = recordedRun()
  await runInWaves(items('a', 'b', 'a b', 'b'), options)
  t.strictSame(steps, ['+a', '+b', '-a', '-b', '+a b', '+b', '-a b', '-b'])
})

t.test('inputs with the same key wait for the first of them', async (t) => {
  const { options, steps } = recordedRun()
  const inputs = [item('a', { key: 'k' }), item('b', { key: 'k' }), item('c', { key: 'k' })]
  await runInWaves(inputs, options)
  t.strictSame(steps, ['+a/k', '-a/k', '+b/k', '+c/k', '-b/k', '-c/k'])
})

t.test('a contended input does not stop the others', async (t) => {
  const contended = new DomainFailure('unavailable', 'no', {}, { isContended: true })
  const { options } = recordedRun({ a: contended })
  t.strictSame(await runInWaves(items('a', 'a', 'b'), options), [contended, contended, 'B'])
})
