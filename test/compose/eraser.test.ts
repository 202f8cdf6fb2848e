import { EventEmitter, once } from 'node:events'
import t from 'tap'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { createEraser } from '../../src/compose/eraser.ts'
import type { DomainFailure } from '../../src/core/engine/failures.ts'
import type { ErasureStep } from '../../src/core/ports/erasures.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createService } from '../../src/service/create-service.ts'
import { stoppedClock } from '../support/setting.ts'

const ADA = 'ada@example.com'
const kindOf = (refused: Promise<unknown>) =>
  refused.then(
    () => 'done',
    (why: DomainFailure) => why.kind,
  )
const payload = { rawJson: '{}' }

/** A service of the library, and an eraser whose steps can be waited for. */
const setUp = async (t: { teardown: (end: () => Promise<void>) => void }) => {
  const store = memoryStore()
  const clock = stoppedClock()
  const errors: unknown[] = []
  const events = new EventEmitter()
  const settle: Store['erasures']['settle'] = async (tenantId, steps) => {
    await store.erasures.settle(tenantId, steps)
    for (const step of steps)
      events.emit(step.status === 'completed' ? step.status : `pass ${step.pass}`, step)
  }
  const service = createService({ store, clock })
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const seen = { ...store, erasures: { ...store.erasures, settle } }
  const eraser = createEraser({ store: seen, clock, onError: (error) => errors.push(error) })
  t.teardown(eraser.stop)
  /** The next step that leaves an erasure in this pass, or completes it. */
  const stepTo = async (state: string): Promise<ErasureStep> => (await once(events, state))[0]
  return { store, clock, errors, service, tenantId, eraser, stepTo }
}

t.test('a program erases a person: at once for callers, and by an eraser that is woken by it', async (t) => {
  const { errors, service, tenantId, eraser, stepTo } = await setUp(t)
  const log = () => service.logProspectActivity({ tenantId, source: 'crm', email: ADA, payload })
  for (let i = 0; i < 2; i++) await log()
  eraser.start()
  const completed = stepTo('completed')
  const { erasureId } = (await service.eraseProspect({ tenantId, email: ADA })).value
  t.equal(await kindOf(log()), 'prospect_erased', 'though the service remembers the prospect')
  t.match(await completed, { status: 'completed', completedAt: '2026-01-01T00:00:00.000Z' })
  t.match((await service.getErasure({ tenantId, erasureId })).value, { status: 'completed', logsErased: 2 })
  t.match((await service.listErasures({ tenantId })).value, { items: [{ erasureId }], hasMore: false })
  t.match((await service.unblockErasure({ tenantId, erasureId })).value, { blockedUntil: null })
  t.equal(await kindOf(log()), 'done')
  t.strictSame(errors, [])
})

t.test('the input of a program is checked as over HTTP', async (t) => {
  const { service, tenantId } = await setUp(t)
  for (const request of [{}, { email: ' ' }, { email: ADA, blockDays: 4_000 }, { prospectId: 'x' }])
    t.equal(await kindOf(service.eraseProspect({ tenantId, ...request })), 'invalid_request')
  t.equal(await kindOf(service.getErasure({ tenantId, erasureId: 'x' })), 'erasure_not_found')
  t.equal(await kindOf(service.unblockErasure({ tenantId, erasureId: 'x' })), 'erasure_not_found')
  t.equal(await kindOf(service.listErasures({ tenantId, limit: 0 })), 'invalid_request')
  t.equal(await kindOf(service.eraseProspect({ tenantId: 'x', email: ADA })), 'not_found')
})

t.test('an error is reported, and erasing goes on after the lease', async (t) => {
  const { store, clock, errors, service, tenantId, eraser, stepTo } = await setUp(t)
  await service.logProspectActivity({ tenantId, source: 'crm', email: ADA, payload })
  const { deleteLogs } = store.erasures
  const failed = Promise.withResolvers<void>()
  Object.assign(store.erasures, {
    deleteLogs: async () => {
      Object.assign(store.erasures, { deleteLogs })
      failed.resolve()
      throw new Error('away')
    },
  })
  const { erasureId } = (await service.eraseProspect({ tenantId, email: ADA })).value
  const failing = createEraser({ store, clock, onError: (error) => errors.push(error) })
  failing.start()
  await failed.promise
  await failing.stop()
  t.match(errors, [{ message: 'away' }])
  clock.advance(110_000)
  const step = stepTo('pass 1')
  eraser.start()
  await step
  t.match((await service.getErasure({ tenantId, erasureId })).value, { logsErased: 1 })
})

t.test('no step means that erasing works again until a rewrite that failed has succeeded', async (t) => {
  const { store, clock, service, tenantId } = await setUp(t)
  const events = new EventEmitter()
  const { claim } = store.erasures
  let isBroken = true
  let steps = 0
  Object.assign(store.erasures, {
    claim: (want: Parameters<typeof claim>[0]) => claim(want).finally(() => events.emit('step')),
    purgeDeleted: async () => {
      if (isBroken) throw new Error('disk I/O error')
      return true
    },
  })
  const onStep = () => {
    steps++
    events.emit('works')
  }
  const eraser = createEraser({ store, clock, onError: () => events.emit('failed'), onStep })
  t.teardown(eraser.stop)
  const wakeUntil = async (event: string) => {
    const happened = once(events, event)
    eraser.wake()
    await happened
  }
  await service.eraseProspect({ tenantId, email: ADA })
  const failed = once(events, 'failed')
  eraser.start()
  await failed
  const before = steps
  for (let step = 0; step < 5; step++) await wakeUntil('step')
  t.equal(steps, before)
  isBroken = false
  clock.advance(600_000)
  await wakeUntil('works')
})
