import type { NewIdentifier, PageGroupsQuery } from 'prospect-pages/store'
import { ALL_HOURS, COUNTED, COUNTED_DAY, type Ports, type Things } from './filled-tenant.ts'
import { namesOf } from './outbox.ts'
import { correctionOf, erasureChangesOf, mergeChangesOf } from './people.ts'
import {
  addTenant,
  at,
  changeOf,
  fillOf,
  foundProspect,
  identifiersOf,
  keyFields,
  logKey,
  NOT_SEEN,
  newId,
  readEach,
  type SomeTenant,
  someClaim,
  someEndpoint,
  someErasure,
  someEvent,
  someGroup,
  someHook,
  someKey,
  someLog,
  somePage,
  someVersion,
} from './rows.ts'
import { delivered } from './webhooks.ts'

type Verb = {
  /** Who calls it: requests to the API, the background workers, or the commands of an operator. */
  readonly serves: 'callers' | 'publisher' | 'commands'
  /** Reads these things, or writes to them, in the name of a tenant: their owner, or a stranger. */
  readonly ask: (ports: Ports, as: SomeTenant, things: Things) => Promise<unknown>
} & (
  | {
      /** The answer to a stranger. */
      readonly toStrangers: unknown
    }
  | {
      /** Why the verb names no tenant. */
      readonly noTenant: string
    }
)

const NOT_BEGUN = { apiKeyId: null, afterPageId: '', afterEventId: '' }
/** A claim of one thing at most, which ends at once: it takes nothing from the owner. */
const SHORT_CLAIM = someClaim({ until: at(0), max: 1 })
const HOUR_MS = 3_600_000
const SLICE = { beforeId: null, limit: 100 }
const NOTHING = { rows: [], resume: null }
const STATUSES: readonly PageGroupsQuery['status'][] = [null, 'active', 'archived', 'deleted']

/** Every verb of every port. The compiler checks that none is missing. */
export const VERBS = {
  activities: {
    recall: {
      serves: 'callers',
      ask: async ({ activities }, { tenantId }, { prospect, log }) =>
        activities.recall({
          tenantId,
          prospectId: prospect.prospectId,
          identifiers: identifiersOf({ ...prospect, tenantId }),
          key: logKey(String(log.idempotencyKey), log),
        }),
      toStrangers: { prospects: [], identifiers: [], receipt: null, countedId: null },
    },
    record: {
      serves: 'callers',
      ask: ({ activities }, { tenantId }, { prospect }) => {
        const named = { ...prospect, tenantId, name: 'Theirs' }
        const log = someLog(named)
        // A stranger adds all of it. Its owner has the prospect and its identifiers, and fills the name.
        const isOwner = tenantId === prospect.tenantId
        return activities.record(isOwner ? fillOf(prospect, { name: 'Theirs' }, log) : changeOf(named, log))
      },
      toStrangers: 'recorded',
    },
  },
  prospects: {
    find: {
      serves: 'callers',
      ask: ({ prospects }, { tenantId }, { prospect: { prospectId } }) =>
        prospects.find({ tenantId, prospectId }),
      toStrangers: null,
    },
    list: {
      serves: 'callers',
      ask: ({ prospects }, { tenantId }, { prospect }) => {
        const identifiers = [null, ...identifiersOf(prospect)]
        return readEach(
          prospects.list,
          identifiers.map((identifier) => ({ tenantId, identifier, ...SLICE })),
        )
      },
      toStrangers: [NOTHING, NOTHING, NOTHING],
    },
    search: {
      serves: 'callers',
      ask: ({ prospects }, { tenantId }, { prospect: { email } }) =>
        prospects.search({ tenantId, emailStart: email ?? '', nameStart: '', limit: 100 }),
      toStrangers: [],
    },
    listOldest: {
      serves: 'commands',
      ask: ({ prospects }, { tenantId }) => prospects.listOldest({ tenantId, afterId: '', limit: 100 }),
      toStrangers: [],
    },
    findWithMerged: {
      serves: 'callers',
      ask: ({ prospects }, { tenantId }, { prospect: { prospectId } }) =>
        prospects.findWithMerged({ tenantId, prospectId }),
      toStrangers: [],
    },
    identifiers: {
      serves: 'callers',
      ask: ({ prospects }, { tenantId }, { prospect: { prospectId } }) =>
        prospects.identifiers({ tenantId, prospectId }),
      toStrangers: [],
    },
    formerOwners: {
      serves: 'callers',
      ask: async ({ prospects }, { tenantId }, { prospect }) => {
        const [identifier] = identifiersOf(prospect) as [NewIdentifier]
        return prospects.formerOwners({ ...identifier, tenantId, limit: 20 })
      },
      toStrangers: [],
    },
    correct: {
      serves: 'callers',
      ask: ({ prospects }, { tenantId }, { prospect }) => {
        const before = { ...foundProspect(prospect), tenantId }
        const values = { email: 'theirs@example.com', name: 'Theirs', updatedAt: at(9) }
        return prospects.correct(correctionOf(before, values))
      },
      toStrangers: 'overtaken',
    },
  },
  merges: {
    record: {
      serves: 'callers',
      ask: ({ merges }, { tenantId }, { prospect, survivor }) => {
        const merged = { ...foundProspect(prospect), tenantId }
        const into = { ...foundProspect(survivor), tenantId }
        return merges.record(mergeChangesOf(merged, into))
      },
      toStrangers: 'overtaken',
    },
    claim: {
      serves: 'publisher',
      ask: ({ merges }) => merges.claim(SHORT_CLAIM),
      noTenant: 'the worker moves logs of all tenants in turn; each claim names its tenant',
    },
    moveLogs: {
      serves: 'publisher',
      ask: ({ merges }, { tenantId }, { merge }) => merges.moveLogs({ ...merge, tenantId }, 10),
      toStrangers: 0,
    },
    completed: {
      serves: 'publisher',
      ask: ({ merges }, { tenantId }) => merges.completed({ tenantId, afterId: '', limit: 10 }),
      toStrangers: [],
    },
    settle: {
      serves: 'publisher',
      ask: ({ merges }, { tenantId }, { merge }) =>
        merges.settle({ ...merge, tenantId, claimableAt: at(0), completedAt: at(0) }),
      toStrangers: 'overtaken',
    },
    backlog: {
      serves: 'publisher',
      ask: ({ merges }) => merges.backlog(100),
      noTenant: 'it counts for the metrics',
    },
  },
  placeholders: {
    list: {
      serves: 'commands',
      ask: ({ placeholders }, { tenantId }) => placeholders.list(tenantId),
      toStrangers: [],
    },
    add: {
      serves: 'commands',
      ask: ({ placeholders }, { tenantId }, { prospect }) => {
        const { prospectId, updatedAt } = prospect
        const [entry] = identifiersOf({ ...prospect, tenantId, externalId: null })
        const { kind, hash, value } = entry ?? { hash: '', value: '' }
        const joined = { prospectId, updatedAt, changesAt: at(9) }
        return placeholders.add(
          { tenantId, kind: kind === 'email' ? kind : 'emailDomain', hash, value },
          joined,
          at(0),
        )
      },
      toStrangers: 'overtaken',
    },
    remove: {
      serves: 'commands',
      ask: ({ placeholders }, { tenantId }, { placeholder }) =>
        placeholders.remove({ ...placeholder, tenantId }),
      toStrangers: false,
    },
    releaseSome: {
      serves: 'commands',
      ask: ({ placeholders }, { tenantId }) =>
        placeholders.releaseSome({ tenantId, domain: 'example.com', afterHash: '', max: 10, now: at(9) }),
      toStrangers: { prospectIds: [], lastHash: null },
    },
  },
  prospectConflicts: {
    note: {
      serves: 'callers',
      ask: ({ prospectConflicts }, { tenantId }, { conflict }) =>
        prospectConflicts.note([{ ...conflict, tenantId, at: at(HOUR_MS) }]),
      toStrangers: undefined,
    },
    list: {
      serves: 'callers',
      ask: ({ prospectConflicts }, { tenantId }) =>
        prospectConflicts.list({ tenantId, before: null, max: 100 }),
      toStrangers: [],
    },
    removeOf: {
      serves: 'publisher',
      ask: ({ prospectConflicts }, { tenantId }, { prospect: { prospectId } }) =>
        prospectConflicts.removeOf({ tenantId, prospectId }, 100),
      toStrangers: 0,
    },
  },
  prospectCounts: {
    tally: {
      serves: 'publisher',
      ask: ({ prospectCounts }, { tenantId }) =>
        prospectCounts.tally({ tenantId, afterId: '', toId: '~', day: COUNTED_DAY }),
      toStrangers: [],
    },
    namesOn: {
      serves: 'publisher',
      ask: ({ prospectCounts }, { tenantId }) => prospectCounts.namesOn(tenantId, COUNTED_DAY),
      toStrangers: [],
    },
    list: {
      serves: 'callers',
      ask: ({ prospectCounts }, { tenantId }) => {
        const days = { since: COUNTED_DAY, until: COUNTED_DAY + 1, firstDay: COUNTED_DAY }
        return prospectCounts.list({ tenantId, kind: 'source', ...days })
      },
      toStrangers: [],
    },
    removeOf: {
      serves: 'publisher',
      ask: ({ prospectCounts }, { tenantId }, { prospect: { prospectId } }) =>
        prospectCounts.removeOf({ tenantId, prospectId }, 100),
      toStrangers: 0,
    },
    expire: {
      serves: 'publisher',
      ask: ({ prospectCounts }, { tenantId }) =>
        prospectCounts.expire({ tenantId, before: COUNTED_DAY + 1, max: 100 }),
      toStrangers: false,
    },
  },
  prospectLogs: {
    find: {
      serves: 'callers',
      ask: ({ prospectLogs }, { tenantId }, { log: { prospectLogId } }) =>
        prospectLogs.find({ tenantId, prospectLogId }),
      toStrangers: null,
    },
    list: {
      serves: 'callers',
      ask: ({ prospectLogs }, { tenantId }, { log: { source, idempotencyKey } }) =>
        readEach(
          prospectLogs.list,
          [null, idempotencyKey].map((idempotencyKey) => ({
            tenantId,
            source,
            idempotencyKey,
            type: null,
            fromId: null,
            ...SLICE,
          })),
        ),
      toStrangers: [NOTHING, NOTHING],
    },
    timeline: {
      serves: 'callers',
      ask: ({ prospectLogs }, { tenantId }, { prospect: { prospectId } }) =>
        prospectLogs.timeline({
          tenantId,
          prospectId,
          source: null,
          type: null,
          since: null,
          before: null,
          limit: 100,
        }),
      toStrangers: 'prospect_not_found',
    },
    listOldest: {
      serves: 'commands',
      ask: ({ prospectLogs }, { tenantId }) =>
        prospectLogs.listOldest({ tenantId, afterId: '', beforeId: '~', limit: 100 }),
      toStrangers: [],
    },
  },
  pageGroups: {
    list: {
      serves: 'callers',
      ask: ({ pageGroups }, { tenantId }) =>
        readEach(
          pageGroups.list,
          STATUSES.map((status) => ({ tenantId, status, ...SLICE })),
        ),
      toStrangers: STATUSES.map(() => []),
    },
    find: {
      serves: 'callers',
      ask: async ({ pageGroups }, { tenantId }, { group: { pageGroupId, idempotencyKey } }) => [
        await pageGroups.find({ tenantId, pageGroupId }),
        await pageGroups.find({ tenantId, idempotencyKey: String(idempotencyKey) }),
      ],
      toStrangers: [null, null],
    },
    add: {
      serves: 'callers',
      ask: ({ pageGroups }, as, { group: { idempotencyKey } }) =>
        pageGroups.add(someGroup(as, keyFields(String(idempotencyKey)))),
      toStrangers: 'recorded',
    },
    change: {
      serves: 'callers',
      ask: ({ pageGroups }, as, { group }) =>
        pageGroups.change({ ...group, ...as, title: 'Theirs' }, group.updatedAt, undefined, [
          someEvent(as.tenantId),
        ]),
      toStrangers: 'overtaken',
    },
  },
  pages: {
    recall: {
      serves: 'callers',
      ask: ({ pages }, { tenantId }, { page: { pageGroupId, idempotencyKey, slug } }) =>
        pages.recall({
          tenantId,
          pageGroupId,
          idempotencyKey: String(idempotencyKey),
          slug: String(slug),
          wasOvertaken: false,
        }),
      toStrangers: { group: null, page: null, slugOwnerId: null },
    },
    record: {
      serves: 'callers',
      ask: ({ pages }, { tenantId }, { group }) => pages.record(somePage({ ...group, tenantId })),
      toStrangers: 'overtaken',
    },
    list: {
      serves: 'callers',
      ask: ({ pages }, { tenantId }, { group: { pageGroupId } }) =>
        pages.list({ tenantId, pageGroupId, ...SLICE }),
      toStrangers: null,
    },
    listPublished: {
      serves: 'callers',
      ask: ({ pages }, { tenantId }) =>
        pages.listPublished({ tenantId, publishedAfter: null, before: null, limit: 100 }),
      toStrangers: [],
    },
    find: {
      serves: 'callers',
      ask: ({ pages }, { tenantId }, { page: { pageGroupId, pageId } }) =>
        pages.find({ tenantId, pageGroupId, pageId }),
      toStrangers: 'page_group_not_found',
    },
    findSlug: {
      serves: 'callers',
      ask: ({ pages }, { tenantId }, { page: { pageGroupId, slug } }) =>
        pages.findSlug({ tenantId, pageGroupId, slug: String(slug) }),
      toStrangers: null,
    },
    change: {
      serves: 'callers',
      ask: ({ pages }, { tenantId }, { page }) => {
        const { pageGroupId, pageId, versionId, computedName } = page
        return pages.change({
          tenantId,
          pageGroupId,
          pageId,
          computedName,
          slug: null,
          customName: 'Theirs',
          revision: 2,
          publishedVersionId: versionId,
          automaticAfter: null,
          unpublishAt: at(9),
          updatedAt: at(9),
          added: someVersion(keyFields('two')),
          dropped: null,
          publishes: true,
          schedule: {
            versionId: newId('pageversion'),
            publishAt: at(9),
            unpublishAt: null,
            scheduleNote: null,
          },
        })
      },
      toStrangers: 'overtaken',
    },
    remove: {
      serves: 'callers',
      ask: ({ pages }, { tenantId }, { page: { pageGroupId, pageId } }) =>
        pages.remove({ tenantId, pageGroupId, pageId, revision: 2 }),
      toStrangers: 'overtaken',
    },
  },
  versions: {
    list: {
      serves: 'callers',
      ask: ({ versions }, { tenantId }, { page: { pageGroupId, pageId } }) =>
        versions.list({ tenantId, pageGroupId, pageId, ...SLICE }),
      toStrangers: [],
    },
    find: {
      serves: 'callers',
      ask: ({ versions }, { tenantId }, { page: { pageGroupId, pageId, versionId } }) =>
        versions.find({ tenantId, pageGroupId, pageId, versionId }),
      toStrangers: null,
    },
    tally: {
      serves: 'callers',
      ask: ({ versions }, { tenantId }, { page: { pageGroupId, pageId } }) =>
        versions.tally({ tenantId, pageGroupId, pageId }),
      toStrangers: { count: 0, oldestSpare: null },
    },
    findByKey: {
      serves: 'callers',
      ask: ({ versions }, { tenantId }, { page: { pageGroupId, pageId } }) =>
        versions.findByKey({ tenantId, pageGroupId, pageId, idempotencyKey: 'one' }),
      toStrangers: null,
    },
    claim: {
      serves: 'publisher',
      ask: ({ versions }) => versions.claim(SHORT_CLAIM),
      noTenant: 'the publisher works for all tenants in turn; each claim names its tenant',
    },
    context: {
      serves: 'publisher',
      ask: ({ versions }, { tenantId }, { page }) => versions.context({ ...page, tenantId }),
      toStrangers: null,
    },
    settle: {
      serves: 'publisher',
      ask: ({ versions }, { tenantId }, { page: { pageId, versionId }, attempt }) => {
        const published = { status: 'published', at: at(4), computedName: 'Theirs' } as const
        return versions.settle(tenantId, [{ pageId, versionId, attempt, ...published }])
      },
      toStrangers: [],
    },
    backlog: {
      serves: 'publisher',
      ask: ({ versions }) => versions.backlog(100),
      noTenant: 'it counts for the metrics',
    },
  },
  schedules: {
    waiting: {
      serves: 'publisher',
      ask: ({ schedules }) => schedules.waiting({ afterTenantId: '', until: at(9), max: 1 }),
      noTenant: 'it asks whose schedules are due; they are done tenant by tenant',
    },
    due: {
      serves: 'publisher',
      ask: ({ schedules }, { tenantId }) => schedules.due({ tenantId, until: at(9), max: 10 }),
      toStrangers: [],
    },
    ofPage: {
      serves: 'callers',
      ask: ({ schedules }, { tenantId }, { page: { pageGroupId, pageId } }) =>
        schedules.ofPage({ tenantId, pageGroupId, pageId }),
      toStrangers: [],
    },
    end: {
      serves: 'publisher',
      ask: ({ schedules }, { tenantId }, { page: { pageGroupId, pageId } }) =>
        schedules.end({ tenantId, pageGroupId, pageId }),
      toStrangers: undefined,
    },
  },
  deletions: {
    begin: {
      serves: 'callers',
      ask: ({ deletions }, { tenantId }, { group: { pageGroupId, updatedAt } }) =>
        deletions.begin({ tenantId, pageGroupId, apiKeyId: null, deletedAt: at(9) }, updatedAt),
      toStrangers: 'overtaken',
    },
    waiting: {
      serves: 'publisher',
      ask: ({ deletions }) => deletions.waiting('', 100),
      noTenant: 'it asks which tenants have deletions that are not completed',
    },
    next: {
      serves: 'publisher',
      ask: ({ deletions }, { tenantId }) => deletions.next(tenantId),
      toStrangers: null,
    },
    pages: {
      serves: 'publisher',
      ask: ({ deletions }, { tenantId }, { group: { pageGroupId } }) =>
        deletions.pages({ tenantId, pageGroupId, ...NOT_BEGUN }, 9),
      toStrangers: [],
    },
    record: {
      serves: 'publisher',
      ask: ({ deletions }, { tenantId }, { doomed: { pageGroupId } }) =>
        deletions.record({ tenantId, pageGroupId, ...NOT_BEGUN }, { afterPageId: 'p', afterEventId: 'e' }),
      toStrangers: 'overtaken',
    },
  },
  erasures: {
    find: {
      serves: 'callers',
      ask: ({ erasures }, { tenantId }, { erasure }) =>
        erasures.find({ tenantId, erasureId: erasure.erasureId }),
      toStrangers: null,
    },
    blockedBy: {
      serves: 'publisher',
      ask: ({ erasures }, { tenantId }, { erasure: { erasureId } }) =>
        erasures.blockedBy(tenantId, [erasureId]),
      toStrangers: [],
    },
    list: {
      serves: 'callers',
      ask: ({ erasures }, { tenantId }) => erasures.list({ tenantId, ...SLICE }),
      toStrangers: [],
    },
    record: {
      serves: 'callers',
      ask: ({ erasures }, { tenantId }, { prospect }) => {
        const erased = { ...foundProspect(prospect), tenantId }
        const erasure = someErasure(tenantId, { prospectId: prospect.prospectId })
        return erasures.record(erasureChangesOf([erased], erasure))
      },
      toStrangers: 'overtaken',
    },
    claim: {
      serves: 'publisher',
      ask: ({ erasures }) => erasures.claim(SHORT_CLAIM),
      noTenant: 'the eraser works for all tenants in turn; each claim names its tenant',
    },
    deleteLogs: {
      serves: 'publisher',
      ask: ({ erasures }, { tenantId }, { erasure, prospect: { prospectId } }) =>
        erasures.deleteLogs({ ...erasure, tenantId, prospectId }, 10),
      toStrangers: 0,
    },
    namesAfter: {
      serves: 'publisher',
      ask: ({ erasures }, { tenantId }) => erasures.namesAfter(tenantId, '', 10),
      toStrangers: [],
    },
    settle: {
      serves: 'publisher',
      ask: async ({ erasures }, { tenantId }, { erasure, log }) => {
        const secondPass = { ...erasure, tenantId, pass: 2, position: '', claimableAt: at(0) } as const
        const logsWithNames = [log.prospectLogId]
        await erasures.settle(tenantId, [secondPass], logsWithNames)
        return erasures.settle(tenantId, [{ ...secondPass, status: 'completed', completedAt: at(3) }])
      },
      toStrangers: undefined,
    },
    rewrite: {
      serves: 'publisher',
      ask: ({ erasures }) => erasures.rewrite(at(0)),
      noTenant: 'it concerns what the rows of all tenants left on disk',
    },
    extend: {
      serves: 'callers',
      ask: ({ erasures }, { tenantId }, { erasure: { erasureId } }) =>
        erasures.extend({ tenantId, erasureId }, at(99)),
      toStrangers: undefined,
    },
    unblock: {
      serves: 'callers',
      ask: ({ erasures }, { tenantId }, { erasure: { erasureId } }) =>
        erasures.unblock({ tenantId, erasureId }, at(1)),
      toStrangers: undefined,
    },
    backlog: {
      serves: 'publisher',
      ask: ({ erasures }) => erasures.backlog(100),
      noTenant: 'it counts for the metrics',
    },
    expire: {
      serves: 'callers',
      ask: ({ erasures }, { tenantId }) =>
        erasures.expire({ tenantId, now: at(5), beforeLogId: newId('prospectlog'), max: 1 }),
      toStrangers: false,
    },
    lastServed: {
      serves: 'publisher',
      ask: ({ erasures }) => erasures.lastServed(),
      noTenant: 'it concerns the clock of the whole database',
    },
    saveClock: {
      serves: 'publisher',
      ask: ({ erasures }) => erasures.saveClock({ servedAt: at(0), pausedAt: null }),
      noTenant: 'it concerns the clock of the whole database',
    },
  },
  events: {
    waiting: {
      serves: 'publisher',
      ask: ({ events }) => events.waiting('', 100),
      noTenant: 'the dispatcher works for all tenants in turn',
    },
    number: {
      serves: 'publisher',
      ask: ({ events }, { tenantId }) => events.number({ tenantId, now: at(5), max: 10 }),
      toStrangers: 0,
    },
    list: {
      serves: 'callers',
      ask: ({ events }, { tenantId }) => events.list({ tenantId, afterSequence: 0, limit: 100 }),
      toStrangers: { rows: [], last: 0 },
    },
    find: {
      serves: 'callers',
      ask: ({ events }, { tenantId }, { event: { eventId } }) => events.find({ tenantId, eventId }),
      toStrangers: null,
    },
    expire: {
      serves: 'publisher',
      ask: ({ events }, { tenantId }) => events.expire({ tenantId, beforeEventId: newId('event'), max: 10 }),
      toStrangers: false,
    },
  },
  webhooks: {
    list: {
      serves: 'callers',
      ask: ({ webhooks }, { tenantId }) => webhooks.list(tenantId),
      toStrangers: [],
    },
    add: {
      serves: 'callers',
      ask: ({ webhooks }, { tenantId }) => webhooks.add(someEndpoint(tenantId)),
      toStrangers: 'recorded',
    },
    change: {
      serves: 'callers',
      ask: ({ webhooks }, { tenantId }, { endpoint }) =>
        webhooks.change({ ...endpoint, tenantId, url: 'https://theirs', updatedAt: at(9) }, at(0)),
      toStrangers: 'overtaken',
    },
    claim: {
      serves: 'publisher',
      ask: ({ webhooks }) => webhooks.claim(SHORT_CLAIM),
      noTenant: 'the sender works for all tenants; each claim names its tenant',
    },
    due: {
      serves: 'publisher',
      ask: ({ webhooks }, { tenantId }, { endpoint }) =>
        webhooks.due({ ...namesOf(endpoint), tenantId, now: at(9), max: 10 }),
      toStrangers: [],
    },
    settle: {
      serves: 'publisher',
      ask: ({ webhooks }, { tenantId }, { endpoint, event: { eventId } }) => {
        const state = { failures: 7, failingSince: at(1), lastError: null, claimableAt: null, readAt: at(9) }
        return webhooks.settle({ ...endpoint, tenantId }, [delivered(eventId)], state)
      },
      toStrangers: false,
    },
    sweep: {
      serves: 'publisher',
      ask: ({ webhooks }, { tenantId }, { disabled }) =>
        webhooks.sweep({ ...disabled, tenantId }, 'theirs', 1, true),
      toStrangers: false,
    },
    deliveries: {
      serves: 'callers',
      ask: ({ webhooks }, { tenantId }, { endpoint }) =>
        webhooks.deliveries({ ...namesOf(endpoint), tenantId, status: null, ...SLICE }),
      toStrangers: NOTHING,
    },
    retry: {
      serves: 'callers',
      ask: ({ webhooks }, { tenantId }, { endpoint, event: { eventId } }) =>
        webhooks.retry({ ...namesOf(endpoint), tenantId, eventId, now: at(9) }),
      toStrangers: null,
    },
    replay: {
      serves: 'callers',
      ask: ({ webhooks }, { tenantId }, { endpoint }) => {
        const firstDelivered = { afterEventId: '', delivered: true, now: at(9), max: 1 }
        return webhooks.replay({ ...namesOf(endpoint), tenantId, ...firstDelivered })
      },
      toStrangers: { made: 0, lastEventId: null },
    },
    backlog: {
      serves: 'publisher',
      ask: ({ webhooks }) => webhooks.backlog(100),
      noTenant: 'it counts for the metrics',
    },
  },
  apiKeys: {
    findByHashes: {
      serves: 'callers',
      ask: ({ apiKeys }, _as, { key }) => apiKeys.findByHashes([key.keyHash]),
      noTenant: 'the key determines the tenant',
    },
    markUsed: {
      serves: 'callers',
      ask: ({ apiKeys }, _as, { key }) => apiKeys.markUsed(key.apiKeyId, at(7)),
      noTenant: 'the id comes from a key just found by its hash, never from a request',
    },
    find: {
      serves: 'callers',
      ask: ({ apiKeys }, _as, { key }) => apiKeys.find(key.apiKeyId),
      noTenant: 'an operator may reach every key by its id; a caller names the key of the request',
    },
    list: {
      serves: 'commands',
      ask: ({ apiKeys }, { tenantId }) => apiKeys.list(tenantId),
      toStrangers: [],
    },
    isEmpty: {
      serves: 'commands',
      ask: ({ apiKeys }) => apiKeys.isEmpty(),
      noTenant: 'it only shows whether any key was ever added',
    },
    add: {
      serves: 'commands',
      ask: ({ apiKeys }, { tenantId }) => apiKeys.add(someKey(tenantId)),
      toStrangers: undefined,
    },
    end: {
      serves: 'commands',
      ask: async ({ apiKeys }, _as, { key }) => {
        await apiKeys.end(key.apiKeyId, { lastRotatedAt: null, rotatedAt: at(7), expiresAt: at(9) })
        return apiKeys.end(key.apiKeyId, { revokedAt: at(8) })
      },
      noTenant: 'an operator may reach every key by its id',
    },
  },
  hooks: {
    findByIds: {
      serves: 'callers',
      ask: ({ hooks }, _as, { hook }) => hooks.findByIds([hook.hookId]),
      noTenant: 'the hook determines the tenant',
    },
    find: {
      serves: 'callers',
      ask: ({ hooks }, { tenantId }, { hook: { hookId } }) => hooks.find({ tenantId, hookId }),
      toStrangers: null,
    },
    list: {
      serves: 'callers',
      ask: ({ hooks }, { tenantId }) => hooks.list({ tenantId, ...SLICE }),
      toStrangers: [],
    },
    findByKey: {
      serves: 'callers',
      ask: ({ hooks }, { tenantId }) => hooks.findByKey({ tenantId, idempotencyKey: 'one' }),
      toStrangers: null,
    },
    slots: {
      serves: 'callers',
      ask: ({ hooks }, { tenantId }) => hooks.slots(tenantId),
      toStrangers: [],
    },
    add: {
      serves: 'callers',
      ask: ({ hooks }, { tenantId }) => hooks.add(someHook(tenantId)),
      toStrangers: 'recorded',
    },
    change: {
      serves: 'callers',
      ask: ({ hooks }, { tenantId }, { hook }) =>
        hooks.change({ ...hook, tenantId, source: 'theirs', updatedAt: at(9) }, at(0)),
      toStrangers: 'overtaken',
    },
    remove: {
      serves: 'callers',
      ask: ({ hooks }, { tenantId }, { hook: { hookId } }) => hooks.remove({ tenantId, hookId }),
      toStrangers: false,
    },
    markSeen: {
      serves: 'callers',
      ask: ({ hooks }, { tenantId }, { hook: { hookId } }) =>
        hooks.markSeen({ tenantId, hookId }, { ...NOT_SEEN, lastReceivedAt: at(7) }),
      toStrangers: undefined,
    },
  },
  searchIndex: {
    markSearched: {
      serves: 'callers',
      ask: ({ searchIndex }, { tenantId }) => searchIndex.markSearched(tenantId, at(1)),
      toStrangers: undefined,
    },
    find: {
      serves: 'callers',
      ask: ({ searchIndex }, { tenantId }) => searchIndex.find(tenantId),
      toStrangers: null,
    },
    waiting: {
      serves: 'publisher',
      ask: ({ searchIndex }) =>
        searchIndex.waiting({
          afterTenantId: '',
          searchedSince: at(0),
          beforeId: '~',
          checkBeforeId: '~',
          max: 8,
        }),
      noTenant: 'it asks which tenants have people to index',
    },
    extend: {
      serves: 'publisher',
      ask: ({ searchIndex }, { tenantId }) =>
        searchIndex.extend({ tenantId, mark: 'checked', from: '', beforeId: '~', max: 8 }),
      toStrangers: 0,
    },
    rewind: {
      serves: 'publisher',
      ask: ({ searchIndex }, { tenantId }) => searchIndex.rewind(tenantId, ''),
      toStrangers: undefined,
    },
  },
  counts: {
    markRead: {
      serves: 'callers',
      ask: ({ counts }, { tenantId }) => counts.markRead(tenantId, at(1)),
      toStrangers: undefined,
    },
    find: {
      serves: 'callers',
      ask: ({ counts }, { tenantId }) => counts.find(tenantId),
      toStrangers: null,
    },
    waiting: {
      serves: 'publisher',
      ask: ({ counts }) =>
        counts.waiting({ afterTenantId: '', readSince: at(0), beforeId: '~', beyondId: '~', max: 8 }),
      noTenant: 'it asks which tenants have logs to count',
    },
    close: {
      serves: 'publisher',
      ask: ({ counts }, { tenantId }) => counts.close(tenantId, COUNTED, at(0)),
      toStrangers: false,
    },
    tally: {
      serves: 'publisher',
      ask: ({ counts }, { tenantId }) => counts.tally({ tenantId, afterId: '', beforeId: '~', max: 100 }),
      toStrangers: [],
    },
    record: {
      serves: 'publisher',
      ask: async ({ counts }, { tenantId }, { prospect: { prospectId } }) => {
        const unmoved = { tenantId, from: COUNTED, to: COUNTED }
        await counts.record({ ...unmoved, removeFrom: at(9) })
        const unit = 'day' as const
        const added = { unit, at: at(0), source: 'shop', type: 'ordered', count: 1, newProspects: 0 }
        const place = { kind: 'source', name: 'shop', day: COUNTED_DAY } as const
        const addProspects = [{ ...place, daysSince: 32, count: 1, newProspects: 0 }]
        const addDays = [{ ...place, prospectId }]
        return counts.record({ ...unmoved, removeFrom: null, add: [added], addProspects, addDays })
      },
      toStrangers: 'overtaken',
    },
    list: {
      serves: 'callers',
      ask: ({ counts }, { tenantId }) =>
        counts.list({
          tenantId,
          unit: 'hour',
          since: at(0),
          until: at(1),
          source: 'crm',
          type: null,
          after: null,
          limit: 9,
        }),
      toStrangers: { rows: [], resume: null },
    },
    addUsage: {
      serves: 'publisher',
      ask: ({ counts }, { tenantId }, { key: { apiKeyId } }) => {
        const used = { tenantId, apiKeyId, requests: 1, activities: 1, bytes: 1 }
        return counts.addUsage(at(0), [used], ALL_HOURS)
      },
      noTenant: 'one write has what the keys of all tenants used',
    },
    sumUsage: {
      serves: 'commands',
      ask: ({ counts }, { tenantId }) => counts.sumUsage({ tenantId, since: at(0), rowsMax: 10, limit: 10 }),
      toStrangers: [],
    },
  },
  tenants: {
    add: {
      serves: 'commands',
      ask: (ports) => addTenant(ports),
      noTenant: 'it creates one',
    },
    update: {
      serves: 'commands',
      ask: ({ tenants }, { tenantId }) => tenants.update(tenantId, { name: 'Theirs', retentionDays: 3 }),
      noTenant: 'it is the tenant that it names',
    },
    find: {
      serves: 'callers',
      ask: async ({ tenants }, { tenantId }, { tenant }) =>
        (await tenants.find(tenantId))?.tenantId === tenant.tenantId,
      toStrangers: false,
    },
    list: {
      serves: 'publisher',
      ask: ({ tenants }) => tenants.list('', 100),
      noTenant: 'the eraser goes from tenant to tenant, and an operator looks for the id of one',
    },
    brands: {
      serves: 'callers',
      ask: async ({ tenants }, { tenantId }, { tenant: { brandId } }) =>
        (await tenants.brands(tenantId))?.includes(brandId),
      toStrangers: false,
    },
    setState: {
      serves: 'commands',
      ask: ({ tenants }, { tenantId }) => tenants.setState(tenantId, { suspendedAt: null, deletedAt: null }),
      noTenant: 'it is the tenant that it names',
    },
    deleting: {
      serves: 'publisher',
      ask: ({ tenants }) => tenants.deleting(),
      noTenant: 'the eraser removes all of them',
    },
    left: {
      serves: 'publisher',
      ask: async ({ tenants }, { tenantId }) => (await tenants.left(tenantId)).includes('prospects'),
      toStrangers: false,
    },
    removeSome: {
      serves: 'publisher',
      ask: async ({ tenants }, { tenantId }) => {
        await tenants.removeSome({ tenantId, after: null, max: 1 })
      },
      toStrangers: undefined,
    },
    remove: {
      serves: 'publisher',
      ask: ({ tenants }, { tenantId }) => tenants.remove(tenantId),
      noTenant: 'it is the tenant that it names, and must be deleted and empty',
    },
  },
  moments: {
    now: {
      serves: 'publisher',
      ask: ({ moments }) => moments.now(),
      noTenant: 'it concerns the writes of all tenants',
    },
    arePast: {
      serves: 'publisher',
      ask: async ({ moments }) => moments.arePast([await moments.now()]),
      noTenant: 'it concerns the writes of all tenants',
    },
  },
} satisfies { [Port in keyof Ports]: { [Name in keyof Ports[Port]]: Verb } }

/** The same as a list, each with its name, such as `pages.find`. */
export const verbs: readonly (Verb & { readonly name: string })[] = Object.entries(VERBS).flatMap(
  ([port, rows]) =>
    Object.entries(rows).map(([verb, row]) => ({ name: `${port}.${verb}`, ...(row as Verb) })),
)
