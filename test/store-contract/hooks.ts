import { equal, like, same } from './assertions.ts'
import { section } from './contract.ts'
import {
  AWKWARD_TEXTS,
  addTenant,
  at,
  NOT_SEEN,
  newId,
  readEach,
  type SomeTenant,
  scribbleOn,
  someHook,
} from './rows.ts'

const SLICE = { beforeId: null, limit: 10 }
const SEEN = {
  lastReceivedAt: at(3),
  lastRefusedAt: at(4),
  lastRefusal: 'The signature does not match.',
  lastWarnedAt: at(5),
  lastWarning: 'The last body was stored unread: it is not JSON.',
}

export const hooks = section(
  'hooks',
  ({ store }) => {
    const { hooks } = store
    const added = async ({ tenantId }: SomeTenant, fields: Parameters<typeof someHook>[1] = {}) => {
      const hook = someHook(tenantId, fields)
      equal(await hooks.add(hook), 'recorded')
      return hook
    }
    const found = async (hookId: string) => {
      const [row] = await hooks.findByIds([hookId])
      if (row === undefined) return undefined
      const { isSuspended, ...hook } = row
      return hook
    }
    return { hooks, added, found }
  },
  {
    'a hook is found by its id and in its tenant’s list, with every field': async (scene) => {
      const { store, hooks, added } = scene
      const tenant = await addTenant(store)
      const hook = await added(tenant, {
        description: 'billing',
        status: 'disabled',
        slot: 7,
        createdAt: at(1),
        updatedAt: at(2),
        ...SEEN,
        secret: 'v1:a',
        previousSecret: 'v1:b v1:c',
        previousSecretUntil: at(9),
        rules: { rawJson: '{"verify":{"preset":"stripe"},"map":{"type":["/a~1b"]},"each":"/items"}' },
      })
      same(await hooks.findByIds([hook.hookId, newId('hook')]), [{ ...hook, isSuspended: false }])
      same(await hooks.list({ tenantId: tenant.tenantId, ...SLICE }), [hook])
      same(await hooks.slots(tenant.tenantId), [7])
      same(await hooks.findByIds([]), [])
      const { tenantId, hookId } = hook
      same(await hooks.find({ tenantId, hookId }), hook)
      equal(await hooks.find({ tenantId, hookId: newId('hook') }), null)
    },

    'of hooks added under one idempotency key one is, and a removed one frees its key': async (scene) => {
      const { store, hooks, added } = scene
      const tenant = await addTenant(store)
      const { tenantId } = tenant
      const keyed = { idempotencyKey: 'one', requestHash: 'plain:hash' }
      const lookup = { tenantId, idempotencyKey: 'one' }
      equal(await hooks.findByKey(lookup), null)
      const results = await Promise.all(
        [1, 2, 3, 4].map((slot) => hooks.add(someHook(tenantId, { slot, ...keyed }))),
      )
      equal(results.filter((result) => result === 'recorded').length, 1)
      const first = (await hooks.findByKey(lookup)) as Awaited<ReturnType<typeof added>>
      const changed = { ...first, idempotencyKey: 'two', requestHash: null, updatedAt: at(9) }
      equal(await hooks.change(changed, first.updatedAt), 'recorded')
      same(await hooks.findByKey(lookup), { ...first, updatedAt: at(9) })
      equal(await hooks.remove({ tenantId, hookId: first.hookId }), true)
      same(await hooks.findByKey(lookup), null)
      await added(tenant, { slot: 9, ...keyed })
    },

    'awkward texts are kept': async ({ store, added, found }) => {
      const tenant = await addTenant(store)
      for (const [i, text] of AWKWARD_TEXTS.entries()) {
        const hook = await added(tenant, {
          slot: i + 1,
          source: text,
          description: text,
          lastRefusal: text,
          lastWarning: text,
        })
        same(await found(hook.hookId), hook)
      }
    },

    'hooks are listed newest first, in slices, and no other tenant’s': async ({ store, hooks, added }) => {
      const tenant = await addTenant(store)
      const other = await addTenant(store)
      const ids: string[] = []
      for (const slot of [1, 2, 3]) ids.unshift((await added(tenant, { slot })).hookId)
      await added(other)
      const { tenantId } = tenant
      const idsOf = async (beforeId: string | null, limit: number) => {
        const [listed = [], theirs = []] = await readEach(hooks.list, [
          { tenantId, beforeId, limit },
          { tenantId: other.tenantId, ...SLICE },
        ])
        equal(theirs.length, 1)
        return listed.map(({ hookId }) => hookId)
      }
      same(await idsOf(null, 10), ids)
      same(await idsOf(null, 1), ids.slice(0, 2))
      same(await idsOf(ids[0] ?? '', 1), ids.slice(1))
    },

    'a slot is taken once within a tenant': async ({ store, hooks, added }) => {
      const tenant = await addTenant(store)
      await added(tenant)
      equal(await hooks.add(someHook(tenant.tenantId)), 'overtaken')
      await added(await addTenant(store))
    },

    'a change overtakes another one of the same moment, and leaves what was seen': async (scene) => {
      const { store, hooks, added, found } = scene
      const tenant = await addTenant(store)
      const hook = await added(tenant)
      await hooks.markSeen(hook, SEEN)
      const changed = {
        ...hook,
        source: 'github',
        status: 'disabled' as const,
        secret: 'new',
        updatedAt: at(5),
      }
      const answers = await Promise.all([hooks.change(changed, at(0)), hooks.change(changed, at(0))])
      same(answers.toSorted(), ['overtaken', 'recorded'])
      same(await found(hook.hookId), { ...changed, ...SEEN })
      const stranger = await addTenant(store)
      equal(await hooks.change({ ...changed, tenantId: stranger.tenantId }, at(5)), 'overtaken')
    },

    'what was seen is kept until something newer was': async ({ store, hooks, added, found }) => {
      const hook = await added(await addTenant(store))
      await hooks.markSeen(hook, SEEN)
      await hooks.markSeen(hook, { ...NOT_SEEN, lastReceivedAt: at(8) })
      like(await found(hook.hookId), { ...SEEN, lastReceivedAt: at(8), updatedAt: at(0) })
    },

    'a removed hook is gone, and only its own tenant removes it': async ({ store, hooks, added, found }) => {
      const tenant = await addTenant(store)
      const stranger = await addTenant(store)
      const { hookId } = await added(tenant)
      equal(await hooks.remove({ tenantId: stranger.tenantId, hookId }), false)
      equal(await hooks.remove({ tenantId: tenant.tenantId, hookId }), true)
      equal(await hooks.remove({ tenantId: tenant.tenantId, hookId }), false)
      equal(await found(hookId), undefined)
    },

    'a change and a removal are signalled like those of keys': async ({ store, hooks, added }) => {
      const hook = await added(await addTenant(store))
      for (const act of [
        () => hooks.change({ ...hook, updatedAt: at(1) }, at(0)),
        () => hooks.remove(hook),
      ]) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const stop = store.watch((signal) => signal === 'keys' && resolve())
        await act()
        await promise
        stop()
      }
    },

    'what a caller does to a row changes nothing in the store': async ({ store, added, found }) => {
      const hook = await added(await addTenant(store))
      scribbleOn(await found(hook.hookId))
      same(await found(hook.hookId), hook)
    },
  },
)
