import t from 'tap'
import {
  addTenant,
  at,
  logChangeOf,
  newId,
  recordAll,
  someClaim,
  someErasure,
  someGroup,
  someLog,
  somePage,
  someProspect,
} from '../support/rows.ts'
import { opened, sqliteKind } from '../support/stores.ts'

const LOGS = 7

t.test(
  'large logs are deleted in lists that do not keep callers of the embedded database waiting',
  async (t) => {
    const { store } = await opened(t, sqliteKind())
    const { tenantId } = await addTenant(store)
    const bob = someProspect(tenantId)
    await recordAll(store.activities, [bob])
    const payload = { rawJson: JSON.stringify({ text: 'x'.repeat(600_000) }) }
    const add = async () => {
      const logs = Array.from({ length: LOGS }, () => someLog(bob, { payload }))
      for (const log of logs) await store.activities.record(logChangeOf(bob, log))
      return logs.map(({ prospectLogId }) => prospectLogId)
    }
    const countLeft = async () => (await store.erasures.namesAfter(tenantId, '', 100)).length

    await add()
    const beforeLogId = newId('prospectlog')
    const old = () => store.erasures.expire({ tenantId, now: at(0), beforeLogId, max: 500 })
    t.equal(await old(), true)
    t.equal(await countLeft(), LOGS - 2)
    while (await old());
    t.equal(await countLeft(), 0)

    await add()
    const changes = { tenantId, now: at(0), until: at(0), prospects: [], identifier: null }
    await store.erasures.record({ ...changes, erasures: [someErasure(tenantId)] })
    const [claimed] = await store.erasures.claim(someClaim({ until: at(0) }))
    if (!claimed) throw new Error('nothing was claimed')
    let turns = 0
    const counting = setInterval(() => turns++, 0)
    const all = { ...claimed, prospectId: bob.prospectId }
    t.equal(await store.erasures.deleteLogs(all, 3), 3)
    t.equal(await countLeft(), LOGS - 3)
    t.equal(await store.erasures.deleteLogs(all, 500), LOGS - 3)
    clearInterval(counting)
    t.ok(turns > 0, 'others have their turns meanwhile')
    t.match(await store.erasures.find({ tenantId, erasureId: claimed.erasureId }), { logsErased: LOGS })
  },
)

t.test(
  'large versions are claimed a few at a time by the embedded database, and each tenant has its turn',
  async (t) => {
    const { store } = await opened(t, sqliteKind())
    const tenants = (await Promise.all([1, 2].map(() => addTenant(store)))).toSorted((a, b) =>
      a.tenantId < b.tenantId ? -1 : 1,
    )
    const content = { rawJson: JSON.stringify({ text: 'x'.repeat(600_000) }) }
    for (const tenant of tenants) {
      const group = someGroup(tenant)
      await store.pageGroups.add(group)
      for (let i = 0; i < 5; i++) await store.pages.record(somePage(group, { content }))
    }
    const claim = async (max: number) => {
      const claimed = await store.versions.claim(someClaim({ max }))
      return tenants.map(({ tenantId }) => claimed.filter((one) => one.tenantId === tenantId).length)
    }
    t.strictSame(await claim(3), [2, 1])
    t.strictSame(await claim(100), [2, 2])
    t.strictSame(await claim(100), [1, 2])
    t.strictSame(await claim(100), [0, 0])
  },
)
