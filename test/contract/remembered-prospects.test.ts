import { createNewId } from '../../src/adapters/ids.ts'
import { DomainFailure } from '../../src/core/failures.ts'
import { logProspectActivities } from '../../src/core/log-prospect-activity.ts'
import type { NewActivity } from '../../src/core/new-log.ts'
import type { NewLog } from '../../src/core/ports/activities.ts'
import { rememberProspects } from '../../src/core/remember-prospects.ts'
import { newId, someLog, someProspect } from '../support/rows.ts'
import { stoppedClock } from '../support/setting.ts'
import { EVERY_STORE, opened, overStores } from '../support/stores.ts'

overStores(async (t, kind) => {
  const { store, another, kept } = await opened(t, kind)
  const elsewhere = await another()
  const { activities } = store

  const processOn = (on: typeof store, entriesMax = 1_000) => {
    let now = 0
    const remembered = rememberProspects(entriesMax, () => now)
    const logAll = logProspectActivities({
      store: on,
      clock: stoppedClock(),
      newId: createNewId(),
      remembered,
    })
    return { logAll, remembered, pass: (ms: number) => (now += ms) }
  }
  const someActivity = (tenantId: string, fields: Partial<NewActivity> = {}): NewActivity => ({
    tenantId,
    source: 'crm',
    type: 'webhook',
    payload: { rawJson: '{}' },
    email: 'ada@example.com',
    ...fields,
  })
  const answered = async (logged: ReturnType<ReturnType<typeof processOn>['logAll']>) => {
    const [outcome] = await logged
    if (outcome === undefined || outcome instanceof DomainFailure) throw outcome
    return { ...outcome.receipt, replayed: outcome.replayed }
  }
  const prospectsOf = async (tenantId: string) =>
    (await kept()).prospects.filter((prospect) => prospect.tenantId === tenantId)

  t.test('logs are added, and those whose idempotency key is taken are skipped', async (t) => {
    const prospect = someProspect(newId('tenant'))
    const keyed = (idempotencyKey: string) => someLog(prospect, { idempotencyKey, requestHash: 'hash' })
    const [first, other] = [keyed('1'), keyed('1')]
    const ids = (logs: NewLog[]) => logs.map(({ prospectLogId }) => prospectLogId).sort()
    const [earlier, later] = [
      [first, someLog(prospect)],
      [keyed('2'), someLog(prospect)],
    ]
    t.strictSame([...(await activities.recordLogs(earlier))].sort(), ids(earlier))
    t.strictSame([...(await activities.recordLogs([other, ...later]))].sort(), ids(later))
    const logs = (await kept()).logs.filter(({ tenantId }) => tenantId === prospect.tenantId)
    t.equal(logs.length, 4)
    t.ok(logs.some(({ prospectLogId }) => prospectLogId === first.prospectLogId))
  })

  t.test('equal keys from two processes at once are added once', async (t) => {
    const prospect = someProspect(newId('tenant'))
    const listOf = () =>
      Array.from({ length: 40 }, (_, i) => someLog(prospect, { idempotencyKey: `${i}`, requestHash: 'hash' }))
    const [here, there] = [listOf(), listOf().reverse()]
    const added = await Promise.all([activities.recordLogs(here), elsewhere.activities.recordLogs(there)])
    t.equal(added.flat().length, 40)
    t.equal((await kept()).logs.filter(({ tenantId }) => tenantId === prospect.tenantId).length, 40)
  })

  t.test('a prospect that another process created is found, then remembered', async (t) => {
    const tenantId = newId('tenant')
    const [here, there] = [processOn(store), processOn(elsewhere)]
    const { prospectId } = await answered(there.logAll([someActivity(tenantId)]))
    for (let i = 0; i < 2; i++)
      t.match(await answered(here.logAll([someActivity(tenantId)])), { prospectId, createdProspect: false })
    t.equal(here.remembered.find(someActivity(tenantId)), prospectId)
  })

  t.test('a blank that another process filled stays as it was filled', async (t) => {
    const tenantId = newId('tenant')
    const [here, there] = [processOn(store), processOn(elsewhere)]
    await here.logAll([someActivity(tenantId)])
    await there.logAll([someActivity(tenantId, { name: 'Ada' })])
    await here.logAll([someActivity(tenantId, { name: 'Grace' })])
    t.match(await prospectsOf(tenantId), [{ name: 'Ada' }])
  })

  t.test('a remembered blank is filled', async (t) => {
    const tenantId = newId('tenant')
    const { logAll } = processOn(store)
    await logAll([someActivity(tenantId)])
    await logAll([someActivity(tenantId)])
    await logAll([someActivity(tenantId, { name: 'Ada' })])
    t.match(await prospectsOf(tenantId), [{ name: 'Ada' }])
  })

  t.test('an email that matches nobody has a new prospect each time', async (t) => {
    const tenantId = newId('tenant')
    const { logAll } = processOn(store)
    for (const email of ['n/a', 'n/a', undefined, undefined, ' ', ' '])
      t.match(await answered(logAll([{ ...someActivity(tenantId), email }])), { createdProspect: true })
  })

  for (const [memory, entriesMax, ms] of [
    ['remembered', 1_000, 0],
    ['evicted', 1, 0],
    ['forgotten', 1_000, 60_000],
  ] as const)
    t.test(
      `replays of a ${memory} prospect, and other requests under its key, are decided alike`,
      async (t) => {
        const tenantId = newId('tenant')
        const { logAll, pass } = processOn(store, entriesMax)
        await logAll([someActivity(tenantId)])
        const first = await answered(logAll([someActivity(tenantId, { idempotencyKey: 'key' })]))
        await logAll([someActivity(tenantId, { email: 'grace@example.com' })])
        pass(ms)
        const again = await logAll([
          someActivity(tenantId, { idempotencyKey: 'key' }),
          someActivity(tenantId),
          someActivity(tenantId, { idempotencyKey: 'key', type: 'other' }),
          someActivity(tenantId, { idempotencyKey: 'new' }),
        ])
        t.match(again, [
          { receipt: { prospectLogId: first.prospectLogId }, replayed: true },
          { receipt: { prospectId: first.prospectId }, replayed: false },
          { kind: 'idempotency_key_reused', facts: { prospectLogId: first.prospectLogId } },
          { receipt: { prospectId: first.prospectId }, replayed: false },
        ])
      },
    )

  t.test('equal new emails and equal keys at once, from two processes that remember', async (t) => {
    const tenantId = newId('tenant')
    const processes = [processOn(store), processOn(elsewhere)]
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        answered(
          (processes[i % 2] as (typeof processes)[0]).logAll([
            someActivity(tenantId, i < 20 ? { idempotencyKey: 'key' } : {}),
          ]),
        ),
      ),
    )
    t.equal(outcomes.filter(({ createdProspect, replayed }) => createdProspect && !replayed).length, 1)
    t.equal(new Set(outcomes.slice(0, 20).map(({ prospectLogId }) => prospectLogId)).size, 1)
    t.equal((await prospectsOf(tenantId)).length, 1)
    t.equal((await kept()).logs.filter((log) => log.tenantId === tenantId).length, 21)
  })
}, EVERY_STORE)
