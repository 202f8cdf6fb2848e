import t from 'tap'
import { createLog } from '../../src/adapters/log.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { compose } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { countedIds, stoppedClock } from '../support/setting.ts'

t.test('a service that is stopped while it migrates opens nothing more', async (t) => {
  const migration = Promise.withResolvers<readonly string[]>()
  let watched = false
  const store = {
    ...memoryStore(),
    migrate: () => migration.promise,
    watch: () => {
      watched = true
      return () => {}
    },
  }
  const world = { store, clock: stoppedClock(), newId: countedIds(), log: createLog('silent') }
  const service = compose(readConfig({ DATABASE_URL: 'memory:' }), world)
  const started = service.start()
  await service.close()
  migration.resolve([])
  await started
  t.notOk(watched, 'nobody would close it')
})
