import t from 'tap'
import { timelineKey } from '../../../src/adapters/stores/timeline-key.ts'

const keyAt = (occurredAt: string) => timelineKey('prospect_01', occurredAt)

t.test('keys of one prospect are in the order of time, and as near as the times are', async (t) => {
  const first = keyAt('2026-01-01T00:00:00.000Z')
  t.equal(keyAt('2026-01-01T00:00:03.999Z'), first)
  t.equal(keyAt('2026-01-01T00:00:04.000Z'), first + 1)
  t.equal(keyAt('2026-01-01T01:00:00+01:00'), first)
})

t.test('a key is stored, so it never changes', async (t) => {
  t.equal(keyAt('2026-01-01T00:00:00.000Z'), 427_866_157_575_744)
})

t.test('any time gives a whole number that a double holds, between those of its prospect', async (t) => {
  const keys = [
    '0001-01-01T00:00:00Z',
    '1970-01-01T00:00:00Z',
    '2106-02-07T00:00:00Z',
    '9999-12-31T23:59:59Z',
  ].map(keyAt)
  t.ok(keys.every(Number.isSafeInteger))
  t.strictSame(
    keys,
    keys.toSorted((a, b) => a - b),
  )
  t.ok((keys[3] ?? 0) - (keys[0] ?? 0) < 2 ** 30)
})
