import t from 'tap'
import { decideAndSave } from '../../../src/core/engine/decide-and-save.ts'
import type { Recorded } from '../../../src/core/ports/world.ts'

/** A world that counts how often it was recalled, and others who get there first `overtaken` times. */
const setting = (overtaken: number) => {
  const saved: string[] = []
  let recalled = 0
  let recorded = 0
  const story = {
    recall: async () => ++recalled,
    decide: (_inputs: readonly string[], known: number) => ({
      outcomes: [`answer ${known}`],
      changes: `change ${known}` as string | null,
    }),
    record: async (change: string): Promise<Recorded> => {
      if (recorded++ < overtaken) return 'overtaken'
      saved.push(change)
      return 'recorded'
    },
  }
  return { story, saved, recalled: () => recalled, recorded: () => recorded }
}

t.test('what was decided is saved, then answered', async (t) => {
  const { story, saved, recalled } = setting(0)
  t.strictSame(await decideAndSave(['only'], story), ['answer 1'])
  t.strictSame(saved, ['change 1'])
  t.equal(recalled(), 1)
})

t.test('where somebody else got there first, it is loaded and decided again', async (t) => {
  const { story, saved, recalled } = setting(2)
  t.strictSame(await decideAndSave(['only'], story), ['answer 3'])
  t.strictSame(saved, ['change 3'])
  t.equal(recalled(), 3)
})

t.test('where nothing changes, nothing is saved', async (t) => {
  const { story, recorded } = setting(0)
  const decide = () => ({ outcomes: ['a replay'], changes: null })
  t.strictSame(await decideAndSave(['only'], { ...story, decide }), ['a replay'])
  t.equal(recorded(), 0)
})

t.test('a replay that only a later round sees saves nothing either', async (t) => {
  const { story, saved } = setting(1)
  const decide = (_: readonly string[], known: number) => ({
    outcomes: [known],
    changes: known === 1 ? 'change' : null,
  })
  t.strictSame(await decideAndSave(['only'], { ...story, decide }), [2])
  t.strictSame(saved, [])
})

t.test('the rounds are bounded: after the last one it is unavailable', async (t) => {
  const { story, saved, recorded } = setting(Number.POSITIVE_INFINITY)
  t.match(await decideAndSave(['only'], story), [
    {
      kind: 'unavailable',
      message: 'Gave up after 10 conflicting writes; retry.',
      facts: { retryAfterS: 1 },
    },
  ])
  t.equal(recorded(), 10)
  t.strictSame(saved, [])
})

/** Members are numbers; a list that holds 13 is always overtaken. */
const unlucky = (fail: (list: readonly number[]) => boolean = () => false) => {
  const saved: number[] = []
  const story = {
    recall: async (list: readonly number[]) => list,
    decide: (list: readonly number[], known: readonly number[]) => ({
      outcomes: known.map((n) => `answer ${n}`),
      changes: list,
    }),
    record: async (list: readonly number[]): Promise<Recorded> => {
      if (fail(list)) throw new Error('a fault of this member')
      if (list.includes(13)) return 'overtaken'
      saved.push(...list)
      return 'recorded'
    },
  }
  return { story, saved }
}
const numbers = Array.from({ length: 40 }, (_, i) => i)

t.test('of a list that keeps being overtaken only the contended member fails', async (t) => {
  const { story, saved } = unlucky()
  const outcomes = await decideAndSave(numbers, story)
  t.match(outcomes[13], { kind: 'unavailable', facts: { retryAfterS: 1 } })
  t.strictSame(
    outcomes.filter((_, i) => i !== 13),
    numbers.filter((n) => n !== 13).map((n) => `answer ${n}`),
  )
  t.strictSame(
    saved,
    numbers.filter((n) => n !== 13),
    'each once, in order',
  )
})

t.test('an error in a later part fails only the member that causes it', async (t) => {
  const { story, saved } = unlucky((list) => list.includes(25) && !list.includes(13))
  const outcomes = await decideAndSave(numbers, story)
  t.match(outcomes[25], { kind: 'unavailable', cause: { message: 'a fault of this member' } })
  const well = numbers.filter((n) => n !== 13 && n !== 25)
  t.strictSame(
    outcomes.filter((_, i) => i !== 13 && i !== 25),
    well.map((n) => `answer ${n}`),
  )
  t.strictSame(saved, well, 'each once, in order')
})

t.test('a store that fails is not asked again', async (t) => {
  const { story, recalled } = setting(0)
  await t.rejects(
    decideAndSave(['only'], { ...story, record: () => Promise.reject(new Error('away')) }),
    /away/,
  )
  t.equal(recalled(), 1)
})
