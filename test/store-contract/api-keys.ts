import { equal, like, same } from './assertions.ts'
import { section } from './contract.ts'
import { AWKWARD_TEXTS, addTenant, at, newId, type SomeTenant, scribbleOn, sha256, someKey } from './rows.ts'

/** As a look-up by hash returns it. */
const found = (key: object) => ({ ...key, isSuspended: false })

export const apiKeys = section(
  'API keys',
  ({ store }) => {
    const { apiKeys } = store
    const added = async ({ tenantId }: SomeTenant, fields: Parameters<typeof someKey>[1] = {}) => {
      const key = someKey(tenantId, fields)
      await apiKeys.add(key)
      return key
    }

    return { apiKeys, added }
  },
  {
    'a new store has no key until one is added, and a revoked key still counts': async (scene) => {
      const { store, apiKeys, added } = scene
      const tenant = await addTenant(store)
      equal(await apiKeys.isEmpty(), true)
      const { apiKeyId } = await added(tenant)
      await apiKeys.end(apiKeyId, { revokedAt: at(1) })
      equal(await apiKeys.isEmpty(), false)
    },

    'a key is found by its hash, by its id and in its tenant’s list, with every field': async (scene) => {
      const { store, apiKeys, added } = scene
      const tenant = await addTenant(store)
      const key = await added(tenant, {
        name: 'Shop',
        scopes: ['pages:read', 'prospect_logs:write'],
        createdAt: at(1),
        expiresAt: at(2),
        revokedAt: at(3),
        rotatedAt: at(4),
        lastUsedAt: at(5),
      })
      same(await apiKeys.findByHashes([key.keyHash]), [found(key)])
      same(await apiKeys.find(key.apiKeyId), key)
      same(await apiKeys.list(tenant.tenantId), [key])
    },

    'unset fields of a key are null': async ({ store, apiKeys, added }) => {
      const key = await added(await addTenant(store))
      like(await apiKeys.find(key.apiKeyId), {
        name: null,
        expiresAt: null,
        revokedAt: null,
        rotatedAt: null,
        lastUsedAt: null,
      })
    },

    'an unknown key is null': async ({ apiKeys }) => {
      same(await apiKeys.findByHashes([sha256('nobody’s')]), [])
      same(await apiKeys.findByHashes([]), [])
      equal(await apiKeys.find(newId('apikey')), null)
      same(await apiKeys.list(newId('tenant')), [])
    },

    'one scope, some scopes or all of them are kept in their order': async ({ store, apiKeys, added }) => {
      const tenant = await addTenant(store)
      for (const scopes of [
        ['pages:write'],
        ['pages:read', 'page_groups:read'],
        ['prospect_logs:write', 'page_groups:read', 'pages:read', 'pages:write'],
      ] as const) {
        const key = await added(tenant, { scopes })
        same((await apiKeys.find(key.apiKeyId))?.scopes, scopes)
      }
    },

    'a tenant’s keys are listed oldest first, revoked ones too, and no other tenant’s': async (scene) => {
      const { store, apiKeys, added } = scene
      const ours = await addTenant(store)
      const theirs = await addTenant(store)
      const oldest = someKey(ours.tenantId)
      const newest = someKey(ours.tenantId, { revokedAt: at(9) })
      const foreign = await added(theirs)
      await apiKeys.add(newest)
      await apiKeys.add(oldest)
      same(await apiKeys.list(ours.tenantId), [oldest, newest])
      same(await apiKeys.list(theirs.tenantId), [foreign])
    },

    'a key is revoked, and only this one': async ({ store, apiKeys, added }) => {
      const tenant = await addTenant(store)
      const key = await added(tenant, { expiresAt: at(9_000) })
      const other = await added(tenant)
      await apiKeys.end(key.apiKeyId, { revokedAt: at(123) })
      same(await apiKeys.findByHashes([key.keyHash]), [found({ ...key, revokedAt: at(123) })])
      same(await apiKeys.find(other.apiKeyId), other)
    },

    'many keys are found by one call, whatever else it asks for': async ({ store, apiKeys, added }) => {
      const ours = await added(await addTenant(store))
      const theirs = await added(await addTenant(store))
      const hashes = [sha256('nobody’s'), theirs.keyHash, sha256('no other’s'), ours.keyHash]
      const keys = await apiKeys.findByHashes(hashes)
      equal(keys.length, 2)
      for (const key of [ours, theirs])
        same(
          keys.find(({ keyHash }) => keyHash === key.keyHash),
          found(key),
        )
    },

    'a key is rotated: it gets an expiry, or another one': async ({ store, apiKeys, added }) => {
      const key = await added(await addTenant(store))
      let lastRotatedAt = null
      for (const ms of [1_000, 500]) {
        const rotation = { rotatedAt: at(ms - 1), expiresAt: at(ms) }
        equal(await apiKeys.end(key.apiKeyId, { lastRotatedAt, ...rotation }), true)
        same(await apiKeys.find(key.apiKeyId), { ...key, ...rotation })
        lastRotatedAt = rotation.rotatedAt
      }
      equal(await apiKeys.end(key.apiKeyId, { revokedAt: at(1) }), true)
      like(await apiKeys.find(key.apiKeyId), { rotatedAt: at(499), revokedAt: at(1) })
    },

    'of rotations at once one is made, and a key that was rotated since or revoked stays unchanged': async (
      scene,
    ) => {
      const { store, another, apiKeys, added } = scene
      const key = await added(await addTenant(store))
      const other = (await another()).apiKeys
      const rotate = (keys: typeof apiKeys, lastRotatedAt: string | null, ms: number) =>
        keys.end(key.apiKeyId, { lastRotatedAt, rotatedAt: at(ms), expiresAt: at(9_000) })
      const made = await Promise.all([apiKeys, other, apiKeys, other].map((keys, i) => rotate(keys, null, i)))
      same(made.filter(Boolean), [true])
      const { rotatedAt = null } = (await apiKeys.find(key.apiKeyId)) ?? {}
      equal(rotatedAt, at(made.indexOf(true)))
      equal(await rotate(other, at(5), 6), false)
      await apiKeys.end(key.apiKeyId, { revokedAt: at(7) })
      equal(await rotate(other, rotatedAt, 8), false)
      like(await apiKeys.find(key.apiKeyId), { rotatedAt, revokedAt: at(7) })
    },

    'a use is marked and nothing else is changed': async ({ store, apiKeys, added }) => {
      const key = await added(await addTenant(store))
      await apiKeys.markUsed(key.apiKeyId, at(1))
      await apiKeys.markUsed(key.apiKeyId, at(3_600_000))
      same(await apiKeys.find(key.apiKeyId), { ...key, lastUsedAt: at(3_600_000) })
    },

    'ending or marking an unknown key does nothing': async ({ store, apiKeys, added }) => {
      const tenant = await addTenant(store)
      const key = await added(tenant)
      equal(await apiKeys.end(newId('apikey'), { revokedAt: at(1) }), false)
      await apiKeys.markUsed(newId('apikey'), at(1))
      same(await apiKeys.list(tenant.tenantId), [key])
    },

    'a key that one store adds and ends is seen so by another on the same data': async (scene) => {
      const { store, another } = scene
      const other = await another()
      const key = someKey((await addTenant(store)).tenantId)
      await store.apiKeys.add(key)
      same(await other.apiKeys.findByHashes([key.keyHash]), [found(key)])
      await other.apiKeys.end(key.apiKeyId, { revokedAt: at(1) })
      same(await store.apiKeys.findByHashes([key.keyHash]), [found({ ...key, revokedAt: at(1) })])
    },

    'a key’s name and beginning keep every text as they are': async ({ store, apiKeys, added }) => {
      const tenant = await addTenant(store)
      const keys = []
      for (const text of AWKWARD_TEXTS) keys.push(await added(tenant, { name: text, start: text }))
      same(await apiKeys.list(tenant.tenantId), keys)
    },

    'a caller that changes what it was given or passed in changes nothing in the store': async ({
      store,
      apiKeys,
      added,
    }) => {
      const tenant = await addTenant(store)
      const key = await added(tenant)
      const before = structuredClone(key)
      for (const returned of [
        await apiKeys.find(key.apiKeyId),
        await apiKeys.findByHashes([key.keyHash]),
        await apiKeys.list(tenant.tenantId),
        key,
      ])
        scribbleOn(returned)
      same(await apiKeys.find(before.apiKeyId), before)
    },
  },
)
