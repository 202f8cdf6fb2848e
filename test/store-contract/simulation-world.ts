import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { NewEvent, NewId, Served, Store, StoredEvent } from 'prospect-pages/store'
import { same } from './assertions.ts'
import type { Core } from './contract.ts'
import { operationsOver } from './processes.ts'
import { idAt, only, someClaim, timeOf } from './rows.ts'
import { stoppedClock } from './setting.ts'
import { identities } from './simulation-identities.ts'
import { turnsOf } from './simulation-turns.ts'
import { VERBS } from './verbs.ts'

/** How many times a namer is asked for one version. */
const ATTEMPTS_MAX = 5
/** Some seconds. */
const PAST_ROUNDS_MAX = 10_000
const READS = { listLengthMax: 200, listsInFlightMax: 1, dedupeKey: JSON.stringify }
/** The promised members of a claimed erasure: a store may return more. Moments have another form in each store. */
const CLAIMED = [
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
const MERGING = [
  'tenantId',
  'mergeId',
  'prospectId',
  'intoId',
  'apiKeyId',
  'requestedAt',
  'pass',
  'attempt',
] as const
/** Longer than any store rests between two rewrites. */
const REWRITE_REST_MS = 11 * 60_000
const NEVER = new AbortController().signal

/** A store with the use cases over it, a clock and ids. */
export type World = ReturnType<typeof worldOf>

export const worldOf = (core: Core, opened: Store) => {
  // Other transactions on the database decide how often this is asked.
  const arePast: Store['moments']['arePast'] = async (moments) => {
    for (let round = 0; (await opened.moments.arePast(moments)).includes(false); round++) {
      if (round > PAST_ROUNDS_MAX) throw new Error('a moment that is never past')
      await setTimeout(1)
    }
    return moments.map(() => true)
  }
  const clock = stoppedClock()
  // Some stores need no rewrite, and one rewrite serves all waiting erasures. So every erasure waits for the same one.
  let mayRewrite = false
  let isWaiting = false
  const rewrite: Store['erasures']['rewrite'] = async (now) => {
    const isAllowed = mayRewrite
    mayRewrite = false
    isWaiting ||= !isAllowed
    return isAllowed && opened.erasures.rewrite(now)
  }
  // How often something is decided, and in which order of the calls at once, must not show in the ids: each call has a
  // number, and counts its ids from what it looked up last.
  const callOf = new AsyncLocalStorage<{ readonly number: number; ids: number }>()
  let lastNumber = 0
  const counting =
    <Want, Known>(recall: (want: Want) => Promise<Known>) =>
    (want: Want): Promise<Known> => {
      const call = callOf.getStore()
      if (call !== undefined) call.ids = 0
      return recall(want)
    }
  const verbsCalled = new Set<string>()
  const alike = {
    ...opened,
    activities: { ...opened.activities, recall: counting(opened.activities.recall) },
    pages: { ...opened.pages, recall: counting(opened.pages.recall) },
    erasures: { ...opened.erasures, rewrite },
    moments: { ...opened.moments, arePast },
  }
  const identified = identities(observed(alike, verbsCalled, clock))
  const { store } = identified
  const newId: NewId = (prefix, after = '') => {
    // Events are named by what they are about.
    const isNamed = prefix === 'event'
    const call = callOf.getStore() ?? { number: isNamed ? lastNumber : ++lastNumber, ids: 0 }
    if (!isNamed) call.ids += 1
    const ms = Math.max(clock(), timeOf(after) + 1)
    return idAt(prefix, ms, digits(call.number, 12) + digits(call.ids, 4))
  }
  const world = { store, clock, newId }
  const now = (inMs = 0) => new Date(clock() + inMs).toISOString()
  const claimWant = () => someClaim({ now: now(), until: now(60_000), max: 100_000 })
  const readers = core.eventReaders(world, READS)
  const dataOf = core.eventData(readers)
  let secrets = 0
  const sealed = {
    seal: (secret: string) => secret,
    issue: () => ({ secret: `whsec_${++secrets}`, sealed: `sealed_${secrets}` }),
    open: (text: string) => text,
    reseal: (text: string) => text,
  }
  const withWebhooks = { ...world, webhooks: { secrets: sealed, checkUrl: () => null } }
  const eraser = core.eraseProspects(world)
  const mover = core.moveMerged(world)
  const publish = publisherOf(core, world)
  const lastRead = new Map<string, number>()
  const refusal = (no: unknown) => {
    if (no instanceof core.DomainFailure) return { kind: no.kind, detail: no.message, facts: no.facts }
    return { bug: String(no) }
  }
  /** Each call gets the next number, unless it has one. */
  const numbered = <Calls extends object>(calls: Calls): Calls =>
    Object.fromEntries(
      Object.entries(calls).map(([name, call]) => [
        name,
        (input: unknown) =>
          callOf.getStore() === undefined
            ? callOf.run({ number: ++lastNumber, ids: 0 }, () => call(input))
            : call(input),
      ]),
    ) as Calls
  const calls = numbered({
    ...operationsOver(core, world, 10),
    getProspect: core.getProspect(world),
    updateProspect: core.updateProspect(world),
    mergeProspect: core.mergeProspect(world),
    listProspects: core.listProspects(world),
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
  })
  /** Calls at once, but in turn if one depends on another. Each is answered in its place. */
  const callAtOnce = async (useCase: keyof typeof calls, inputs: readonly object[]): Promise<unknown[]> => {
    const call = calls[useCase] as (input: unknown) => Promise<unknown>
    const answers: unknown[] = inputs.map(() => undefined)
    const first = lastNumber + 1
    lastNumber += inputs.length
    const callInTurn = async (places: readonly number[]) => {
      for (const i of places)
        answers[i] = await callOf.run({ number: first + i, ids: 0 }, () => call(inputs[i]).catch(refusal))
    }
    await Promise.all((await turnsOf(core, { ...world, store: alike }, useCase, inputs)).map(callInTurn))
    return answers
  }
  return {
    ...world,
    now,
    verbsCalled,
    /** Identifiers that were ever added, and the cases that occurred with them. */
    added: identified.added,
    cases: identified.cases,
    calls,
    callAtOnce,
    refusal,
    publish: async () => {
      while (await publish(NEVER));
    },
    /** Runs the schedules that are due, without waiting for those that are due soon. */
    runSchedules: async () => {
      const errors: unknown[] = []
      let isWaiting = false
      const sleep = async () => {
        isWaiting = true
      }
      const step = core.runSchedules({
        ...world,
        aheadMs: 15_000,
        sleep,
        onError: (error) => void errors.push(error),
      })
      while (!isWaiting && (await step(NEVER, Promise.race([]))));
      for (const error of errors) throw error
    },
    /** Runs the eraser until no erasure can continue. */
    erase: async () => {
      while (await eraser(NEVER));
      while (isWaiting) {
        clock.advance(REWRITE_REST_MS)
        mayRewrite = true
        isWaiting = false
        while (await eraser(NEVER));
      }
    },
    moveMerged: async () => {
      while (await mover(NEVER));
    },
    /** Deletes everything that has expired, unless the deletion has to pause, and sweeps late logs. */
    expire: async (retentionDays: number | null) => {
      const errors: unknown[] = []
      const pauses: Served[] = []
      const onError = (error: unknown) => void errors.push(error)
      const onPause = (pause: Served) => void pauses.push(pause)
      const step = core.deleteExpired({ ...world, retentionDays, eventDaysKept: 1, onError, onPause })
      while (await step(NEVER));
      const sweep = core.sweepLateLogs({ ...world, onError })
      while (await sweep(NEVER));
      for (const error of errors) throw error
      return pauses
    },
    /** Numbers the events that wait: a few of each tenant, or all. */
    number: async (max: number) => {
      const waiting = await store.events.waiting('', 100)
      const numberOf = (tenantId: string) => store.events.number({ tenantId, now: now(), max })
      return Promise.all(waiting.map(async (tenantId) => [tenantId, await numberOf(tenantId)]))
    },
    /** The events of the tenants that were numbered since the last call. */
    readFeeds: async (tenants: readonly string[]) => {
      const all: StoredEvent[] = []
      for (const tenantId of tenants) {
        const afterSequence = lastRead.get(tenantId) ?? 0
        const { rows, last } = await store.events.list({ tenantId, afterSequence, limit: 1e6 })
        const expected = rows.map((_, i) => afterSequence + i + 1)
        same([rows.map(({ sequence }) => sequence), last], [expected, afterSequence + rows.length])
        lastRead.set(tenantId, last)
        all.push(...rows)
      }
      return all
    },
    /** Claims pending work, as workers that then die. */
    claimVersions: async () => sortedBy('versionId', await store.versions.claim(claimWant())),
    claimErasures: async () =>
      sortedBy('erasureId', only(await store.erasures.claim(claimWant()), ...CLAIMED)),
    claimMerges: async () => sortedBy('mergeId', only(await store.merges.claim(claimWant()), ...MERGING)),
    claimEndpoints: async () => sortedBy('webhookEndpointId', await store.webhooks.claim(claimWant())),
  }
}

const digits = (number: number, length: number) => number.toString(36).padStart(length, '0')

/** Rows that have waited equally long are claimed in any order. */
export const sortedBy = <Name extends string, Row extends Readonly<Record<Name, string>>>(
  name: Name,
  rows: readonly Row[],
): Row[] => rows.toSorted((a, b) => (a[name] < b[name] ? -1 : 1))

/** A publisher whose namer returns all names at once, so that all versions are saved in one list. */
const publisherOf = (core: Core, world: Pick<World, 'store' | 'clock' | 'newId'>) => {
  const { versions } = world.store
  let unnamed = 0
  let named = Promise.withResolvers<void>()
  const claim: Store['versions']['claim'] = async (want) => {
    const claimed = await versions.claim(want)
    unnamed += claimed.filter(({ attempt }) => attempt <= ATTEMPTS_MAX).length
    return claimed
  }
  return core.publishVersions({
    ...world,
    store: { versions: { ...versions, claim } },
    claimMax: 100_000,
    leaseMs: 60_000,
    namer: async ({ supplementaryContext }) => {
      const { promise, resolve } = named
      if (--unnamed === 0) {
        named = Promise.withResolvers()
        resolve()
      }
      await promise
      if (supplementaryContext?.includes('fail')) return null
      return `Named: ${supplementaryContext}`
    },
  })
}

type AnyVerb = (...args: readonly unknown[]) => Promise<unknown>
type Port = keyof typeof VERBS

/**
 * Records the verbs that are called, such as `pages.find`. The id of an event follows from its time and its content, so
 * that events have the same ids and order in every store.
 */
const observed = (store: Store, called: Set<string>, clock: () => number): Store => {
  // Equal events that are saved in the same millisecond are counted, so that they get different ids.
  let ms = clock()
  let saved = new Map<string, number>()
  const observe =
    (name: string, verb: AnyVerb): AnyVerb =>
    async (...args) => {
      called.add(name)
      if (ms !== clock()) {
        ms = clock()
        saved = new Map()
      }
      const contents = new Set<string>()
      const nameEvent = (event: NewEvent): NewEvent => {
        const content = JSON.stringify([event.type, event.ids])
        contents.add(content)
        const digits = hash('sha256', `${content} ${saved.get(content) ?? 0}`).slice(0, 16)
        return { ...event, eventId: idAt('event', ms, digits) }
      }
      const answer = await verb(...args.map((arg) => (areEvents(arg) ? arg.map(nameEvent) : arg)))
      if (answer !== null && answer !== 'overtaken') {
        for (const content of contents) saved.set(content, (saved.get(content) ?? 0) + 1)
      }
      return answer
    }
  const portOf = (port: Port) => {
    const verbs = store[port] as unknown as Record<string, AnyVerb>
    const names = Object.keys(VERBS[port])
    return Object.fromEntries(names.map((name) => [name, observe(`${port}.${name}`, verbs[name] as AnyVerb)]))
  }
  const ports = (Object.keys(VERBS) as Port[]).map((port) => [port, portOf(port)])
  return { ...store, ...Object.fromEntries(ports) }
}
const areEvents = (value: unknown): value is readonly NewEvent[] =>
  Array.isArray(value) &&
  value.every((item) => typeof item === 'object' && 'eventId' in item && 'ids' in item)
