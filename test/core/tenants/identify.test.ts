import t from 'tap'
import { SCOPES, type Scope } from '../../../src/core/ports/api-keys.ts'
import { apiKeyHashOf, newApiKeyText } from '../../../src/core/tenants/api-key-text.ts'
import { identify } from '../../../src/core/tenants/identify.ts'
import { issueApiKey } from '../../../src/core/tenants/issue-api-key.ts'
import { revokeApiKey } from '../../../src/core/tenants/revoke-api-key.ts'
import { identifyIn } from '../../support/identify.ts'
import { refusalOf, scene } from '../scene.ts'

const FIVE_MINUTES_MS = 300_000

/** A tenant with a key, and how often the store was asked for one. */
const setUp = async ({ lifeMs = null as number | null, scopes = SCOPES as readonly Scope[] } = {}) => {
  const world = await scene()
  const issued = await issueApiKey(world)({ tenantId: world.tenantId, name: null, scopes, lifeMs })
  let lookUps = 0
  const findByHashes = (keyHashes: readonly string[]) => {
    lookUps++
    return world.store.apiKeys.findByHashes(keyHashes)
  }
  return {
    ...world,
    ...issued,
    identify: identifyIn({ ...world.store.apiKeys, findByHashes }, world.clock),
    lookUps: () => lookUps,
    lastUsedAt: async () => (await world.store.apiKeys.find(issued.apiKeyId))?.lastUsedAt,
  }
}

t.test('a key identifies its tenant and its scopes', async (t) => {
  const { apiKey, apiKeyId, identify, tenantId } = await setUp({ scopes: ['pages:read'] })
  t.strictSame(await identify(apiKey), { tenantId, apiKeyId, scopes: ['pages:read'], isSuspended: false })
})

t.test('without a key nobody is known', async (t) => {
  const { identify } = await setUp()
  t.equal((await refusalOf(identify(undefined))).kind, 'missing_api_key')
  t.equal((await refusalOf(identify(''))).kind, 'missing_api_key')
})

t.test('a typing mistake is refused without a look into the store', async (t) => {
  const { apiKey, identify, lookUps } = await setUp()
  const last = apiKey.endsWith('0') ? '1' : '0'
  t.equal((await refusalOf(identify(apiKey.slice(0, -1) + last))).kind, 'invalid_api_key')
  t.equal(lookUps(), 0)
})

t.test('an unknown, a revoked and an expired key are refused alike', async (t) => {
  const { apiKey, apiKeyId, clock, identify, ...world } = await setUp()
  const no = await refusalOf(identify(newApiKeyText()))
  t.equal(no.kind, 'invalid_api_key')
  const { apiKey: brief } = await issueApiKey({ ...world, clock })({
    ...world,
    name: null,
    scopes: SCOPES,
    lifeMs: 1_000,
  })
  clock.advance(1_000)
  t.strictSame(await refusalOf(identify(brief)), no)
  await revokeApiKey({ ...world, clock })(apiKeyId)
  t.strictSame(await refusalOf(identify(apiKey)), no)
})

t.test('a key with an end works up to its last millisecond', async (t) => {
  const { apiKey, apiKeyId, clock, identify } = await setUp({ lifeMs: 1_000 })
  clock.advance(999)
  t.equal((await identify(apiKey)).apiKeyId, apiKeyId)
  clock.advance(1)
  t.equal((await refusalOf(identify(apiKey))).kind, 'invalid_api_key')
})

t.test('a refused key does not count as used', async (t) => {
  const { apiKey, clock, identify, lastUsedAt } = await setUp({ lifeMs: 1_000 })
  clock.advance(1_000)
  await refusalOf(identify(apiKey))
  t.equal(await lastUsedAt(), null)
})

t.test('when a key was last used is known to five minutes', async (t) => {
  const { apiKey, clock, identify, lastUsedAt } = await setUp()
  await identify(apiKey)
  t.equal(await lastUsedAt(), '2026-01-01T00:00:00.000Z')
  clock.advance(FIVE_MINUTES_MS - 1)
  await identify(apiKey)
  t.equal(await lastUsedAt(), '2026-01-01T00:00:00.000Z')
  clock.advance(1)
  await identify(apiKey)
  t.equal(await lastUsedAt(), '2026-01-01T00:05:00.000Z')
})

t.test('another process that marked the key within five minutes is enough', async (t) => {
  const { apiKey, clock, identify: ours, lastUsedAt, store } = await setUp()
  await ours(apiKey)
  clock.advance(FIVE_MINUTES_MS - 1)
  const theirs = identifyIn(store.apiKeys, clock)
  await theirs(apiKey)
  t.equal(await lastUsedAt(), '2026-01-01T00:00:00.000Z')
})

t.test('a use that a clock marked which was ahead is marked anew', async (t) => {
  const { apiKey, clock, identify: ours, lastUsedAt, store } = await setUp()
  const dayAhead = () => clock() + 86_400_000
  await identifyIn(store.apiKeys, dayAhead)(apiKey)
  t.equal(await lastUsedAt(), '2026-01-02T00:00:00.000Z')
  await ours(apiKey)
  t.equal(await lastUsedAt(), '2026-01-01T00:00:00.000Z')
})

t.test('a key is good even where its use cannot be marked', async (t) => {
  const { apiKey, apiKeyId, clock, store } = await setUp()
  const markUsed = () => Promise.reject(new Error('the disk is full'))
  const caller = await identifyIn({ ...store.apiKeys, markUsed }, clock)(apiKey)
  t.equal(caller.apiKeyId, apiKeyId)
})

t.test(
  'a key that was valid when it was last looked up does not wait with the guesses of its address',
  async (t) => {
    const { apiKey, apiKeyId, clock, store } = await setUp()
    const find = async (keyHash: string) => (await store.apiKeys.findByHashes([keyHash]))[0] ?? null
    const limited: string[] = []
    const limitGuesses = (address: string) => {
      limited.push(address)
      return new Promise<never>(() => {})
    }
    const known = identify({
      apiKeys: store.apiKeys,
      keys: { find, isKnown: (keyHash) => keyHash === apiKeyHashOf(apiKey) },
      clock,
      limitGuesses,
    })
    void known(newApiKeyText(), '10.0.0.1')
    t.equal((await known(apiKey, '10.0.0.1')).apiKeyId, apiKeyId)
    t.strictSame(limited, ['10.0.0.1'])
  },
)
