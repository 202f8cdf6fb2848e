import t from 'tap'
import { decideAndSaveEach, type StepsOfEach } from '../../../src/core/engine/decide-and-save-each.ts'
import { DomainFailure, unavailable } from '../../../src/core/engine/failures.ts'
import type { Recorded } from '../../../src/core/ports/world.ts'

/** Steps of texts. Each change is its text; `outcomes` are those that differ from `recorded`. */
const setUpEach = (outcomes: Readonly<Record<string, Recorded | DomainFailure>> = {}) => {
  const calls: string[] = []
  const steps: StepsOfEach<string, string, string, string> = {
    recall: (text) => text.toUpperCase(),
    decide: (text, known) => {
      if (text === 'refused') throw refused
      return { answer: known, change: text === 'replay' ? null : text }
    },
    recordEach: async (changes) => {
      calls.push(changes.join(' '))
      return changes.map((change) => outcomes[change] ?? 'recorded')
    },
    alone: async (text) => {
      calls.push(`alone: ${text}`)
      if (text === 'twice') throw refused
      return `${text} alone`
    },
  }
  return { calls, steps }
}
const refused = new DomainFailure('page_not_found', 'no')

t.test('several decisions are saved by one write, and returned in order', async (t) => {
  const { calls, steps } = setUpEach({ b: 'overtaken', twice: 'overtaken', lost: refused })
  const inputs = ['a', 'refused', 'b', 'replay', 'twice', 'lost', 'c']
  const answers = ['A', refused, 'b alone', 'REPLAY', refused, refused, 'C']
  t.strictSame(await decideAndSaveEach(inputs, steps), answers)
  t.strictSame(calls, ['a b twice lost c', 'alone: b', 'alone: twice'])
})

t.test('several decisions that change nothing save nothing', async (t) => {
  const { calls, steps } = setUpEach()
  t.strictSame(await decideAndSaveEach(['replay', 'refused'], steps), ['REPLAY', refused])
  t.strictSame(calls, [])
})

t.test('if one of several cannot be loaded, each goes on alone', async (t) => {
  const { calls, steps } = setUpEach()
  const recall = async (text: string) => (text === 'b' ? Promise.reject(new Error('a bug')) : text)
  t.strictSame(await decideAndSaveEach(['a', 'b'], { ...steps, recall }), ['a alone', 'b alone'])
  t.strictSame(calls, ['alone: a', 'alone: b'])
})

t.test('if the store is away, none of several is tried again', async (t) => {
  const { calls, steps } = setUpEach()
  const away = unavailable('away')
  const rejects = () => Promise.reject(away)
  t.strictSame(await decideAndSaveEach(['a', 'b'], { ...steps, recall: rejects }), [away, away])
  t.strictSame(await decideAndSaveEach(['a', 'replay'], { ...steps, recordEach: rejects }), [away, 'REPLAY'])
  t.strictSame(calls, [])
})
