import t from 'tap'
import { DomainFailure, unavailable } from '../../../src/core/engine/failures.ts'
import { inOrder, LIST_LENGTH_MAX } from '../../../src/core/engine/in-order.ts'

/** Items are their names, what they fill and their key, such as `a b/x/k`. What begins and ends is noted. */
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
  const tiesOf = (item: string) => {
    const [names = '', fills = '', key] = item.split('/')
    return { names: names.split(' ').filter((name) => name !== '_'), fills, key }
  }
  const prepare = (item: string) => item
  return { steps, given: { prepare, tiesOf, run }, mostAtOnce: () => mostAtOnce }
}
const refused = new DomainFailure('page_not_found', 'no')

t.test('no input is no answer', async (t) => {
  t.strictSame(await inOrder([], setting().given), [])
})

t.test('inputs that name nothing in common run together, and answer in order', async (t) => {
  const { given, steps } = setting()
  t.strictSame(await inOrder(['a', 'b', '_', '_'], given), ['A', 'B', '_', '_'])
  t.strictSame(steps, ['+a', '+b', '+_', '+_', '-a', '-b', '-_', '-_'])
})

t.test('an input waits for an earlier unfinished one that names the same', async (t) => {
  const { given, steps } = setting()
  t.strictSame(await inOrder(['a', 'a x', 'b'], given), ['A', 'A X', 'B'])
  t.strictSame(steps, ['+a', '+b', '-a', '-b', '+a x', '-a x'])
})

t.test('an input waits for an earlier one that itself waits', async (t) => {
  const { given, steps } = setting()
  await inOrder(['a', 'a b', 'b'], given)
  t.strictSame(steps, ['+a', '-a', '+a b', '-a b', '+b', '-b'])
})

t.test('once an input with a name has ended, all others with it go together', async (t) => {
  const { given, steps, mostAtOnce } = setting()
  const inputs = Array<string>(50).fill('a')
  t.strictSame(await inOrder(inputs, given), Array(50).fill('A'))
  t.strictSame(steps.slice(0, 2), ['+a', '-a'], 'the first one runs alone')
  t.equal(mostAtOnce(), 49)
})

t.test(
  'what names a thing otherwise goes alone, and what repeats an earlier input goes together',
  async (t) => {
    const { given, steps } = setting()
    await inOrder(['a', 'a b', 'a b', 'a', 'a c'], given)
    t.strictSame(steps, ['+a', '-a', '+a b', '-a b', '+a b', '+a', '-a b', '-a', '+a c', '-a c'])
  },
)

t.test('a name settles although its input is refused, and no other input fails for that', async (t) => {
  const bug = new TypeError('a bug')
  const { given } = setting({ a: refused, b: bug })
  t.strictSame(await inOrder(['a', 'a x', 'b', 'b x'], given), [refused, 'A X', bug, 'B X'])
})

t.test('after `unavailable` the rest is not tried, and fails alike', async (t) => {
  const away = unavailable('away')
  const { given, steps } = setting({ b: away })
  t.strictSame(await inOrder(['a', 'b', 'c', 'b x', 'a x'], given), ['A', away, 'C', away, away])
  t.strictSame(steps, ['+a', '+b', '+c', '-a', '-b', '-c'], 'what had begun has its own answer')
})

t.test('after `unavailable` no later list begins', async (t) => {
  const away = unavailable('away')
  const { given, steps } = setting({ a: away })
  const inputs = ['a', ...Array<string>(LIST_LENGTH_MAX).fill('_')]
  const answers = await inOrder(inputs, given)
  t.strictSame([answers[0], answers[1], answers.at(-1)], [away, '_', away])
  t.equal(steps.filter((step) => step.startsWith('+')).length, LIST_LENGTH_MAX)
})

t.test('what cannot be prepared is answered with its refusal, and is not run', async (t) => {
  const { given, steps } = setting()
  for (const refuse of [
    () => Promise.reject(refused),
    () => {
      throw refused
    },
  ]) {
    const prepare = (input: string) => (input === 'b' ? refuse() : input)
    t.strictSame(await inOrder(['a', 'b', 'b x'], { ...given, prepare }), ['A', refused, 'B X'])
  }
  t.strictSame(
    steps.filter((step) => step === '+b'),
    [],
  )
})

t.test('a bug while preparing is no answer', async (t) => {
  const prepare = () => Promise.reject(new TypeError('a bug'))
  await t.rejects(inOrder(['a'], { ...setting().given, prepare }), TypeError)
})

t.test('lists are no longer and no heavier than may be', async (t) => {
  const { given } = setting()
  const lengths: number[] = []
  const beforeList = async (length: number) => void lengths.push(length)
  await inOrder(Array<string>(LIST_LENGTH_MAX + 1).fill('_'), { ...given, beforeList })
  t.strictSame(lengths, [LIST_LENGTH_MAX, 1])
  lengths.length = 0
  const weightOf = (input: string) => (input === 'heavy' ? 1_048_576 : 1)
  const inputs = ['_', '_', 'heavy', '_']
  t.strictSame(await inOrder(inputs, { ...given, weightOf, beforeList }), ['_', '_', 'HEAVY', '_'])
  t.strictSame(lengths, [2, 1, 1])
})

t.test('a list that may not begin fails with all that follow', async (t) => {
  const { given } = setting()
  let lists = 0
  const beforeList = async () => {
    if (++lists > 1) throw refused
  }
  const answers = await inOrder(Array<string>(LIST_LENGTH_MAX + 2).fill('_'), { ...given, beforeList })
  t.strictSame(answers.slice(-3), ['_', refused, refused])
})

t.test('inputs that fill the same thing differently go one after the other', async (t) => {
  const { given, steps } = setting()
  await inOrder(['a', 'a/x', 'a/y', 'a/x'], given)
  t.strictSame(steps, ['+a', '-a', '+a/x', '-a/x', '+a/y', '+a/x', '-a/y', '-a/x'])
})

t.test('an input that joins two things waits for both, and those after it for it', async (t) => {
  const { given, steps } = setting()
  await inOrder(['a', 'b', 'a b', 'b'], given)
  t.strictSame(steps, ['+a', '+b', '-a', '-b', '+a b', '+b', '-a b', '-b'])
})

t.test('of inputs with one key the others wait for the first', async (t) => {
  const { given, steps } = setting()
  await inOrder(['a//k', 'b//k', 'c//k'], given)
  t.strictSame(steps, ['+a//k', '-a//k', '+b//k', '+c//k', '-b//k', '-c//k'])
})

t.test('one that was contended does not stop the others', async (t) => {
  const contended = new DomainFailure('unavailable', 'no', { isContended: true })
  const { given } = setting({ a: contended })
  t.strictSame(await inOrder(['a', 'a', 'b'], given), [contended, contended, 'B'])
})
