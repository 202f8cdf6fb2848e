import t from 'tap'
import { SCOPES, type Scope } from '../../../src/core/ports/api-keys.ts'
import { apiKeyHashOf, isApiKeyText } from '../../../src/core/tenants/api-key-text.ts'
import { issueApiKey } from '../../../src/core/tenants/issue-api-key.ts'
import { listApiKeys } from '../../../src/core/tenants/list-api-keys.ts'
import { revokeApiKey } from '../../../src/core/tenants/revoke-api-key.ts'
import { rotateApiKey } from '../../../src/core/tenants/rotate-api-key.ts'
import { identifyIn } from '../../support/identify.ts'
import { idOf } from '../../support/setting.ts'
import { refusalOf, scene } from '../scene.ts'

const DAY_MS = 86_400_000

const setUp = async () => {
  const world = await scene()
  const wanted = {
    tenantId: world.tenantId,
    name: 'crm',
    scopes: SCOPES as readonly Scope[],
    lifeMs: null as number | null,
  }
  return {
    ...world,
    wanted,
    issue: (fields: Partial<typeof wanted> = {}) => issueApiKey(world)({ ...wanted, ...fields }),
    list: listApiKeys(world),
    revoke: revokeApiKey(world),
    rotate: rotateApiKey(world),
    identify: identifyIn(world.store.apiKeys, world.clock),
  }
}

t.test('an issued key has the scopes that were asked for, and need not expire', async (t) => {
  const { issue, tenantId } = await setUp()
  const issued = await issue()
  t.strictSame(issued, {
    apiKeyId: issued.apiKeyId,
    tenantId,
    start: issued.apiKey.slice(0, 8),
    name: 'crm',
    scopes: SCOPES,
    createdAt: '2026-01-01T00:00:00.000Z',
    expiresAt: null,
    revokedAt: null,
    rotatedAt: null,
    lastUsedAt: null,
    apiKey: issued.apiKey,
  })
  t.match(issued.apiKeyId, /^apikey_[a-z0-9]{26}$/)
  t.ok(isApiKeyText(issued.apiKey))
})

t.test('a key without scopes, or with one that does not exist, is refused', async (t) => {
  const { issue, list, tenantId } = await setUp()
  const both = ['prospect_logs:write', 'pages:published', 'pages:read']
  for (const scopes of [[], undefined, ['pages:eat'], both] as unknown as Scope[][]) {
    const no = await refusalOf(issue({ scopes }))
    t.match(no, { kind: 'invalid_request', facts: { errors: [{ pointer: '/scopes' }] } })
  }
  t.strictSame(await list(tenantId), [])
})

t.test('a key for a website has pages:published, alone or with scopes other than pages:read', async (t) => {
  const { issue } = await setUp()
  for (const scopes of [['pages:published'], ['pages:published', 'prospect_logs:write']] as Scope[][])
    t.strictSame((await issue({ scopes })).scopes, scopes)
})

t.test('a key is shown once: only what it hashes to is kept', async (t) => {
  const { issue, list, store, tenantId } = await setUp()
  const { apiKey, apiKeyId } = await issue()
  const kept = await store.apiKeys.find(apiKeyId)
  t.equal(kept?.keyHash, apiKeyHashOf(apiKey))
  t.notOk(JSON.stringify([kept, await list(tenantId)]).includes(apiKey))
})

t.test('the keys of a tenant are listed oldest first, ended ones too, without their hashes', async (t) => {
  const { issue, list, revoke, strangerId, tenantId } = await setUp()
  const first = await issue()
  const second = await issue()
  await issue({ tenantId: strangerId })
  await revoke(first.apiKeyId)
  const keys = await list(tenantId)
  t.match(keys, [
    { apiKeyId: first.apiKeyId, revokedAt: '2026-01-01T00:00:00.000Z' },
    { apiKeyId: second.apiKeyId, revokedAt: null },
  ])
  t.equal(keys.length, 2)
  t.notOk(JSON.stringify(keys).includes('Hash'))
})

t.test('an unknown tenant has no keys', async (t) => {
  const { issue, list } = await setUp()
  t.equal((await refusalOf(issue({ tenantId: idOf('tenant', 99) }))).kind, 'not_found')
  t.equal((await refusalOf(list(idOf('tenant', 99)))).kind, 'not_found')
})

t.test('a revoked key ends at once', async (t) => {
  const { identify, issue, revoke } = await setUp()
  const { apiKey, apiKeyId } = await issue()
  await identify(apiKey)
  t.equal((await revoke(apiKeyId)).revokedAt, '2026-01-01T00:00:00.000Z')
  t.equal((await refusalOf(identify(apiKey))).kind, 'invalid_api_key')
})

t.test('a key that is revoked twice is unchanged', async (t) => {
  const { clock, issue, list, revoke, tenantId } = await setUp()
  const { apiKeyId } = await issue()
  const first = await revoke(apiKeyId)
  clock.advance(1_000)
  t.strictSame(await revoke(apiKeyId), first)
  t.strictSame(await list(tenantId), [first])
})

t.test('an unknown key can be neither revoked nor rotated', async (t) => {
  const { revoke, rotate } = await setUp()
  t.equal((await refusalOf(revoke(idOf('apikey', 99)))).kind, 'not_found')
  t.equal((await refusalOf(rotate(idOf('apikey', 99), 0))).kind, 'not_found')
})

t.test('a rotated key works beside the new one for a while', async (t) => {
  const { clock, identify, issue, rotate } = await setUp()
  const old = await issue({ scopes: ['pages:read'] })
  const fresh = await rotate(old.apiKeyId, 1_000)
  t.match(fresh, { name: 'crm', scopes: ['pages:read'], expiresAt: null })
  t.not(fresh.apiKey, old.apiKey)
  clock.advance(999)
  t.equal((await identify(old.apiKey)).apiKeyId, old.apiKeyId)
  clock.advance(1)
  t.equal((await refusalOf(identify(old.apiKey))).kind, 'invalid_api_key')
  t.equal((await identify(fresh.apiKey)).apiKeyId, fresh.apiKeyId)
})

t.test(
  'a key that ends sooner than the overlap keeps its end, and the new one lives as long as it did',
  async (t) => {
    const { clock, issue, rotate, store } = await setUp()
    const old = await issue({ lifeMs: 10_000 })
    clock.advance(9_000)
    const fresh = await rotate(old.apiKeyId, 5_000)
    t.equal((await store.apiKeys.find(old.apiKeyId))?.expiresAt, '2026-01-01T00:00:10.000Z')
    t.equal(fresh.expiresAt, '2026-01-01T00:00:19.000Z')
  },
)

t.test('a key that has ended cannot be rotated', async (t) => {
  const { clock, issue, list, revoke, rotate, tenantId } = await setUp()
  const revoked = await revoke((await issue()).apiKeyId)
  const expired = await issue({ lifeMs: 1_000 })
  clock.advance(1_000)
  t.equal((await refusalOf(rotate(revoked.apiKeyId, 0))).kind, 'invalid_request')
  t.equal((await refusalOf(rotate(expired.apiKeyId, 0))).kind, 'invalid_request')
  t.equal((await list(tenantId)).length, 2)
})

t.test('a key in its overlap cannot be rotated again, but its successor can', async (t) => {
  const { clock, issue, list, rotate, tenantId } = await setUp()
  for (const lifeMs of [null, 90 * DAY_MS]) {
    const old = await issue({ name: `${lifeMs}`, lifeMs })
    clock.advance(1_234)
    const fresh = await rotate(old.apiKeyId, DAY_MS)
    clock.advance(1_234)
    const before = await list(tenantId)
    t.match(await refusalOf(rotate(old.apiKeyId, DAY_MS)), {
      kind: 'invalid_request',
      message: 'This key was already rotated; rotate its successor or create a key.',
    })
    t.strictSame(await list(tenantId), before)
    const { createdAt, expiresAt } = await rotate(fresh.apiKeyId, DAY_MS)
    t.equal(expiresAt && Date.parse(expiresAt) - Date.parse(createdAt), lifeMs)
  }
})

t.test('of two rotations at once one is refused, and leaves no key that can be used', async (t) => {
  const { issue, list, rotate, tenantId } = await setUp()
  const { apiKeyId } = await issue()
  const outcomes = await Promise.allSettled([rotate(apiKeyId, DAY_MS), rotate(apiKeyId, DAY_MS)])
  t.same(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const live = (await list(tenantId)).filter(({ revokedAt }) => revokedAt === null)
  t.equal(live.length, 2, 'it and its successor')
  t.match(await refusalOf(rotate(apiKeyId, DAY_MS)), { message: /already rotated/ })
})

t.test('a key whose successor was revoked can be rotated again, for as long as it was issued', async (t) => {
  const { clock, issue, revoke, rotate } = await setUp()
  for (const lifeMs of [null, 90 * DAY_MS]) {
    const old = await issue({ name: `${lifeMs}`, lifeMs })
    for (let i = 0; i < 2; i++) {
      clock.advance(1_234)
      const fresh = await rotate(old.apiKeyId, DAY_MS)
      t.equal(fresh.expiresAt && Date.parse(fresh.expiresAt) - Date.parse(fresh.createdAt), lifeMs)
      if (i === 1) await rotate(fresh.apiKeyId, DAY_MS)
      await revoke(fresh.apiKeyId)
    }
    t.match(
      await refusalOf(rotate(old.apiKeyId, DAY_MS)),
      { message: /already rotated/ },
      'that one has a successor',
    )
  }
})

t.test('a key that expires can be rotated although a later key has its name and scopes', async (t) => {
  const { clock, issue, rotate } = await setUp()
  const old = await issue({ lifeMs: 90 * DAY_MS })
  clock.advance(60_000)
  await issue({ lifeMs: 90 * DAY_MS })
  t.equal((await rotate(old.apiKeyId, DAY_MS)).expiresAt, '2026-04-01T00:01:00.000Z')
})
