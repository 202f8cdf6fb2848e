import type { Store } from 'prospect-pages/store'
import type { Random } from './random.ts'
import { AWKWARD_TEXTS, idAt, NOT_SEEN, someHook, someKey } from './rows.ts'
import { idOf, START_MS } from './setting.ts'
import {
  callsInTurn,
  cursorFrom,
  KEYS,
  type MakeStep,
  manyCalls,
  maybe,
  PAYLOADS,
  prospectFrom,
  RECENT,
  remember,
  type Seen,
  wantFrom,
} from './simulation-calls.ts'
import { sortedBy } from './simulation-world.ts'

const EMAILS = [
  ...['a@x', ' A@X ', 'b@x', 'c@x', 'd@x', 'e@x', 'f@x', 'É@x', 'e\u0301@x', 'İ@x', 'ß@x', 'SS@x'],
  ...['A <a@x>', 'mailto:b@x', 'c@x\u200b', 'i@münchen.example', 'i@xn--mnchen-3ya.example'],
  ...['', 'N/A', '[object Object]', '{{a@x}}', 'Berlin', `${'l'.repeat(990)}@x`, `${'long'.repeat(2_500)}@x`],
  ...AWKWARD_TEXTS,
]
const EXTERNAL_IDS = [
  '1',
  ' 1',
  'a@x',
  'A@x',
  'crm 1',
  '0',
  ' ',
  'N/A',
  '[object Object]',
  '*|ID|*',
  ...AWKWARD_TEXTS.filter(Boolean),
]
const NAMES = ['Ada', 'Grace', 'NULL', '\\']
const TIMES = ['1970-01-01T00:00:00.000Z', '2026-01-01T23:00:00.000Z', '2999-12-31T23:59:59.999Z']
export const SOURCES = ['crm', 'shop', 'NULL', '😀']
export const LOG_TYPES = ['webhook', 'form', '"']

/** An identifier that a prospect has or had, as a caller names it. */
const namedFrom = (chance: Random, seen: Seen): { tenantId: string; email?: string; externalId?: string } => {
  const some = chance.onceIn(2) ? seen.identifiers : seen.identifiers.slice(-RECENT * 8)
  if (some.length === 0) return { tenantId: chance.oneOf(seen.tenants), email: emailFrom(chance) }
  const { tenantId, kind, value } = chance.oneOf(some)
  return kind === 'email' ? { tenantId, email: value } : { tenantId, externalId: value }
}

const emailFrom = (chance: Random): string =>
  chance.onceIn(3) ? `p${chance.below(300)}@x` : chance.oneOf(EMAILS)

const externalIdFrom = (chance: Random): string =>
  chance.onceIn(2) ? `x${chance.below(100)}` : chance.oneOf(EXTERNAL_IDS)

export const logActivities: MakeStep = (chance, seen) =>
  manyCalls('log activities', chance, 'logProspectActivity', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    source: chance.oneOf(SOURCES),
    type: chance.oneOf(LOG_TYPES),
    payload: { rawJson: chance.oneOf(PAYLOADS) },
    email: chance.onceIn(3) ? undefined : emailFrom(chance),
    externalId: chance.onceIn(3) ? externalIdFrom(chance) : undefined,
    name: maybe(chance, () => chance.oneOf(NAMES)),
    // Few enough that some come again, for another request.
    idempotencyKey: chance.onceIn(3) ? `${chance.oneOf(KEYS)}${chance.below(100)}` : undefined,
    occurredAt: chance.onceIn(4) ? chance.oneOf(TIMES) : undefined,
    ...(chance.onceIn(4) && prospectFrom(chance, seen)),
  }))

/** People who come back, by what identified them before. */
export const logReturning: MakeStep = (chance, seen) =>
  manyCalls('log returning', chance, 'logProspectActivity', seen, () => ({
    source: chance.oneOf(SOURCES),
    type: chance.oneOf(LOG_TYPES),
    payload: { rawJson: chance.oneOf(PAYLOADS) },
    ...namedFrom(chance, seen),
  }))

export const createProspects: MakeStep = (chance, seen) =>
  manyCalls('create prospects', chance, 'createProspect', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    email: maybe(chance, () => emailFrom(chance)),
    externalId: maybe(chance, () => externalIdFrom(chance)),
    name: maybe(chance, () => chance.oneOf(NAMES)),
  }))

export const correctProspects: MakeStep = (chance, seen) =>
  callsInTurn('correct prospects', chance, 'updateProspect', seen, () => ({
    ...prospectFrom(chance, seen),
    email: maybe(chance, () => (chance.onceIn(4) ? null : emailFrom(chance))),
    externalId: maybe(chance, () => (chance.onceIn(4) ? null : externalIdFrom(chance))),
    name: maybe(chance, () => chance.oneOf([null, '', ...NAMES])),
  }))

/** Takes an identifier that another prospect may have had, or the same one. */
export const takeIdentifiers: MakeStep = (chance, seen) =>
  callsInTurn('take identifiers', chance, 'updateProspect', seen, () => {
    const { prospectId } = prospectFrom(chance, seen)
    return { prospectId, ...namedFrom(chance, seen) }
  })

export const mergeProspects: MakeStep = (chance, seen) =>
  callsInTurn('merge prospects', chance, 'mergeProspect', seen, () => {
    const recent = { ...seen, prospects: seen.prospects.slice(-RECENT * 8) }
    // Most of those that are erased are older.
    const prospect = prospectFrom(chance, chance.onceIn(4) ? seen : recent)
    const into = chance.onceIn(8) ? prospect : prospectFrom(chance, recent)
    return { ...prospect, into: into.prospectId }
  })

export const moveMerged: MakeStep = () => ({
  name: 'move merged',
  run: async ({ moveMerged }) => [await moveMerged()],
})

export const claimMerges: MakeStep = () => ({
  name: 'claim merges and die',
  run: ({ claimMerges }) => claimMerges(),
})

export const readProspects: MakeStep = (chance, seen) =>
  manyCalls('read prospects', chance, 'getProspect', seen, () => prospectFrom(chance, seen))

export const listProspects: MakeStep = (chance, seen) =>
  manyCalls('list prospects', chance, 'listProspects', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    email: chance.onceIn(3) ? emailFrom(chance) : undefined,
    externalId: chance.onceIn(4) ? externalIdFrom(chance) : undefined,
    ...cursorFrom(chance, seen, 'list prospects'),
    limit: 1 + chance.below(10),
  }))

export const searchProspects: MakeStep = (chance, seen) =>
  manyCalls('search prospects', chance, 'listProspects', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    search: (chance.onceIn(2) ? emailFrom(chance) : 'Ada').slice(0, 1 + chance.below(6)),
    limit: 1 + chance.below(10),
  }))

const filterFrom = (chance: Random) => ({
  source: maybe(chance, () => chance.oneOf(SOURCES)),
  type: chance.onceIn(4) ? chance.oneOf(LOG_TYPES) : undefined,
  since: chance.onceIn(4) ? chance.oneOf(TIMES) : undefined,
  until: chance.onceIn(4) ? chance.oneOf(TIMES) : undefined,
})

export const readLogs: MakeStep = (chance, seen) =>
  manyCalls('read activities', chance, 'getProspectLog', seen, () =>
    wantFrom(chance, seen, seen.logs, {
      ...prospectFrom(chance, seen),
      prospectLogId: idOf('prospectlog', chance.below(10_000)),
    }),
  )

export const listLogs: MakeStep = (chance, seen) =>
  manyCalls('list activities', chance, 'listProspectLogs', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    ...filterFrom(chance),
    idempotencyKey: chance.onceIn(4) ? `${chance.oneOf(KEYS)}${chance.below(100)}` : undefined,
    ...cursorFrom(chance, seen, 'list activities'),
    limit: 1 + chance.below(10),
  }))

export const listTimelines: MakeStep = (chance, seen) =>
  manyCalls('list timelines', chance, 'listTimeline', seen, () => ({
    ...prospectFrom(chance, seen),
    ...filterFrom(chance),
    ...cursorFrom(chance, seen, 'list timelines'),
    limit: 1 + chance.below(3),
  }))

export const requestErasures: MakeStep = (chance, seen) =>
  callsInTurn('request erasures', chance, 'eraseProspect', seen, () => ({
    ...whomFrom(chance, seen),
    blockDays: chance.below(3),
  }))

/**
 * Someone whose email was corrected is erased: perhaps after a merge, after another person got the former email, or after
 * that was blocked. Then the person comes back by each of the emails.
 */
export const eraseCorrected: MakeStep = (chance, seen) => {
  const name = 'erase the corrected'
  const tenantId = chance.oneOf(seen.tenants)
  const [former, present, other] = Array.from({ length: 3 }, () => `s${chance.below(1e6)}@x`)
  const isMerged = chance.onceIn(2)
  const meanwhile = chance.oneOf(['nothing', 'taken', 'blocked'])
  const byId = chance.onceIn(2)
  const blockDays = chance.below(3)
  const activity = { tenantId, source: 'crm', type: 'webhook', payload: { rawJson: '{}' } }
  return {
    name,
    run: async ({ calls, refusal }) => {
      const answers: unknown[] = []
      const noted = async <Answer>(call: Promise<Answer>) => {
        const answer = await call.catch(refusal)
        answers.push(answer)
        return answer as Partial<Answer>
      }
      const { value: prospect } = await noted(calls.createProspect({ tenantId, email: former }))
      const prospectId = prospect?.prospectId ?? ''
      await noted(calls.updateProspect({ tenantId, prospectId, email: present }))
      if (meanwhile === 'taken') await noted(calls.logProspectActivity({ ...activity, email: former }))
      if (meanwhile === 'blocked') await noted(calls.eraseProspect({ tenantId, email: former, blockDays }))
      if (isMerged) {
        const { value: survivor } = await noted(calls.createProspect({ tenantId, email: other }))
        const into = survivor?.prospectId ?? ''
        await noted(calls.mergeProspect({ tenantId, prospectId, into }))
      }
      const whom = byId ? { prospectId } : { email: present }
      await noted(calls.eraseProspect({ tenantId, blockDays, ...whom }))
      for (const email of [former, present, other])
        await noted(calls.logProspectActivity({ ...activity, email }))
      return answers
    },
    learn: (answers) => {
      for (const answer of answers) remember(name, { tenantId }, Object(answer), seen)
    },
  }
}

/** A prospect by its id, by what it has or had, or by anything. */
const whomFrom = (chance: Random, seen: Seen) => {
  if (chance.onceIn(2)) return prospectFrom(chance, seen)
  if (chance.onceIn(2)) return namedFrom(chance, seen)
  return { tenantId: chance.oneOf(seen.tenants), ...nameFrom(chance) }
}

const nameFrom = (chance: Random) =>
  chance.onceIn(2) ? { email: emailFrom(chance) } : { externalId: externalIdFrom(chance) }

const erasureFrom = (chance: Random, seen: Seen) =>
  wantFrom(chance, seen, seen.erasures, {
    tenantId: chance.oneOf(seen.tenants),
    erasureId: idOf('erasure', chance.below(10_000)),
  })

export const readErasures: MakeStep = (chance, seen) =>
  manyCalls('read erasures', chance, 'getErasure', seen, () => erasureFrom(chance, seen))

export const unblockErasures: MakeStep = (chance, seen) =>
  callsInTurn('unblock erasures', chance, 'unblockErasure', seen, () => erasureFrom(chance, seen))

export const listErasures: MakeStep = (chance, seen) =>
  manyCalls('list erasures', chance, 'listErasures', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    ...cursorFrom(chance, seen, 'list erasures'),
    limit: 1 + chance.below(10),
  }))

export const erase: MakeStep = () => ({ name: 'erase', run: async ({ erase }) => [await erase()] })

export const claimErasures: MakeStep = () => ({
  name: 'claim erasures and die',
  run: ({ claimErasures }) => claimErasures(),
})

/** Logs, events and blocks. All events are read before, as each must be seen once. */
export const expire: MakeStep = (chance, seen) => {
  const retentionDays = chance.oneOf([null, 1, 2])
  return {
    name: 'expire',
    run: async ({ number, readFeeds, expire }) => {
      await number(1e6)
      return [await readFeeds(seen.tenants), await expire(retentionDays)]
    },
    learn: ([events]) => void seen.events.push(...(events as typeof seen.events)),
  }
}

const removed = async ({ tenants }: Pick<Store, 'tenants'>, tenantId: string) => {
  let after: Awaited<ReturnType<typeof tenants.removeSome>> = null
  do after = await tenants.removeSome({ tenantId, after, max: 2 })
  while (after !== null)
}

/** Calls of an operator at the command line, and of the metrics. */
export const operate: MakeStep = (chance, seen) => {
  const tenantId = chance.onceIn(5) ? idOf('tenant', 999) : chance.oneOf(seen.tenants)
  const name = maybe(chance, () => chance.oneOf(AWKWARD_TEXTS))
  const retentionDays = maybe(chance, () => chance.oneOf([null, 0, 1, 2]))
  const afterId = seen.logs.at(-1 - chance.below(100))?.prospectLogId ?? ''
  const afterTenantId = chance.oneOf(['', ...seen.tenants])
  const isSuspended = chance.onceIn(4)
  const passing = { tenantId: idOf('tenant', 1_000 + chance.below(1e9)), brandId: idOf('brand', 999) }
  return {
    name: 'operate',
    run: async ({ store, now }) => [
      await store.tenants.setState(tenantId, { suspendedAt: isSuspended ? now() : null, deletedAt: null }),
      await store.tenants.add({ ...passing, name: 'Passing', createdAt: now() }),
      await store.tenants.setState(passing.tenantId, { suspendedAt: now(), deletedAt: now() }),
      await store.tenants.deleting(),
      await removed(store, passing.tenantId),
      await store.tenants.left(passing.tenantId),
      await store.tenants.remove(passing.tenantId),
      await store.tenants.find(passing.tenantId),
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
      await store.erasures.backlog(1e6),
      await store.merges.backlog(1e6),
      await store.webhooks.backlog(1e6),
    ],
  }
}

export const useKeys: MakeStep = (chance, seen) => {
  const tenantId = chance.oneOf(seen.tenants)
  const key = someKey(tenantId, { name: chance.oneOf([null, ...AWKWARD_TEXTS]) })
  const known = chance.oneOf([key, ...seen.keys])
  const keyHashes = ['unknown', key.keyHash, ...seen.keys.map(({ keyHash }) => keyHash).slice(-2)]
  const isRevoked = chance.onceIn(2)
  return {
    name: 'use keys',
    run: async ({ store: { apiKeys }, now }) => [
      await apiKeys.isEmpty(),
      await apiKeys.add({ ...key, createdAt: now() }),
      await apiKeys.end(
        known.apiKeyId,
        isRevoked ? { revokedAt: now() } : { lastRotatedAt: null, rotatedAt: now(), expiresAt: now(60_000) },
      ),
      await apiKeys.markUsed(known.apiKeyId, now()),
      await apiKeys.find(known.apiKeyId),
      sortedBy('apiKeyId', await apiKeys.findByHashes(keyHashes)),
      await apiKeys.list(tenantId),
    ],
    learn: () => void seen.keys.push(key),
  }
}

export const useCounts: MakeStep = (chance, seen) => {
  const tenantId = chance.oneOf(seen.tenants)
  const afterTenantId = chance.oneOf(['', ...seen.tenants])
  const max = chance.below(3) + 1
  const isRead = chance.onceIn(3)
  const beforeId = seen.logs.at(-1 - chance.below(20))?.prospectLogId ?? '~'
  const closedMs = chance.oneOf([-60_000, 0, 3, 1_000])
  const at = startOfHour(START_MS + chance.below(3) * HOUR_MS)
  const texts = () => ({ source: chance.oneOf(AWKWARD_TEXTS), type: chance.oneOf(AWKWARD_TEXTS) })
  const units = ['hour', 'day'] as const
  const add = units.map((unit) => ({
    unit,
    at,
    ...texts(),
    count: 1 + chance.below(9),
    newProspects: chance.below(9),
  }))
  const filter = { source: chance.oneOf([null, add[0]?.source ?? '']), type: null }
  const removeFrom = chance.onceIn(5) ? at : null
  const apiKeyId = chance.oneOf(['none', ...seen.keys.map(({ apiKeyId }) => apiKeyId)])
  const used = { tenantId, apiKeyId, requests: 1 + chance.below(9), activities: 1, bytes: chance.below(99) }
  return {
    name: 'use counts',
    run: async ({ store: { counts }, now, clock }) => {
      if (isRead) await counts.markRead(tenantId, now())
      // Sometimes ahead of this clock: then logs get later ids.
      const closedTo = idAt('prospectlog', clock() + closedMs, '')
      const isClosed = await counts.close(tenantId, closedTo, LONG_AGO)
      const found = await counts.find(tenantId)
      const { position: from = '', nextId = null } = found ?? {}
      const tallied = await counts.tally({ tenantId, afterId: from, beforeId, max: 5 })
      const moved = { tenantId, from, to: nextId ?? from }
      const change = removeFrom === null ? { ...moved, removeFrom, add } : { ...moved, removeFrom, add: [] }
      const all = { tenantId, unit: 'hour' as const, since: at, until: now(HOUR_MS), limit: 1e6 }
      return [
        isClosed,
        found,
        sorted(tallied),
        await counts.record(change),
        await counts.record({ ...change, from: 'elsewhere' }),
        sorted((await counts.list({ ...all, ...filter, after: null })).rows),
        await counts.addUsage(at, [used], { before: now(-1e12), after: now(1e12), max: 1 }),
        sorted(await counts.sumUsage({ tenantId, since: at, rowsMax: 1e6, limit: 1e6 })),
        await counts.waiting({ afterTenantId, readSince: now(-60_000), beforeId, beyondId: '~', max }),
      ]
    },
  }
}
const HOUR_MS = 3_600_000
/** A time before now, by the clock of any database. */
const LONG_AGO = '2020-01-01T00:00:00.000Z'
const sorted = (rows: readonly object[]) =>
  rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort()
const startOfHour = (ms: number) => new Date(ms - (ms % HOUR_MS)).toISOString()

export const useHooks: MakeStep = (chance, seen) => {
  const tenantId = chance.oneOf(seen.tenants)
  const hook = someHook(tenantId, { slot: 1 + chance.below(4), source: chance.oneOf(AWKWARD_TEXTS) })
  const known = chance.oneOf([hook, ...seen.hooks])
  const changed = { ...known, tenantId, status: chance.oneOf(['enabled', 'disabled'] as const) }
  const seenOf = { lastRefusal: chance.oneOf([null, 'why']), lastWarning: chance.oneOf([null, 'what']) }
  const isRemoved = chance.onceIn(3)
  const beforeId = chance.oneOf([null, known.hookId])
  return {
    name: 'use hooks',
    run: async ({ store: { hooks }, now }) => {
      const before = await hooks.find(known)
      return [
        await hooks.add({ ...hook, createdAt: now(), updatedAt: now() }),
        await hooks.change({ ...changed, updatedAt: now(1) }, before?.updatedAt ?? now()),
        await hooks.markSeen(known, { ...NOT_SEEN, lastReceivedAt: now(), ...seenOf }),
        isRemoved && (await hooks.remove({ tenantId, hookId: known.hookId })),
        sortedBy('hookId', await hooks.findByIds([...new Set([hook.hookId, known.hookId, 'unknown'])])),
        await hooks.list({ tenantId, beforeId, limit: 2 }),
        (await hooks.slots(tenantId)).toSorted(),
      ]
    },
    learn: () => void seen.hooks.push(hook),
  }
}
