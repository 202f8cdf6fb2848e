import t from 'tap'
import { VERSION } from '../../src/config/version.ts'
import { checksumsNow, readFrozen, releases } from './released.ts'

t.test('the migrations of a release have the text that was released', async (t) => {
  const now = checksumsNow()
  for (const [name, { release, checksum }] of Object.entries(readFrozen()))
    t.equal(
      now.get(name),
      checksum,
      `${name}: ${/\d{4}/.exec(name)} is part of ${release}: add a migration. (Only before its release: node test/upgrade/make.ts.)`,
    )
})

t.test('the databases of this version are among those that are upgraded', async (t) => {
  t.ok(releases().includes(VERSION), `${VERSION} has none: run node test/upgrade/make.ts`)
})
