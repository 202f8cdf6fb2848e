import { equal, like, same } from './assertions.ts'
import { section } from './contract.ts'
import { DAY_MS, erasureScene } from './erasure-scene.ts'
import { addTenant, at, idBefore, recordAll, someLog, someProspect } from './rows.ts'

/** Logs that are kept only for some time. */
export const retention = section('erasures', erasureScene, {
  'logs are deleted once they have been kept long enough, and their idempotency keys end with them': async (
    scene,
  ) => {
    const { here, store, tenantId, clock, kept } = scene
    const bob = someProspect(tenantId, { email: 'bob@example.com' })
    const oldLog = (days: number) => {
      const idempotencyKey = `${days} days`
      const prospectLogId = idBefore('prospectlog', clock() - days * DAY_MS)
      return someLog(bob, {
        prospectLogId,
        idempotencyKey,
        requestHash: 'hash',
        createdAt: at(-days * DAY_MS),
      })
    }
    await recordAll(store.activities, [bob], [10, 20, 30].map(oldLog))
    const keys = async () => (await kept()).logs.map(({ idempotencyKey }) => idempotencyKey).sort()
    await here.expire()
    equal((await keys()).length, 3, 'by default they are kept for ever')
    await here.expire(30)
    same(await keys(), ['10 days', '20 days'])
    await store.tenants.update(tenantId, { retentionDays: 0 })
    await here.expire(1)
    same(await keys(), ['10 days', '20 days'])
    await store.tenants.update(tenantId, { retentionDays: 15 })
    await here.expire()
    same(await keys(), ['10 days'])
    await store.tenants.update(tenantId, { retentionDays: null })
    await here.expire()
    same(await keys(), ['10 days'])
    const sent = await here.log({ email: 'bob@example.com', idempotencyKey: '30 days' })
    like(sent, { prospectId: bob.prospectId, createdProspect: false })
  },

  'old logs of several tenants are all deleted': async (scene) => {
    const { here, store, kept } = scene
    for (let i = 0; i < 3; i++) {
      const prospect = someProspect((await addTenant(store)).tenantId)
      const logs = Array.from({ length: 600 }, () => someLog(prospect))
      await recordAll(store.activities, [prospect], logs)
    }
    await here.expire(1)
    equal((await kept()).logs.length, 0)
  },

  'every process reads when the database was last served, and a pause until it ends': async (scene) => {
    const { store, elsewhere } = scene
    equal(await elsewhere.erasures.lastServed(), null)
    for (const pausedAt of [null, at(9), null]) {
      await store.erasures.saveClock({ servedAt: at(1), pausedAt })
      same(await elsewhere.erasures.lastServed(), { servedAt: at(1), pausedAt })
    }
  },

  'several workers share the deletion of expired logs': async ({ here, there, store, kept }) => {
    const prospect = someProspect((await addTenant(store)).tenantId)
    const logs = Array.from({ length: 3_000 }, () => someLog(prospect))
    await recordAll(store.activities, [prospect], logs)
    await Promise.all([here, there, here, there].map((worker) => worker.expire(1)))
    equal((await kept()).logs.length, 0)
  },
})
