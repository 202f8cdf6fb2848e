import t from 'tap'
import { unavailableUnlessRejected } from '../../../src/adapters/postgres/error-codes.ts'
import { retriedThenHalved } from '../../../src/adapters/postgres/overtaken.ts'
import { halving, type Run } from '../../../src/adapters/stores/halving.ts'
import type { Member } from '../../../src/adapters/stores/pending-calls.ts'
import type { Recorded } from '../../../src/core/ports/world.ts'

const LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 100, 500]

/**
 * Runs a list of this length. Returns the lengths of the lists that were run, how often each member was in one of them, and
 * all that it was settled with: one answer or error, unless it was settled twice.
 */
const runHalved = async <Answer>(length: number, run: Run<number, Answer>) => {
  const lengths: number[] = []
  const settled: unknown[][] = Array.from({ length }, () => [])
  const members = settled.map((ends, input) => ({
    promise: new Promise<never>(() => {}),
    resolve: (answer: Answer) => ends.push(answer),
    reject: (error: unknown) => ends.push(error),
    input,
    claims: [],
    callers: 1,
  })) as Member<number, Answer>[]
  const timesRun: number[] = Array.from({ length }, () => 0)
  const counted: Run<number, Answer> = (inputs) => {
    lengths.push(inputs.length)
    for (const input of inputs) timesRun[input] = (timesRun[input] ?? 0) + 1
    return run(inputs)
  }
  const runList = halving(counted, ({ resolve }, outcome) => resolve(outcome as Answer))
  const error = await runList(members).then(
    () => null,
    (error: unknown) => error,
  )
  return { lengths, timesRun, settled, error }
}
/** The error of a statement that PostgreSQL ended with this SQLSTATE. */
const killed = (code: string, severity = 'ERROR') =>
  Object.assign(new Error('killed'), { name: 'PostgresError', code, severity })
const DEADLOCK_DETECTED = '40P01'
/** After these the same statement, or half of it, would fare no better, or may have been committed. */
const NOT_HALVED = [
  { name: 'query_canceled', code: '57014', severity: 'ERROR' },
  { name: 'admin_shutdown', code: '57P01', severity: 'FATAL' },
  { name: 'connection_failure', code: '08006', severity: 'ERROR' },
  { name: 'out_of_memory', code: '53200', severity: 'ERROR' },
  { name: 'lock_not_available', code: '55P03', severity: 'ERROR' },
]

t.test('if every list fails, a list of n ends after 2n - 1 runs, and each member fails once', async (t) => {
  const bug = new Error('a bug')
  for (const length of LENGTHS) {
    const { lengths, timesRun, settled, error } = await runHalved(length, () => Promise.reject(bug))
    t.equal(lengths.length, 2 * length - 1)
    t.equal(
      Math.max(...timesRun),
      1 + Math.ceil(Math.log2(length)),
      'each member runs as often as it is halved',
    )
    // A list of one that fails is left to its caller, which fails all that are not settled.
    const ends = length === 1 ? [[error]] : settled
    t.strictSame(
      ends,
      Array.from({ length }, () => [bug]),
    )
  }
})

t.test('if a list fails once, its halves are run once each', async (t) => {
  for (const length of LENGTHS.slice(1)) {
    let fails = true
    const { lengths, settled, error } = await runHalved(length, async (inputs) => {
      if (fails) {
        fails = false
        throw new Error('killed')
      }
      return inputs.map((input) => input * 2)
    })
    t.equal(error, null)
    t.strictSame(lengths, [length, Math.ceil(length / 2), Math.floor(length / 2)])
    t.strictSame(
      settled,
      settled.map((_, i) => [i * 2]),
    )
  }
})

for (const { name, code, severity } of NOT_HALVED)
  t.test(`a statement that ended with ${name} is not halved`, async (t) => {
    const { lengths, settled, error } = await runHalved(8, async () =>
      unavailableUnlessRejected(killed(code, severity)),
    )
    t.strictSame(lengths, [8])
    t.match(error, { kind: 'unavailable' })
    t.strictSame(settled.flat(), [], 'the caller fails them all with this error')
  })

t.test(
  'a statement that always deadlocks is sent twice for each list, and once for a single member',
  async (t) => {
    for (const length of LENGTHS) {
      let statements = 0
      const recordAll = retriedThenHalved(async (_: readonly number[]): Promise<readonly Recorded[]> => {
        statements++
        return unavailableUnlessRejected(killed(DEADLOCK_DETECTED))
      })
      const { lengths, settled, error } = await runHalved(length, recordAll)
      t.equal(error, null)
      t.equal(lengths.length, 2 * length - 1)
      t.equal(statements, 2 * (length - 1) + length)
      t.strictSame(
        settled,
        Array.from({ length }, () => ['overtaken']),
      )
    }
  },
)
