import t from 'tap'
import { checksumsNow, readFrozen } from './released.ts'

t.test('the migrations of a release have the text that was released', async (t) => {
  const now = checksumsNow()
  const edited = Object.entries(readFrozen()).filter(([name, { checksum }]) => now.get(name) !== checksum)
  t.strictSame(
    edited.map(([name, { release }]) => `${name} is part of ${release}`),
    [],
    'to change the schema, add a migration (or, before the tag of that release, run node test/upgrade/make.ts again)',
  )
})
