import t from 'tap'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { createService } from '../../src/compose/create-service.ts'
import { createEraser } from '../../src/compose/eraser.ts'
import type { DomainFailure } from '../../src/core/failures.ts'
import type { ErasureStep } from '../../src/core/ports/erasures.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { stoppedClock } from '../support/setting.ts'

const ADA = 'ada@example.com'
const kindOf = (refused: Promise<unknown>) =>
  refused.then(
    () => 'done',
    (why: DomainFailure) => why.kind,
  )
const payload = { rawJson: '{}' }

/** A service of the library, and an eraser whose steps can be waited for. */
const setting = async (t: { teardown: (end: () => Promise<void>) => void }) => {
  const store = memoryStore()
  const clock = stoppedClock()
  const errors: unknown[] = []
  const waiting: ((step: ErasureStep) => void)[] = []
  const settle: Store['erasures']['settle'] = async (erasure, step) => {
    const settled = await store.erasures.settle(erasure, step)
    waiting.shift()?.(step)
    return settled
  }
  const service = createService({ store, clock })
  const { tenantId } = await service.createTenant({ name: 'Acme' })
  const seen = { ...store, erasures: { ...store.erasures, settle } }
  const eraser = createEraser({ store: seen, clock, onError: (error) => errors.push(error) })
  t.teardown(eraser.stop)
  const nextStep = () => new Promise<ErasureStep>((resolve) => waiting.push(resolve))
  return { store, clock, errors, service, tenantId, eraser, nextStep }
}

t.test('a program erases a person: at once for callers, and by an eraser that is woken by it', async (t) => {
  const { clock, errors, service, tenantId, eraser, nextStep } = await setting(t)
  const log = () => service.logActivity({ tenantId, source: 'crm', email: ADA, payload })
  for (let i = 0; i < 2; i++) await log()
  eraser.start()
  const passed = nextStep()
  const { erasureId } = await service.eraseProspect({ tenantId, email: ADA })
  t.equal(await kindOf(log()), 'prospect_erased', 'the service does not remember the prospect')
  t.match(await passed, { status: 'processing', pass: 2, claimableAt: '2026-01-01T00:01:30.000Z' })
  const completed = nextStep()
  clock.advance(90_000)
  eraser.wake()
  t.match(await completed, { status: 'completed' })
  t.match(await service.getErasure({ tenantId, erasureId }), { status: 'completed', logsErased: 2 })
  t.match(await service.listErasures({ tenantId }), { items: [{ erasureId }], hasMore: false })
  t.strictSame(errors, [])
})

t.test('the input of a program is checked as over HTTP', async (t) => {
  const { service, tenantId } = await setting(t)
  for (const request of [{}, { email: ' ' }, { email: ADA, blockDays: 4_000 }, { prospectId: 'x' }])
    t.equal(await kindOf(service.eraseProspect({ tenantId, ...request })), 'invalid_request')
  t.equal(await kindOf(service.getErasure({ tenantId, erasureId: 'x' })), 'erasure_not_found')
  t.equal(await kindOf(service.listErasures({ tenantId, limit: 0 })), 'invalid_request')
  t.equal(await kindOf(service.eraseProspect({ tenantId: 'x', email: ADA })), 'not_found')
})

t.test('an error is reported, and erasing goes on after the lease', async (t) => {
  const { store, clock, errors, service, tenantId, eraser, nextStep } = await setting(t)
  await service.logActivity({ tenantId, source: 'crm', email: ADA, payload })
  const { deleteLogs } = store.erasures
  const failed = Promise.withResolvers<void>()
  Object.assign(store.erasures, {
    deleteLogs: async () => {
      Object.assign(store.erasures, { deleteLogs })
      failed.resolve()
      throw new Error('away')
    },
  })
  const { erasureId } = await service.eraseProspect({ tenantId, email: ADA })
  const failing = createEraser({ store, clock, onError: (error) => errors.push(error) })
  failing.start()
  await failed.promise
  await failing.stop()
  t.match(errors, [{ message: 'away' }])
  clock.advance(110_000)
  const step = nextStep()
  eraser.start()
  await step
  t.match(await service.getErasure({ tenantId, erasureId }), { logsErased: 1 })
})
