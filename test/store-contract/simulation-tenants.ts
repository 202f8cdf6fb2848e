import type { LogCount, Store } from 'prospect-pages/store'
import { AWKWARD_TEXTS, idAt, LISTED, NOT_SEEN, readEach, sha256, someHook, someKey } from './rows.ts'
import { idOf, START_MS } from './setting.ts'
import { type MakeStep, maybe } from './simulation-calls.ts'
import { sortedBy, type World } from './simulation-world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const START_DAY = START_MS / (24 * HOUR_MS)
/** A time before now, by the clock of any database. */
const LONG_AGO = '2020-01-01T00:00:00.000Z'

/** Calls of an operator at the command line, and of the metrics. */
export const operate: MakeStep = (chance, seen) => {
  const tenantId = chance.onceIn(5) ? idOf('tenant', 999) : chance.oneOf(seen.tenants)
  const name = maybe(chance, () => chance.oneOf(AWKWARD_TEXTS))
  const retentionDays = maybe(chance, () => chance.oneOf([null, 0, 1, 2]))
  const afterId = seen.logs.at(-1 - chance.below(100))?.prospectLogId ?? ''
  const afterTenantId = chance.oneOf(['', ...seen.tenants])
  const isSuspended = chance.onceIn(4)
  const isListed = chance.onceIn(2)
  const passing = { tenantId: idOf('tenant', 1_000 + chance.below(1e9)), brandId: idOf('brand', 999) }
  return {
    name: 'operate',
    run: async ({ store, now }) => [
      await store.tenants.setState(tenantId, { suspendedAt: isSuspended ? now() : null, deletedAt: null }),
      ...(await addAndRemoveTenant(store, passing, now())),
      ...(await listAndUnlist(store, tenantId, isListed, now())),
      await store.tenants.update(tenantId, {
        ...(name !== undefined && { name }),
        ...(retentionDays !== undefined && { retentionDays }),
      }),
      await store.tenants.list(afterTenantId, 2),
      await store.tenants.find(tenantId),
      await store.tenants.brands(tenantId),
      await store.prospectLogs.listOldest({ tenantId, afterId, beforeId: '~', limit: 10 }),
      await store.prospects.listOldest({ tenantId, afterId: '', limit: 10 }),
      await store.versions.backlog(1e6),
      await readEach(store.versions.tally, seen.pages.slice(-20)),
      await store.erasures.backlog(1e6),
      await store.merges.backlog(1e6),
      await store.webhooks.backlog(1e6),
    ],
  }
}

/** An email that identifies no one while it is listed. */
const listAndUnlist = async (
  { placeholders }: Pick<Store, 'placeholders'>,
  tenantId: string,
  isListed: boolean,
  now: string,
): Promise<unknown[]> => {
  const entry = { tenantId, kind: 'email' as const, hash: sha256(LISTED), value: LISTED }
  const domain = 'unused.example'
  return [
    isListed ? await placeholders.add(entry, null, now) : await placeholders.remove(entry),
    await placeholders.list(tenantId),
    await placeholders.releaseSome({ tenantId, domain, afterHash: '', max: 10, now }),
  ]
}

const addAndRemoveTenant = async (
  { tenants }: Pick<Store, 'tenants'>,
  tenant: { readonly tenantId: string; readonly brandId: string },
  now: string,
): Promise<unknown[]> => {
  const { tenantId } = tenant
  await tenants.add({ ...tenant, name: 'Passing', createdAt: now })
  const answers: unknown[] = [
    await tenants.setState(tenantId, { suspendedAt: now, deletedAt: now }),
    await tenants.deleting(),
  ]
  let after = await tenants.removeSome({ tenantId, after: null, max: 2 })
  while (after !== null) after = await tenants.removeSome({ tenantId, after, max: 2 })
  answers.push(await tenants.left(tenantId), await tenants.remove(tenantId), await tenants.find(tenantId))
  return answers
}

/** An API key is added, and one is rotated or revoked. */
export const useKeys: MakeStep = (chance, seen) => {
  const tenantId = chance.oneOf(seen.tenants)
  const added = someKey(tenantId, { name: chance.oneOf([null, ...AWKWARD_TEXTS]) })
  const ended = chance.oneOf([added, ...seen.keys])
  const keyHashes = ['unknown', added.keyHash, ...seen.keys.map(({ keyHash }) => keyHash).slice(-2)]
  const isRevoked = chance.onceIn(2)
  return {
    name: 'use keys',
    run: async ({ store: { apiKeys }, now }) => [
      await apiKeys.isEmpty(),
      await apiKeys.add({ ...added, createdAt: now() }),
      await apiKeys.end(
        ended.apiKeyId,
        isRevoked
          ? { revokedAt: now() }
          : { lastRotatedAt: null, rotatedAt: now(), expiresAt: now(MINUTE_MS) },
      ),
      await apiKeys.markUsed(ended.apiKeyId, now()),
      await apiKeys.find(ended.apiKeyId),
      sortedBy('apiKeyId', await apiKeys.findByHashes(keyHashes)),
      await apiKeys.list(tenantId),
    ],
    learn: () => void seen.keys.push(added),
  }
}

/** Logs are counted, or counts are removed; and what a key used is added and summed. */
export const useCounts: MakeStep = (chance, seen) => {
  const tenantId = chance.oneOf(seen.tenants)
  const afterTenantId = chance.oneOf(['', ...seen.tenants])
  const tenantsMax = 1 + chance.below(3)
  const isRead = chance.onceIn(3)
  const beforeId = seen.logs.at(-1 - chance.below(20))?.prospectLogId ?? '~'
  const closedInMs = chance.oneOf([-MINUTE_MS, 0, 3, 1_000])
  const hour = new Date(START_MS + chance.below(3) * HOUR_MS).toISOString()
  const countOf = (unit: LogCount['unit']): LogCount => ({
    unit,
    at: hour,
    source: chance.oneOf(AWKWARD_TEXTS),
    type: chance.oneOf(AWKWARD_TEXTS),
    count: 1 + chance.below(9),
    newProspects: chance.below(9),
  })
  const hourly = countOf('hour')
  const daily = countOf('day')
  const source = chance.oneOf([null, hourly.source])
  const day = START_DAY + chance.below(3)
  const place = { kind: chance.oneOf(['page', 'source'] as const), name: chance.oneOf(AWKWARD_TEXTS), day }
  const { prospectId } = chance.oneOf([{ prospectId: 'unknown' }, ...seen.prospects])
  const counted = { ...place, daysSince: chance.oneOf([0, 1, 32]), count: 2, newProspects: chance.below(3) }
  const firstDay = chance.oneOf([null, START_DAY])
  const removesCounts = chance.onceIn(5)
  const apiKeyId = chance.oneOf(['none', ...seen.keys.map(({ apiKeyId }) => apiKeyId)])
  const used = { tenantId, apiKeyId, requests: 1 + chance.below(9), activities: 1, bytes: chance.below(99) }
  return {
    name: 'use counts',
    run: async ({ store: { counts, prospectCounts }, now, clock }) => {
      if (isRead) await counts.markRead(tenantId, now())
      // Sometimes ahead of this clock: then logs get later ids.
      const closedTo = idAt('prospectlog', clock() + closedInMs, '')
      const isClosed = await counts.close(tenantId, closedTo, LONG_AGO)
      const found = await counts.find(tenantId)
      const from = found?.position ?? ''
      const moved = { tenantId, from, to: found?.nextId ?? from }
      const change = removesCounts
        ? { ...moved, removeFrom: hour }
        : {
            ...moved,
            removeFrom: null,
            add: [hourly, daily],
            addProspects: [counted],
            addDays: [{ ...place, prospectId }],
          }
      const days = { tenantId, since: START_DAY, until: START_DAY + 3 }
      return [
        isClosed,
        found,
        inAnyOrder(await counts.tally({ tenantId, afterId: from, beforeId, max: 5 })),
        await counts.record(change),
        await counts.record({ ...change, from: 'elsewhere' }),
        inAnyOrder(await prospectCounts.tally({ tenantId, afterId: from, toId: '~', day })),
        inAnyOrder(await prospectCounts.namesOn(tenantId, day)),
        inAnyOrder(await prospectCounts.list({ ...days, kind: place.kind, firstDay })),
        await countsSince(counts, hour, { tenantId, source, until: now(HOUR_MS) }),
        await counts.addUsage(hour, [used], { before: now(-1e12), after: now(1e12), max: 1 }),
        inAnyOrder(await counts.sumUsage({ tenantId, since: hour, rowsMax: 1e6, limit: 1e6 })),
        await counts.waiting({
          afterTenantId,
          readSince: now(-MINUTE_MS),
          beforeId,
          beyondId: '~',
          max: tenantsMax,
        }),
      ]
    },
  }
}

/** People are indexed for the search, or indexed again. */
export const indexPeople: MakeStep = (chance, seen) => {
  const tenantId = chance.oneOf(seen.tenants)
  const afterTenantId = chance.oneOf(['', ...seen.tenants])
  const mark = chance.oneOf(['position', 'checked'] as const)
  const max = 1 + chance.below(9)
  const rewinds = chance.onceIn(9)
  return {
    name: 'index people',
    run: async ({ store: { searchIndex }, now }) => {
      await searchIndex.markSearched(tenantId, now())
      const found = await searchIndex.find(tenantId)
      const step = { tenantId, mark, beforeId: '~', max }
      return [
        found,
        await searchIndex.extend({ ...step, from: found?.[mark] ?? '' }),
        await searchIndex.extend({ ...step, from: 'elsewhere' }),
        rewinds && (await searchIndex.rewind(tenantId, found?.checked ?? '')),
        await searchIndex.waiting({
          afterTenantId,
          searchedSince: now(-MINUTE_MS),
          beforeId: '~',
          checkBeforeId: '~',
          max,
        }),
      ]
    },
  }
}

const countsSince = async (
  { list }: World['store']['counts'],
  since: string,
  query: { readonly tenantId: string; readonly source: string | null; readonly until: string },
) => {
  const { rows } = await list({ ...query, unit: 'hour', since, type: null, after: null, limit: 1e6 })
  return inAnyOrder(rows)
}

/** Rows, and the members of each, in an order that does not depend on the store. */
const inAnyOrder = (rows: readonly object[]): string[] =>
  rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort()

/** A hook is added, and one is changed, used and perhaps removed. */
export const useHooks: MakeStep = (chance, seen) => {
  const tenantId = chance.oneOf(seen.tenants)
  const added = someHook(tenantId, {
    slot: 1 + chance.below(4),
    source: chance.oneOf(AWKWARD_TEXTS),
    idempotencyKey: chance.oneOf(['one', null]),
  })
  const used = chance.oneOf([added, ...seen.hooks])
  const status = chance.oneOf(['enabled', 'disabled'] as const)
  const lastRefusal = chance.oneOf([null, 'why'])
  const lastWarning = chance.oneOf([null, 'what'])
  const isRemoved = chance.onceIn(3)
  const beforeId = chance.oneOf([null, used.hookId])
  return {
    name: 'use hooks',
    run: async ({ store: { hooks }, now }) => {
      const before = await hooks.find(used)
      const hookIds = new Set([added.hookId, used.hookId, 'unknown'])
      return [
        await hooks.add({ ...added, createdAt: now(), updatedAt: now() }),
        await hooks.change({ ...used, tenantId, status, updatedAt: now(1) }, before?.updatedAt ?? now()),
        await hooks.markSeen(used, { ...NOT_SEEN, lastReceivedAt: now(), lastRefusal, lastWarning }),
        isRemoved && (await hooks.remove({ tenantId, hookId: used.hookId })),
        sortedBy('hookId', await hooks.findByIds([...hookIds])),
        await hooks.list({ tenantId, beforeId, limit: 2 }),
        (await hooks.slots(tenantId)).toSorted(),
        await hooks.findByKey({ tenantId, idempotencyKey: 'one' }),
      ]
    },
    learn: () => void seen.hooks.push(added),
  }
}
