import { sha256 } from '../../src/core/keys.ts'
import { AWKWARD_TEXTS, addTenant, at, newId, type SomeTenant, scribbleOn, someKey } from '../support/rows.ts'
import { EVERY_STORE, opened, overStores } from '../support/stores.ts'

overStores(async (t, kind) => {
  const { store } = await opened(t, kind)
  const { apiKeys } = store
  const added = async ({ tenantId }: SomeTenant, fields: Parameters<typeof someKey>[1] = {}) => {
    const key = someKey(tenantId, fields)
    await apiKeys.add(key)
    return key
  }

  t.test('a new database has no key until one is added, and then has had one', async (t) => {
    const tenant = await addTenant(store)
    t.equal(await apiKeys.isEmpty(), true)
    const { apiKeyId } = await added(tenant)
    await apiKeys.end(apiKeyId, { revokedAt: at(1) })
    t.equal(await apiKeys.isEmpty(), false)
  })

  t.test('a key is found by its hash, by its id and in its tenant’s list, with every field', async (t) => {
    const tenant = await addTenant(store)
    const key = await added(tenant, {
      name: 'Shop',
      scopes: ['pages:read', 'prospect_logs:write'],
      createdAt: at(1),
      expiresAt: at(2),
      revokedAt: at(3),
      lastUsedAt: at(4),
    })
    t.strictSame(await apiKeys.findByHash(key.keyHash), key)
    t.strictSame(await apiKeys.find(key.apiKeyId), key)
    t.strictSame(await apiKeys.list(tenant.tenantId), [key])
  })

  t.test('what a key has not is null', async (t) => {
    const key = await added(await addTenant(store))
    t.match(await apiKeys.find(key.apiKeyId), {
      name: null,
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
    })
  })

  t.test('a key that is not there is null', async (t) => {
    t.equal(await apiKeys.findByHash(sha256('nobody’s')), null)
    t.equal(await apiKeys.find(newId('apikey')), null)
    t.strictSame(await apiKeys.list(newId('tenant')), [])
  })

  t.test('one scope, some scopes or all of them are kept in their order', async (t) => {
    const tenant = await addTenant(store)
    for (const scopes of [
      ['pages:write'],
      ['pages:read', 'page_groups:read'],
      ['prospect_logs:write', 'page_groups:read', 'pages:read', 'pages:write'],
    ] as const) {
      const key = await added(tenant, { scopes })
      t.strictSame((await apiKeys.find(key.apiKeyId))?.scopes, scopes)
    }
  })

  t.test('a tenant’s keys are listed oldest first, ended ones too, and nobody else’s', async (t) => {
    const [ours, theirs] = [await addTenant(store), await addTenant(store)]
    const [oldest, newest] = [someKey(ours.tenantId), someKey(ours.tenantId, { revokedAt: at(9) })]
    const foreign = await added(theirs)
    await apiKeys.add(newest)
    await apiKeys.add(oldest)
    t.strictSame(await apiKeys.list(ours.tenantId), [oldest, newest])
    t.strictSame(await apiKeys.list(theirs.tenantId), [foreign])
  })

  t.test('a key is revoked, and only this one', async (t) => {
    const tenant = await addTenant(store)
    const [key, other] = [await added(tenant, { expiresAt: at(9_000) }), await added(tenant)]
    await apiKeys.end(key.apiKeyId, { revokedAt: at(123) })
    t.strictSame(await apiKeys.findByHash(key.keyHash), { ...key, revokedAt: at(123) })
    t.strictSame(await apiKeys.find(other.apiKeyId), other)
  })

  t.test('a key gets an end, or another one', async (t) => {
    const key = await added(await addTenant(store))
    await apiKeys.end(key.apiKeyId, { expiresAt: at(1_000) })
    t.strictSame(await apiKeys.find(key.apiKeyId), { ...key, expiresAt: at(1_000) })
    await apiKeys.end(key.apiKeyId, { expiresAt: at(500) })
    t.strictSame(await apiKeys.find(key.apiKeyId), { ...key, expiresAt: at(500) })
  })

  t.test('a use is marked and nothing else is changed', async (t) => {
    const key = await added(await addTenant(store))
    await apiKeys.markUsed(key.apiKeyId, at(1))
    await apiKeys.markUsed(key.apiKeyId, at(3_600_000))
    t.strictSame(await apiKeys.find(key.apiKeyId), { ...key, lastUsedAt: at(3_600_000) })
  })

  t.test('ending or marking a key that is not there does nothing', async (t) => {
    const tenant = await addTenant(store)
    const key = await added(tenant)
    await apiKeys.end(newId('apikey'), { revokedAt: at(1) })
    await apiKeys.markUsed(newId('apikey'), at(1))
    t.strictSame(await apiKeys.list(tenant.tenantId), [key])
  })

  t.test('what one store issues and ends, another on the same database sees', async (t) => {
    const { store, another } = await opened(t, kind)
    const other = await another()
    const key = someKey((await addTenant(store)).tenantId)
    await store.apiKeys.add(key)
    t.strictSame(await other.apiKeys.findByHash(key.keyHash), key)
    await other.apiKeys.end(key.apiKeyId, { revokedAt: at(1) })
    t.strictSame(await store.apiKeys.findByHash(key.keyHash), { ...key, revokedAt: at(1) })
  })

  t.test('a key’s name and beginning keep every text as they are', async (t) => {
    const tenant = await addTenant(store)
    const keys = []
    for (const text of AWKWARD_TEXTS) keys.push(await added(tenant, { name: text, start: text }))
    t.strictSame(await apiKeys.list(tenant.tenantId), keys)
  })

  t.test('scribbling on what was found or added changes nothing inside', async (t) => {
    const tenant = await addTenant(store)
    const key = await added(tenant)
    const before = structuredClone(key)
    for (const given of [
      await apiKeys.find(key.apiKeyId),
      await apiKeys.findByHash(key.keyHash),
      await apiKeys.list(tenant.tenantId),
      key,
    ])
      scribbleOn(given)
    t.strictSame(await apiKeys.find(before.apiKeyId), before)
  })
}, EVERY_STORE)
