import t from 'tap'
import { logProspectActivity } from '../../../src/core/activities/log-prospect-activity.ts'
import { refuse, unavailable } from '../../../src/core/engine/failures.ts'
import type { ProspectConflicts, StoredConflict } from '../../../src/core/ports/prospect-conflicts.ts'
import { createProspect } from '../../../src/core/prospects/create-prospect.ts'
import { countedIds, idOf, stoppedClock } from '../../support/setting.ts'
import { storeWith } from '../scene.ts'

const ACME = idOf('tenant', 1)

/** Ada and Bob, and a way to log activities that keeps what is noted. */
const setUp = async (note: ProspectConflicts['note'] = async () => {}) => {
  const { activities, prospects, prospectConflicts } = storeWith(ACME)
  const noted: StoredConflict[] = []
  const noting: ProspectConflicts = {
    ...prospectConflicts,
    note: (conflicts) => {
      noted.push(...conflicts)
      return note(conflicts)
    },
  }
  const world = { clock: stoppedClock(), newId: countedIds() }
  const create = createProspect({ store: { activities, prospects }, ...world })
  const ada = (await create({ tenantId: ACME, externalId: 'crm-1', email: 'ada@x' })).value.prospectId
  const bob = (await create({ tenantId: ACME, externalId: 'crm-2', email: 'bob@x' })).value.prospectId
  const logActivity = logProspectActivity({ store: { activities, prospectConflicts: noting }, ...world })
  const log = (named: object) =>
    logActivity({ tenantId: ACME, source: 'crm', type: 'webhook', payload: { rawJson: '{}' }, ...named })
  return { log, noted, ada, bob }
}

t.test('an activity that names one person costs nothing', async (t) => {
  const { log, noted, ada } = await setUp()
  for (const named of [
    { externalId: 'crm-1' },
    { externalId: 'crm-1', email: 'ada@x' },
    { externalId: 'crm-1', email: 'new@x' },
    { externalId: 'crm-1', email: 'Berlin' },
    { prospectId: ada, externalId: 'new' },
    { email: 'eve@x' },
    {},
  ])
    await log(named)
  t.strictSame(noted, [])
})

t.test('each other person that an activity names is noted, once the activity is stored', async (t) => {
  const { log, noted, ada, bob } = await setUp()
  const pair = { tenantId: ACME, prospectId: ada, otherId: bob, at: '2026-01-01T00:00:00.000Z' }
  await log({ externalId: 'crm-2', email: 'ada@x', idempotencyKey: 'one' })
  t.strictSame(noted, [{ ...pair, field: 'email' }])
  await log({ externalId: 'crm-2', email: 'ada@x', idempotencyKey: 'one' })
  t.equal(noted.length, 1, 'a replay notes nothing')
  await t.rejects(log({ externalId: 'crm-2', email: 'ada@x', occurredAt: '2999-01-01T00:00:00Z' }))
  t.equal(noted.length, 1, 'nor does a refused one')
  await log({ prospectId: ada, externalId: 'crm-2', email: 'bob@x' })
  t.strictSame(noted.slice(1), [{ ...pair, field: 'email' }], 'once for each person')
})

t.test('an activity is stored even if the store is away when its pair is noted', async (t) => {
  const { log, bob } = await setUp(async () => {
    throw unavailable('Away.')
  })
  t.match(await log({ externalId: 'crm-2', email: 'ada@x' }), { value: { prospectId: bob } })
  const faulty = await setUp(async () => refuse('internal_error' as never, 'A bug.'))
  await t.rejects(faulty.log({ externalId: 'crm-2', email: 'ada@x' }), { message: 'A bug.' })
})
