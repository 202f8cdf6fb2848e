import type { ActivityChange, ActivityLookup, Identifier, NewLog, Store } from 'prospect-pages/store'
import { equal, same } from './assertions.ts'
import type { Subject } from './contract.ts'
import {
  addTenant,
  assumedTo,
  at,
  changeOf,
  emailIdentifier,
  fillOf,
  foundProspect,
  identifiersOf,
  keyFields,
  logChangeOf,
  logKey,
  newId,
  only,
  readEach,
  recordAll,
  type SomeProspect,
  someEndpoint,
  someErasure,
  someEvent,
  someLog,
  someProspect,
} from './rows.ts'

export const ROUNDS = 5

/** A blocked identifier is blocked until then. */
export const UNTIL = at(1e9)

/** A time before now by any clock of a database. */
export const LONG_AGO = '2020-01-01T00:00:00.000Z'

export const activitySetting = async ({ store, another, kept }: Subject) => {
  const { activities } = store
  const elsewhere = await another()
  /** A tenant that uses its events. */
  const newTenant = async () => {
    const { tenantId } = await addTenant(store)
    equal(await store.webhooks.add(someEndpoint(tenantId)), 'recorded')
    return tenantId
  }
  const keptOf = async (tenantId: string) => {
    const { prospects, logs } = await kept()
    const ours = (row: { tenantId: string }) => row.tenantId === tenantId
    return { prospects: prospects.filter(ours), logs: logs.filter(ours) }
  }
  const eventsOf = async (tenantId: string) => {
    let numbered = 0
    do {
      numbered = await store.events.number({ tenantId, now: at(0), max: 100 })
    } while (numbered > 0)
    return (await store.events.list({ tenantId, afterSequence: 0, limit: 1_000 })).rows
  }
  /** What is known, without the times of the last changes. */
  const recall = async (lookup: Partial<ActivityLookup> & { readonly tenantId: string }) => {
    const known = await activities.recall({ identifiers: [], ...lookup })
    return {
      prospects: withoutTwins(only(known.prospects, ...PROSPECT_FIELDS)),
      identifiers: only(known.identifiers, ...IDENTIFIER_FIELDS),
      receipt: known.receipt && only([known.receipt], ...RECEIPT_FIELDS)[0],
      countedId: known.countedId,
    }
  }
  const record = (prospects: readonly SomeProspect[], logs: readonly NewLog[] = []) =>
    recordAll(activities, prospects, logs)
  const addProspect = async (tenantId: string, fields: Partial<SomeProspect> = {}) => {
    const prospect = someProspect(tenantId, fields)
    equal(await record([prospect], [someLog(prospect)]), 'recorded')
    return prospect
  }
  /** Checks that changes of one tenant are overtaken, with an event and without, and leave nothing behind. */
  const expectOvertaken = async (...changes: readonly ActivityChange[]) => {
    const { tenantId } = (changes[0] as ActivityChange).prospect
    const lookups = changes.map(({ identifiers, log }) => ({ tenantId, identifiers, key: keyOf(log) }))
    const everything = async () => ({
      kept: await keptOf(tenantId),
      known: await readEach(recall, lookups),
      events: await eventsOf(tenantId),
    })
    const before = await everything()
    for (const change of changes) {
      equal(await activities.record(change, []), 'overtaken')
      equal(await activities.record(change, [someEvent(tenantId)]), 'overtaken')
    }
    same(await everything(), before)
  }
  const merge = async (merged: SomeProspect, survivor: SomeProspect) =>
    equal(await mergedBy(store, merged, survivor), 'recorded')
  const erase = async (prospect: SomeProspect) => equal(await erasedBy(store, prospect), 'recorded')
  /** Blocks an identifier that leads to no one. */
  const blockIdentifier = async (identifier: Identifier) => {
    const { tenantId } = identifier
    const erasure = someErasure(tenantId)
    const changes = { tenantId, now: at(1), until: UNTIL, prospects: [], identifier, erasures: [erasure] }
    equal(await store.erasures.record(changes), 'recorded')
    return erasure
  }
  /** Takes the identifiers from a prospect, as a correction does. */
  const releaseIdentifiers = async (prospect: SomeProspect) => {
    const before = foundProspect(prospect)
    const after = { ...before, email: null, externalId: null, updatedAt: at(1) }
    const released = identifiersOf(prospect)
    equal(await store.prospects.correct({ before, after, added: [], released, forgotten: [] }), 'recorded')
  }
  return {
    activities,
    elsewhere,
    newTenant,
    keptOf,
    eventsOf,
    recall,
    record,
    addProspect,
    expectOvertaken,
    merge,
    erase,
    blockIdentifier,
    releaseIdentifiers,
  }
}

export type ActivityScene = Subject & Awaited<ReturnType<typeof activitySetting>>

/** Checks how many identifiers of each change lead to its prospect. */
export const checkIdentifiers = async (
  { recall }: ActivityScene,
  tenantId: string,
  changes: readonly ActivityChange[],
  countOf: (change: ActivityChange) => number,
): Promise<void> => {
  for (const change of changes) {
    const { identifiers, log, prospect } = change
    const known = await recall({ tenantId, identifiers, key: keyOf(log) })
    const leading = known.identifiers.filter(({ prospectId }) => prospectId === prospect.prospectId)
    equal(leading.length, countOf(change))
  }
}

type Contended = {
  readonly email?: string
  readonly externalId?: string
  readonly idempotencyKey?: string
}

/** Eight writers in two processes add a prospect each, all with the contended identifier or idempotency key. */
export const raceTo = async (
  scene: ActivityScene,
  { idempotencyKey, ...identifier }: Contended,
): Promise<void> => {
  const { activities, elsewhere, eventsOf, keptOf, recall } = scene
  const tenantId = await scene.newTenant()
  const newText = () => newId('prospect')
  const changes = Array.from({ length: 8 }, (_, i) => {
    const prospect = someProspect(tenantId, {
      email: `${newText()}@x`,
      externalId: newText(),
      ...identifier,
    })
    const rawJson = JSON.stringify({ a: 'x'.repeat(i % 4 < 2 ? 1 : 70_000) })
    const key = keyFields(idempotencyKey ?? newText())
    return changeOf(prospect, someLog(prospect, { ...key, payload: { rawJson } }))
  })
  const outcomes = await Promise.all(
    changes.map((change, i) => {
      const port = i % 2 === 0 ? activities : elsewhere.activities
      return port.record(change, [someEvent(tenantId)])
    }),
  )
  equal(outcomes.filter((outcome) => outcome === 'recorded').length, 1)
  equal(outcomes.filter((outcome) => outcome === 'overtaken').length, 7)
  const winner = changes[outcomes.indexOf('recorded')] as ActivityChange
  const { prospects, logs } = await keptOf(tenantId)
  same(only(prospects, 'prospectId'), only([winner.prospect], 'prospectId'))
  same(logs, [winner.log])
  equal((await eventsOf(tenantId)).length, 2)
  await checkIdentifiers(scene, tenantId, changes, (change) => (change === winner ? 2 : 0))
  if (idempotencyKey === undefined)
    for (const change of changes) {
      const { receipt } = await recall({ tenantId, key: keyOf(change.log) })
      equal(receipt?.prospectLogId, change === winner ? change.log?.prospectLogId : undefined)
    }
  const late = someProspect(tenantId, identifier)
  const lateKey = idempotencyKey === undefined ? {} : keyFields(idempotencyKey)
  equal(await activities.record(changeOf(late, someLog(late, lateKey))), 'overtaken')
}

/** Changes to a prospect that exists: a log, one that also says where an identifier leads, and fills. */
export const changesTo = (prospect: SomeProspect): ActivityChange[] => {
  const { tenantId } = prospect
  const log = () => someLog(prospect, keyFields(newId('prospectlog')))
  const toNone = assumedTo(emailIdentifier(tenantId, 'nobody@x'), null)
  return [
    logChangeOf(prospect, log()),
    logChangeOf(prospect, log(), { assumed: [toNone] }),
    fillOf(prospect, { email: `${newId('prospect')}@x` }, log()),
    fillOf(prospect, { name: 'Late' }, log()),
    fillOf(prospect, { email: `${newId('prospect')}@x`, name: 'Late' }),
  ]
}

/** Erases a prospect that no other process has changed. */
export const erasedBy = (store: Store, prospect: SomeProspect) => {
  const { tenantId, prospectId } = prospect
  const erasures = [someErasure(tenantId, { prospectId })]
  const prospects = [foundProspect(prospect)]
  return store.erasures.record({ tenantId, now: at(1), until: UNTIL, prospects, identifier: null, erasures })
}

/** Merges one prospect into another, which keeps its fields. */
export const mergedBy = (store: Store, merged: SomeProspect, survivor: SomeProspect) => {
  const { tenantId, prospectId } = merged
  const intoId = survivor.prospectId
  const mergedBefore = foundProspect(merged)
  const survivorBefore = foundProspect(survivor)
  return store.merges.record({
    merge: { tenantId, mergeId: newId('merge'), prospectId, intoId, requestedAt: at(1) },
    merged: {
      before: mergedBefore,
      after: { ...mergedBefore, name: null, mergedInto: intoId, updatedAt: at(1) },
    },
    survivor: { before: survivorBefore, after: { ...survivorBefore, updatedAt: at(1) } },
  })
}

export const NOTHING = { prospects: [], identifiers: [], receipt: null, countedId: null }

const PROSPECT_FIELDS = [
  'tenantId',
  'prospectId',
  'email',
  'externalId',
  'name',
  'erasedAt',
  'mergedInto',
] as const

export const IDENTIFIER_FIELDS = [
  'tenantId',
  'kind',
  'hash',
  'prospectId',
  'blockedUntil',
  'erasureId',
] as const

export const RECEIPT_FIELDS = [
  'tenantId',
  'source',
  'idempotencyKey',
  'requestHash',
  'prospectId',
  'prospectLogId',
  'type',
  'createdProspect',
  'createdAt',
] as const

export const keyOf = (log: NewLog | null): ActivityLookup['key'] =>
  log?.idempotencyKey == null ? undefined : logKey(log.idempotencyKey, log)

export const idsOf = (rows: readonly { readonly prospectId: string | null }[]) =>
  rows.map(({ prospectId }) => prospectId).toSorted()

/** A prospect that was wanted in two ways may come twice. */
const withoutTwins = <Row>(rows: readonly Row[]): Row[] => [
  ...new Map(rows.map((row) => [JSON.stringify(row), row])).values(),
]
