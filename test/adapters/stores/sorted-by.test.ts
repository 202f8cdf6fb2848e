import t from 'tap'
import { sortedBy } from '../../../src/adapters/stores/rows.ts'

t.test('rows with and without a key come in the same order, whatever order they had before', async (t) => {
  const rows = [{ key: 'b' }, { key: null }, { key: 'a' }, { key: null }, { key: 'c' }]
  const sorted = [null, null, 'a', 'b', 'c']

  for (let shift = 0; shift < rows.length; shift++) {
    const shifted = [...rows.slice(shift), ...rows.slice(0, shift)]
    t.strictSame(
      sortedBy(shifted, 'key').map(({ key }) => key),
      sorted,
    )
  }
})
