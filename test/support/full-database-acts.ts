import type { ClaimedErasure } from '../../src/core/ports/erasures.ts'
import type { PageGroupsQuery } from '../../src/core/ports/page-groups.ts'
import type { PageKey, PagesQuery } from '../../src/core/ports/pages.ts'
import { FORMER_OWNERS_READ_MAX } from '../../src/core/ports/prospects.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { IdPrefix } from '../../src/core/ports/world.ts'
import { SEARCHED_MAX } from '../../src/core/prospects/search-keys.ts'
import {
  BUSY,
  FIRST_WAITING,
  INDEXED_TO,
  idAt,
  MERGE,
  PAGE,
  TABLE_ROWS,
  type Wanted,
} from './full-database.ts'
import { at, changeOf, logChangeOf, logKey, readEach, someClaim, someLog, someProspect } from './rows.ts'

type Act = {
  readonly name: string
  readonly act: () => Promise<unknown>
  /** No step of a plan may read more rows than this. */
  readonly rowsMax: number
  /** Makes it possible to do it again. */
  readonly undo?: string
}

const VERSION = idAt('pageversion', 7)
const ERASURE = idAt('erasure', 9)
const SLICE_ROWS = 21
/** A slice has one row more than its limit, and what follows shows that its last step is complete. */
const FEW = SLICE_ROWS + 5
const MANY = 20
/** As many as one list holds when the service is busy; tables of this size may be read as a whole then, but once. */
const LIST = 200

/** Every read that serves callers or the publisher, alone and gathered. */
export const actsOn = (store: Store, wanted: Wanted): readonly Act[] => {
  const { activities, prospectLogs, pageGroups, pages, versions, schedules, deletions, erasures } = store
  const { tenantId, strangerId, small, big, empty } = wanted
  const groupWants: PageGroupsQuery[] = [null, 'active', 'archived', 'deleted'].flatMap((status) =>
    [tenantId, strangerId].flatMap((tenantId) =>
      [null, idAt('pagegroup', 1_500)].map((beforeId) => ({
        tenantId,
        beforeId,
        limit: SLICE_ROWS - 1,
        status: status as PageGroupsQuery['status'],
      })),
    ),
  )
  const pagesWants: PagesQuery[] = [small, big, empty].flatMap((pageGroupId) =>
    [null, idAt('page', 20), idAt('page', 30_000)].map((beforeId) => ({
      tenantId,
      pageGroupId,
      beforeId,
      limit: SLICE_ROWS - 1,
    })),
  )
  const pageWants: PageKey[] = [small, big, empty].flatMap((pageGroupId) =>
    [PAGE, idAt('page', 2_000), idAt('page', 9_999_999)].map((pageId) => ({ tenantId, pageGroupId, pageId })),
  )
  const page = { tenantId, pageGroupId: small, pageId: PAGE }
  const erasure = { tenantId, erasureId: ERASURE, partOf: null, prospectId: BUSY }
  const cycled = <Want>(wants: readonly Want[], count: number) =>
    Array.from({ length: count }, (_, i) => wants[i % wants.length] as Want)
  const recallPages = (count: number) =>
    Promise.all(
      cycled([small, big], count).map((pageGroupId, i) =>
        pages.recall({
          tenantId,
          pageGroupId,
          wasOvertaken: false,
          idempotencyKey: `key ${2_000 + i}`,
        }),
      ),
    )
  const claim = (max: number) => versions.claim(someClaim({ until: at(0), max }))
  const recall = (count: number) => {
    const numbers = Array.from({ length: count }, (_, i) => 500 + i * 11)
    const wants = numbers.map((n) => ({
      tenantId,
      prospectId: idAt('prospect', n),
      identifiers: [email(tenantId, n), externalId(tenantId, n)],
      key: logKey(`key ${n}`),
    }))
    return Promise.all(wants.map((want) => activities.recall(want)))
  }
  const listedGroups = groupWants.map((want) => ({
    name: `page groups ${want.status} of ${want.tenantId} before ${want.beforeId}`,
    act: () => pageGroups.list(want),
    rowsMax: SLICE_ROWS,
  }))
  const listedPages = pagesWants.map((want) => ({
    name: `pages of ${want.pageGroupId} before ${want.beforeId}`,
    act: () => pages.list(want),
    rowsMax: SLICE_ROWS,
  }))
  const published = [tenantId, strangerId].flatMap((tenantId) =>
    [null, { publishedAt: '2025-01-01T00:00:20.000Z', pageId: PAGE }].flatMap((before) =>
      [null, '2025-01-01T00:00:10.000Z'].map((publishedAfter) => ({
        name: `published pages of ${tenantId} after ${publishedAfter} before ${before?.publishedAt}`,
        act: () => pages.listPublished({ tenantId, publishedAfter, before, limit: SLICE_ROWS - 1 }),
        rowsMax: SLICE_ROWS,
      })),
    ),
  )
  const readPages = pageWants.map((want) => ({
    name: `the page ${want.pageId} of ${want.pageGroupId}`,
    act: () => pages.find(want),
    rowsMax: 1,
  }))
  const together = [MANY, LIST].flatMap((count) =>
    [
      {
        name: 'lists of groups',
        act: () => readEach(pageGroups.list, cycled(groupWants, count)),
        each: SLICE_ROWS,
      },
      {
        name: 'lists of pages',
        act: () => readEach(pages.list, cycled(pagesWants, count)),
        each: SLICE_ROWS,
      },
      { name: 'reads of pages', act: () => readEach(pages.find, cycled(pageWants, count)), each: 1 },
      { name: 'activities recalled', act: () => recall(count), each: 2 },
      { name: 'logs of remembered prospects', ...logsRecorded(store, tenantId, count), each: 2 },
      { name: 'logs of new people', ...peopleRecorded(store, tenantId, count), each: 2 },
      { name: 'pages recalled', act: () => recallPages(count), each: 1 },
      { name: 'versions settled', ...versionsSettled(store, tenantId, count), each: 1 },
    ].map(({ each, ...act }) => ({
      ...act,
      name: `${count} ${act.name}`,
      rowsMax: count === LIST ? TABLE_ROWS : count * each,
    })),
  )
  return [
    ...listedGroups,
    ...listedPages,
    ...published,
    ...readPages,
    ...together,
    { name: 'an activity recalled', act: () => recall(1), rowsMax: 2 },
    { name: 'a log of a remembered prospect', ...logsRecorded(store, tenantId, 1), rowsMax: 2 },
    { name: 'a log of a new person', ...peopleRecorded(store, tenantId, 1), rowsMax: 2 },
    {
      name: 'what a namer needs',
      act: () => versions.context({ ...page, versionId: VERSION }),
      rowsMax: 1,
    },
    {
      name: 'the oldest logs after one',
      act: () =>
        prospectLogs.listOldest({
          tenantId,
          afterId: idAt('prospectlog', 700),
          beforeId: '~',
          limit: SLICE_ROWS,
        }),
      rowsMax: SLICE_ROWS,
    },
    {
      name: 'the oldest prospects after one',
      act: () => store.prospects.listOldest({ tenantId, afterId: idAt('prospect', 700), limit: SLICE_ROWS }),
      rowsMax: SLICE_ROWS,
    },
    {
      name: 'people indexed for the search',
      ...peopleIndexed(store, tenantId, SLICE_ROWS),
      rowsMax: SLICE_ROWS,
    },
    { name: 'an indexed tenant', act: () => store.searchIndex.find(tenantId), rowsMax: 1 },
    {
      name: 'tenants with people to index',
      act: () =>
        store.searchIndex.waiting({
          afterTenantId: '',
          searchedSince: at(0),
          beforeId: '~',
          checkBeforeId: '~',
          max: 8,
        }),
      rowsMax: 8,
    },
    { name: 'an activity recalled', act: () => recall(1), rowsMax: 2 },
    { name: 'a page recalled', act: () => recallPages(1), rowsMax: 1 },
    ...readingBack(store, wanted),
    ...eventsAndWebhooks(store, wanted),
    {
      name: 'a group found by its id',
      act: () => pageGroups.find({ tenantId, pageGroupId: big }),
      rowsMax: 1,
    },
    {
      name: 'a group found by its idempotency key',
      act: () => pageGroups.find({ tenantId, idempotencyKey: 'key 50' }),
      rowsMax: 1,
    },
    ...[null, VERSION].map((beforeId) => ({
      name: `the versions of a page before ${beforeId}`,
      act: () => versions.list({ ...page, beforeId, limit: SLICE_ROWS - 1 }),
      rowsMax: SLICE_ROWS,
    })),
    { name: 'a version read', act: () => versions.find({ ...page, versionId: VERSION }), rowsMax: 1 },
    {
      name: 'a version found by its idempotency key',
      act: () => versions.findByKey({ ...page, idempotencyKey: 'key 7' }),
      rowsMax: 1,
    },
    { name: 'a version settled', ...versionsSettled(store, tenantId, 1), rowsMax: 1 },
    {
      name: 'tenants with schedules',
      act: () => schedules.waiting({ afterTenantId: '', until: at(0), max: MANY }),
      rowsMax: MANY,
    },
    {
      name: 'queues that are not empty',
      act: async () => store.waiting?.({ now: at(0), until: at(0) }),
      // The first entry of each, and the walks of the schedules from tenant to tenant.
      rowsMax: MANY,
    },
    { name: 'what is due', act: () => schedules.due({ tenantId, until: at(0), max: MANY }), rowsMax: MANY },
    { name: 'the schedules of a page', act: () => schedules.ofPage(page), rowsMax: 1 },
    { name: 'tenants with deletions', act: () => deletions.waiting('', MANY), rowsMax: 1 },
    { name: 'the next deletion', act: () => deletions.next(tenantId), rowsMax: 1 },
    {
      name: 'pages of a deleted group',
      act: () => deletions.pages({ ...page, apiKeyId: null, afterPageId: '', afterEventId: '' }, MANY),
      rowsMax: MANY,
    },
    { name: 'schedules ended', act: () => schedules.end(page), rowsMax: 1 },
    { name: 'versions claimed', act: () => claim(MANY), rowsMax: MANY },
    { name: 'many versions claimed', act: () => claim(LIST), rowsMax: LIST },
    { name: 'an erasure read', act: () => erasures.find({ tenantId, erasureId: ERASURE }), rowsMax: 1 },
    {
      name: 'the erasure of a prospect',
      act: () => erasures.find({ tenantId, prospectId: idAt('prospect', 50) }),
      rowsMax: 1,
    },
    {
      name: 'the erasure of an erased prospect',
      act: () => erasures.find({ tenantId, erasedId: idAt('prospect', 51) }),
      rowsMax: 1,
    },
    {
      name: 'what erasures block',
      act: () => erasures.blockedBy(tenantId, [ERASURE, idAt('erasure', 60)]),
      rowsMax: 2,
    },
    ...[null, { at: at(500_000), prospectId: idAt('prospect', 500), otherId: idAt('prospect', 501) }].map(
      (before) => ({
        name: `conflicts listed before ${before?.at}`,
        act: () => store.prospectConflicts.list({ tenantId, before, max: SLICE_ROWS }),
        rowsMax: SLICE_ROWS,
      }),
    ),
    {
      name: 'a conflict noted',
      act: () =>
        store.prospectConflicts.note([
          {
            tenantId,
            prospectId: idAt('prospect', 20),
            otherId: idAt('prospect', 21),
            field: 'email',
            at: at(1e9),
          },
        ]),
      rowsMax: 2,
    },
    {
      name: 'conflicts of a prospect removed',
      act: () => store.prospectConflicts.removeOf({ tenantId, prospectId: idAt('prospect', 30) }, MANY),
      rowsMax: MANY,
    },
    {
      name: 'erasures listed',
      act: () => erasures.list({ tenantId, beforeId: null, limit: SLICE_ROWS - 1 }),
      rowsMax: SLICE_ROWS,
    },
    { name: 'erasures claimed', act: () => erasures.claim(someClaim({ until: at(0), max: 4 })), rowsMax: 4 },
    {
      name: 'activities of an erased prospect deleted',
      act: () => erasures.deleteLogs(erasure as ClaimedErasure, MANY),
      rowsMax: MANY,
    },
    {
      name: 'activities of a merged prospect moved',
      act: () =>
        store.merges.moveLogs(
          {
            tenantId,
            ...MERGE,
            apiKeyId: null,
            pass: 1,
            settlesAfter: null,
            attempt: 0,
            status: 'processing',
            requestedAt: at(0),
          },
          MANY,
        ),
      rowsMax: MANY,
    },
    { name: 'emails looked at', act: () => erasures.namesAfter(tenantId, '', MANY), rowsMax: MANY },
  ]
}

const readingBack = (
  { prospects, prospectLogs }: Store,
  { tenantId, strangerId }: Wanted,
): readonly Act[] => {
  const limit = SLICE_ROWS - 1
  const filters = [
    { source: null, type: null, rowsMax: FEW },
    { source: 'crm', type: 'webhook', rowsMax: FEW },
    { source: 'crm', type: 'rare', rowsMax: 10_005 },
  ]
  const ids = [null, idAt('prospectlog', 70_000), idAt('prospectlog', 30)]
  const lists = [tenantId, strangerId].flatMap((tenantId) =>
    filters.flatMap(({ rowsMax, ...filter }) =>
      ids.map((beforeId) => ({
        name: `activities of ${tenantId} before ${beforeId} of type ${filter.type}`,
        act: () =>
          prospectLogs.list({ ...filter, tenantId, beforeId, fromId: null, idempotencyKey: null, limit }),
        rowsMax,
      })),
    ),
  )
  const timelines = [BUSY, idAt('prospect', 41), idAt('prospect', 9_999_999)].flatMap((prospectId) =>
    filters.flatMap(({ rowsMax, ...filter }) =>
      [null, { occurredAt: at(-9_000_000), prospectLogId: '' }].map((before) => ({
        name: `the timeline of ${prospectId} before ${before?.occurredAt} of type ${filter.type}`,
        act: () => prospectLogs.timeline({ ...filter, tenantId, prospectId, since: null, before, limit }),
        rowsMax,
      })),
    ),
  )
  const people = [null, email(tenantId, 20), externalId(tenantId, 20)].flatMap((identifier) =>
    [null, idAt('prospect', 500)].map((beforeId) => ({
      name: `prospects before ${beforeId} with ${JSON.stringify(identifier)}`,
      act: () => prospects.list({ tenantId, identifier, beforeId, limit }),
      rowsMax: identifier === null ? FEW : 1,
    })),
  )
  const byKey = { source: 'crm', type: null, fromId: null, beforeId: null, idempotencyKey: 'key 20' }
  const names = { tenantId, prospectId: idAt('prospect', 20), prospectLogId: idAt('prospectlog', 20) }
  return [
    ...lists,
    ...timelines,
    ...people,
    {
      name: 'an activity by its key',
      act: () => prospectLogs.list({ tenantId, ...byKey, limit }),
      rowsMax: 1,
    },
    { name: 'an activity', act: () => prospectLogs.find(names), rowsMax: 1 },
    ...['ema', 'email', 'nobody', 'em'].map((start) => ({
      name: `people whose email or name begins with ${start}`,
      act: () => prospects.search({ tenantId, emailStart: start, nameStart: start, limit: 100 }),
      rowsMax: 4 * SEARCHED_MAX,
    })),
    { name: 'a prospect', act: () => prospects.find(names), rowsMax: 1 },
    { name: 'activities', act: () => readEach(prospectLogs.find, Array(MANY).fill(names)), rowsMax: MANY },
    { name: 'prospects', act: () => readEach(prospects.find, Array(MANY).fill(names)), rowsMax: MANY },
    { name: 'a prospect with those merged into it', act: () => prospects.findWithMerged(names), rowsMax: 1 },
    { name: 'the identifiers of a prospect', act: () => prospects.identifiers(names), rowsMax: 3 },
    {
      name: 'those who had an identifier',
      act: () =>
        prospects.formerOwners({
          tenantId,
          kind: 'email',
          hash: `former${'7'.padStart(37, '0')}`,
          limit: 20,
        }),
      rowsMax: FORMER_OWNERS_READ_MAX,
    },
    {
      name: 'a prospect corrected',
      ...prospectCorrected(prospects, tenantId),
      rowsMax: 2,
    },
  ]
}

const ENDPOINT = idAt('webhookendpoint', 1)

const eventsAndWebhooks = ({ events, webhooks }: Store, { tenantId }: Wanted): readonly Act[] => {
  const endpoint = { tenantId, webhookEndpointId: ENDPOINT }
  const claimed = { now: at(0), until: at(0), horizon: at(1e9), afterTenantId: '', max: 4 }
  const eventId = idAt('event', 300)
  return [
    { name: 'tenants with events that wait', act: () => events.waiting('', 8), rowsMax: 8 },
    {
      name: 'events numbered',
      act: () => events.number({ tenantId, now: at(0), max: MANY }),
      rowsMax: MANY * 3,
    },
    {
      name: 'the feed',
      act: () => events.list({ tenantId, afterSequence: 300, limit: SLICE_ROWS }),
      rowsMax: SLICE_ROWS,
    },
    { name: 'an event', act: () => events.find({ tenantId, eventId }), rowsMax: 1 },
    {
      name: 'events that expire',
      act: () => events.expire({ tenantId, beforeEventId: idAt('event', 3), max: MANY }),
      rowsMax: MANY,
    },
    { name: 'endpoints', act: () => webhooks.list(tenantId), rowsMax: MANY },
    { name: 'endpoints claimed', act: () => webhooks.claim(claimed), rowsMax: 8 },
    {
      name: 'what is due',
      act: () => webhooks.due({ ...endpoint, now: at(0), max: MANY }),
      rowsMax: MANY,
    },
    ...([null, 'pending', 'failed'] as const).map((status) => ({
      name: `deliveries with the status ${status}`,
      act: () => webhooks.deliveries({ ...endpoint, status, beforeId: null, limit: SLICE_ROWS - 1 }),
      rowsMax: status === null ? FEW : 10_005,
    })),
    {
      name: 'a delivery retried',
      act: () => webhooks.retry({ ...endpoint, eventId, now: at(0) }),
      rowsMax: 1,
    },
    {
      name: 'a replay',
      act: () =>
        webhooks.replay({ ...endpoint, afterEventId: eventId, delivered: true, now: at(0), max: MANY }),
      rowsMax: MANY,
    },
    { name: 'the backlog', act: () => webhooks.backlog(MANY), rowsMax: MANY },
  ]
}

/** An act that changes rows, and the statements that take it back. */
type Undoable = Required<Pick<Act, 'act' | 'undo'>>

const numbers = (count: number, from: number, step = 1) =>
  Array.from({ length: count }, (_, i) => from + i * step)

/** What is recorded has ids after all others, by which it is removed. */
const FIRST_RECORDED = 2_000_000
const recordedId = (prefix: IdPrefix, number = 0) => idAt(prefix, FIRST_RECORDED + number)
const REMOVE_RECORDED_LOGS = `
  delete from prospect_logs where prospect_log_id >= '${recordedId('prospectlog')}';
  delete from events where event_id >= '${recordedId('event')}'`

/** Logs of prospects that were found in memory. */
const logsRecorded = ({ activities }: Store, tenantId: string, count: number): Undoable => {
  const changes = numbers(count, 500, 11).map((number) => {
    const owner = someProspect(tenantId, { prospectId: idAt('prospect', number), email: 'email' })
    return logChangeOf(owner, someLog(owner, { prospectLogId: recordedId('prospectlog', number) }))
  })
  return {
    act: () => Promise.all(changes.map((change) => activities.record(change))),
    undo: REMOVE_RECORDED_LOGS,
  }
}

const peopleRecorded = ({ activities }: Store, tenantId: string, count: number): Undoable => {
  const changes = numbers(count, 0).map((number) => {
    const texts = { email: `new-${number}@example.com`, externalId: `new-${number}` }
    const person = someProspect(tenantId, { prospectId: recordedId('prospect', number), ...texts })
    return changeOf(person, someLog(person, { prospectLogId: recordedId('prospectlog', number) }))
  })
  return {
    act: () => Promise.all(changes.map((change) => activities.record(change))),
    undo: `
      delete from identifiers where prospect_id >= '${recordedId('prospect')}';
      delete from prospects where prospect_id >= '${recordedId('prospect')}';
      ${REMOVE_RECORDED_LOGS}`,
  }
}

/** The first of the versions that wait for a publisher are published. */
const versionsSettled = ({ versions }: Store, tenantId: string, count: number): Undoable => {
  const settled = numbers(count, FIRST_WAITING).map((number) => ({
    pageId: idAt('page', number),
    versionId: idAt('pageversion', number),
    attempt: 0,
    status: 'published' as const,
    at: at(0),
    computedName: 'Named',
  }))
  const end = FIRST_WAITING + count
  return {
    act: () => versions.settle(tenantId, settled),
    undo: `
      update page_versions set status = 'processing', published_at = null
      where version_id >= '${idAt('pageversion', FIRST_WAITING)}' and version_id < '${idAt('pageversion', end)}';
      update pages set published_version_id = null, published_at = null
      where page_id >= '${idAt('page', FIRST_WAITING)}' and page_id < '${idAt('page', end)}'`,
  }
}

const peopleIndexed = ({ searchIndex }: Store, tenantId: string, max: number): Undoable => ({
  act: () => searchIndex.extend({ tenantId, mark: 'position', beforeId: '~', from: INDEXED_TO, max }),
  undo: `
    update searched_tenants set position = '${INDEXED_TO}';
    update prospects set is_searched = false where prospect_id like '%0'`,
})

/** The prospect 20 gets another email. */
const prospectCorrected = (prospects: Store['prospects'], tenantId: string): Undoable => {
  const prospectId = idAt('prospect', 20)
  const before = {
    tenantId,
    prospectId,
    email: 'email',
    externalId: null,
    name: null,
    attributes: null,
    createdAt: at(0),
    updatedAt: at(0),
    erasedAt: null,
    mergedInto: null,
  }
  const added = { ...email(tenantId, 9_999_999), value: 'corrected', prospectId }
  const released = { ...email(tenantId, 20), value: 'email', prospectId }
  return {
    act: () =>
      prospects.correct({
        before,
        after: { ...before, email: 'corrected', updatedAt: at(1) },
        added: [added],
        released: [released],
        forgotten: [],
      }),
    undo: `
      update prospects set email = 'email', updated_at = '${at(0)}' where prospect_id = '${prospectId}';
      delete from identifiers where hash = '${added.hash}';
      delete from former_identifiers where prospect_id = '${prospectId}';
      insert into identifiers (tenant_id, kind, hash, value, prospect_id)
      values ('${tenantId}', 'email', '${released.hash}', 'email', '${prospectId}')`,
  }
}

const hashOf = (number: number): string => `${number}`.padStart(43, '0')
const email = (tenantId: string, number: number) =>
  ({ tenantId, kind: 'email', hash: hashOf(number) }) as const
const externalId = (tenantId: string, number: number) =>
  ({ tenantId, kind: 'externalId', hash: hashOf(number) }) as const
