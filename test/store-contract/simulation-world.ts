import type { NewId, Store, StoredEvent } from 'prospect-pages/store'
import { same } from './assertions.ts'
import type { Core } from './contract.ts'
import { operationsOver } from './processes.ts'
import { only, someClaim } from './rows.ts'
import { stoppedClock } from './setting.ts'
import { identities } from './simulation-identities.ts'
import { idsOfCalls } from './simulation-ids.ts'
import { observed } from './simulation-observed.ts'
import { turnsOf } from './simulation-turns.ts'
import { heldRewrites, pastMoments, workersIn } from './simulation-workers.ts'

/** How events read what they are about: one list at a time. */
const READS = { listLengthMax: 200, listsInFlightMax: 1, dedupeKey: JSON.stringify }

/**
 * The promised members of claimed work, which a store may return more of. Moments are left out: they have another form in
 * each store.
 */
const CLAIMED_ERASURE = [
  'tenantId',
  'erasureId',
  'prospectId',
  'partOf',
  'requestedAt',
  'status',
  'completedAt',
  'logsErased',
  'pass',
  'position',
  'attempt',
] as const
const CLAIMED_MERGE = [
  'tenantId',
  'mergeId',
  'prospectId',
  'intoId',
  'apiKeyId',
  'requestedAt',
  'pass',
  'attempt',
] as const

/** A store with the use cases over it, a clock and ids. */
export type World = ReturnType<typeof worldOf>

/** A world whose answers depend on its calls alone, so that those of two stores can be compared. */
export const worldOf = (core: Core, opened: Store) => {
  const clock = stoppedClock()
  const ids = idsOfCalls(clock)
  const rewrites = heldRewrites(opened)
  const repeatable: Store = {
    ...opened,
    activities: {
      ...opened.activities,
      recall: ids.countingFrom(async (lookup) => opened.activities.recall(lookup)),
    },
    pages: { ...opened.pages, recall: ids.countingFrom(opened.pages.recall) },
    erasures: rewrites.erasures,
    moments: pastMoments(opened),
  }
  const verbsCalled = new Set<string>()
  const { store, added, cases } = identities(observed(repeatable, verbsCalled, clock))
  const world = { store, clock, newId: ids.newId }

  const now = (inMs = 0) => new Date(clock() + inMs).toISOString()
  const refusal = (error: unknown) => {
    if (error instanceof core.DomainFailure)
      return { kind: error.kind, detail: error.message, facts: error.facts }
    return { bug: String(error) }
  }

  const calls = numbered(callsIn(core, world), ids.runNumbered)
  /** Calls at once, but in turn if one depends on another. The answers are in the order of the inputs. */
  const callAtOnce = async (useCase: keyof typeof calls, inputs: readonly object[]): Promise<unknown[]> => {
    const call = calls[useCase] as (input: unknown) => Promise<unknown>
    const answers: unknown[] = inputs.map(() => undefined)
    const firstNumber = ids.takeNumbers(inputs.length)
    const callInTurn = async (places: readonly number[]) => {
      for (const i of places)
        answers[i] = await ids.runAs(firstNumber + i, () => call(inputs[i]).catch(refusal))
    }
    const turns = await turnsOf(core, { ...world, store: repeatable }, useCase, inputs)
    await Promise.all(turns.map(callInTurn))
    return answers
  }

  return {
    ...world,
    now,
    verbsCalled,
    /** Identifiers that were ever added, and the cases that occurred with them. */
    added,
    cases,
    calls,
    callAtOnce,
    refusal,
    ...workersIn(core, world, rewrites),
    ...feedsIn(store, now),
    ...claimsIn(store, now),
  }
}

type UseCaseWorld = {
  readonly store: Store
  readonly clock: ReturnType<typeof stoppedClock>
  readonly newId: NewId
}

/** What a caller can do. */
const callsIn = (core: Core, world: UseCaseWorld) => {
  const dataOf = core.eventData(core.eventReaders(world, READS))
  const withWebhooks = { ...world, webhooks: { secrets: countedSecrets(), checkUrl: () => null } }
  return {
    ...operationsOver(core, world, 10),
    getProspect: core.getProspect(world),
    updateProspect: core.updateProspect(world),
    mergeProspect: core.mergeProspect(world),
    listProspects: core.listProspects(world),
    listProspectConflicts: core.listProspectConflicts(world),
    getProspectLog: core.getProspectLog(world),
    listProspectLogs: core.listProspectLogs(world),
    listTimeline: core.listTimeline(world),
    eraseProspect: core.requestErasure(world),
    getErasure: core.getErasure(world),
    unblockErasure: core.unblockErasure(world),
    listErasures: core.listErasures(world),
    createPageGroup: core.createPageGroup(world),
    getPageGroup: core.getPageGroup(world),
    updatePageGroup: core.updatePageGroup(world),
    deletePageGroup: core.deletePageGroup(world),
    listPublishedPages: core.listPublishedPages(world),
    updatePage: core.updatePage(world),
    deletePage: core.deletePage(world),
    createVersion: core.createVersion(world),
    publishVersion: core.publishVersion(world),
    unscheduleVersion: core.unscheduleVersion(world),
    unpublishPage: core.unpublishPage(world),
    getEvent: core.getEvent({ ...world, dataOf }),
    listEvents: core.listEvents({ ...world, dataOf }),
    createWebhookEndpoint: core.createWebhookEndpoint(withWebhooks),
    getWebhookEndpoint: core.getWebhookEndpoint(world),
    listWebhookEndpoints: core.listWebhookEndpoints(world),
    updateWebhookEndpoint: core.updateWebhookEndpoint(withWebhooks),
    deleteWebhookEndpoint: core.deleteWebhookEndpoint(withWebhooks),
    rotateWebhookSecret: core.rotateWebhookSecret(withWebhooks),
    listDeliveries: core.listDeliveries(world),
    getDelivery: core.getDelivery({ ...world, webhookDataOf: dataOf }),
    retryDelivery: core.retryDelivery(world),
    replayDeliveries: core.replayDeliveries(world),
  }
}

/** Gives each call the next number. */
const numbered = <Calls extends object>(
  calls: Calls,
  runNumbered: ReturnType<typeof idsOfCalls>['runNumbered'],
): Calls => {
  const all: Record<string, (input: unknown) => unknown> = {}
  for (const [name, call] of Object.entries(calls)) all[name] = (input) => runNumbered(() => call(input))
  return all as Calls
}

/** Secrets of webhook endpoints that count, in the place of random ones. */
const countedSecrets = () => {
  let count = 0
  return {
    seal: (secret: string) => secret,
    issue: () => {
      count += 1
      return { secret: `whsec_${count}`, sealed: `sealed_${count}` }
    },
    open: (text: string) => text,
    reseal: (text: string) => text,
  }
}

type Now = (inMs?: number) => string

/** Numbers events, and reads each of them once. */
const feedsIn = (store: Store, now: Now) => {
  const lastRead = new Map<string, number>()
  return {
    /** Numbers the events that wait: a few of each tenant, or all. */
    number: async (max: number) => {
      const waiting = await store.events.waiting('', 100)
      const numberOf = (tenantId: string) => store.events.number({ tenantId, now: now(), max })
      return Promise.all(waiting.map(async (tenantId) => [tenantId, await numberOf(tenantId)]))
    },
    /** The events of the tenants that were numbered since the last call. Their numbers have no gaps. */
    readFeeds: async (tenants: readonly string[]) => {
      const events: StoredEvent[] = []
      for (const tenantId of tenants) {
        const afterSequence = lastRead.get(tenantId) ?? 0
        const { rows, last } = await store.events.list({ tenantId, afterSequence, limit: 1e6 })
        for (const [i, { sequence }] of rows.entries()) same(sequence, afterSequence + 1 + i)
        same(last, afterSequence + rows.length)
        lastRead.set(tenantId, last)
        events.push(...rows)
      }
      return events
    },
  }
}

/** Claims pending work, as workers that then die. */
const claimsIn = (store: Store, now: Now) => {
  const claim = () => someClaim({ now: now(), until: now(60_000), max: 100_000 })
  return {
    claimVersions: async () => sortedBy('versionId', await store.versions.claim(claim())),
    claimErasures: async () =>
      sortedBy('erasureId', only(await store.erasures.claim(claim()), ...CLAIMED_ERASURE)),
    claimMerges: async () => sortedBy('mergeId', only(await store.merges.claim(claim()), ...CLAIMED_MERGE)),
    claimEndpoints: async () => sortedBy('webhookEndpointId', await store.webhooks.claim(claim())),
  }
}

/** Rows that have waited equally long are claimed in any order. */
export const sortedBy = <Name extends string, Row extends Readonly<Record<Name, string>>>(
  name: Name,
  rows: readonly Row[],
): Row[] => rows.toSorted((a, b) => (a[name] < b[name] ? -1 : 1))
