import t from 'tap'
import { decideAndSave } from '../../../src/core/engine/decide-and-save.ts'
import type { Recorded } from '../../../src/core/ports/world.ts'

/** A world that counts how often it was recalled, and others who get there first `overtaken` times. */
const setUp = (overtaken: number) => {
  const saved: string[] = []
  let recalled = 0
  let recorded = 0
  const story = {
    recall: async () => ++recalled,
    decide: (known: number) => ({ answer: `answer ${known}`, change: `change ${known}` as string | null }),
    record: async (change: string): Promise<Recorded> => {
      if (recorded++ < overtaken) return 'overtaken'
      saved.push(change)
      return 'recorded'
    },
  }
  return { story, saved, recalled: () => recalled, recorded: () => recorded }
}

t.test('a decision is saved before it is returned', async (t) => {
  const { story, saved, recalled } = setUp(0)
  t.equal(await decideAndSave(story), 'answer 1')
  t.strictSame(saved, ['change 1'])
  t.equal(recalled(), 1)
})

t.test('after a conflicting write the decision is loaded and made again', async (t) => {
  const { story, saved, recalled } = setUp(2)
  t.equal(await decideAndSave(story), 'answer 3')
  t.strictSame(saved, ['change 3'])
  t.equal(recalled(), 3)
})

t.test('a decision that changes nothing saves nothing', async (t) => {
  const { story, recorded } = setUp(0)
  const decide = () => ({ answer: 'a replay', change: null })
  t.equal(await decideAndSave({ ...story, decide }), 'a replay')
  t.equal(recorded(), 0)
})

t.test('a replay that only a later round sees saves nothing either', async (t) => {
  const { story, saved } = setUp(1)
  const decide = (known: number) => ({ answer: known, change: known === 1 ? 'change' : null })
  t.equal(await decideAndSave({ ...story, decide }), 2)
  t.strictSame(saved, [])
})

t.test('the last round still counts', async (t) => {
  const { story, saved } = setUp(19)
  t.equal(await decideAndSave(story), 'answer 20')
  t.strictSame(saved, ['change 20'])
})

t.test('after the last of its rounds a decision is unavailable', async (t) => {
  const { story, saved, recorded } = setUp(Number.POSITIVE_INFINITY)
  await t.rejects(decideAndSave(story), {
    kind: 'unavailable',
    message: 'Gave up after 20 conflicting writes; retry.',
    facts: { retryAfterS: 1 },
  })
  t.equal(recorded(), 20)
  t.strictSame(saved, [])
})

t.test('a store that fails is not asked again', async (t) => {
  const { story, recalled } = setUp(0)
  await t.rejects(decideAndSave({ ...story, record: () => Promise.reject(new Error('away')) }), /away/)
  t.equal(recalled(), 1)
})

t.test('a refusal in a later round is thrown, and saves nothing', async (t) => {
  const { story, saved } = setUp(1)
  const decide = (known: number) => {
    if (known === 2) throw new Error('a refusal')
    return story.decide(known)
  }
  await t.rejects(decideAndSave({ ...story, decide }), /a refusal/)
  t.strictSame(saved, [])
})
