import type { Sql } from '../../src/adapters/postgres/open.ts'
import { timelineKey } from '../../src/adapters/stores/timeline-key.ts'
import type { ActivityChange } from '../../src/core/ports/activities.ts'
import type { ClaimedErasure } from '../../src/core/ports/erasures.ts'
import type { PageGroupsQuery } from '../../src/core/ports/page-groups.ts'
import type { PageKey, PagesQuery } from '../../src/core/ports/pages.ts'
import { FORMER_OWNERS_READ_MAX, type ProspectCorrected } from '../../src/core/ports/prospects.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { IdPrefix } from '../../src/core/ports/world.ts'
import { SEARCHED_MAX } from '../../src/core/prospects/search-keys.ts'
import type { VersionStatus } from '../../src/shapes/page.ts'
import type { PageGroupStatus } from '../../src/shapes/page-group.ts'
import { at, changeOf, logChangeOf, logKey, readEach, someClaim, someLog, someProspect } from './rows.ts'

/** Tables that grow with use; page groups are fewer, but a tenant may have thousands. */
export const GROWING = [
  'prospects',
  'identifiers',
  'former_identifiers',
  'prospect_conflicts',
  'prospect_logs',
  'page_groups',
  'page_counts',
  'pages',
  'page_versions',
  'erasures',
  'events',
  'webhook_deliveries',
]

type Wanted = {
  readonly tenantId: string
  readonly strangerId: string
  /** Three page groups: of a few old pages, of very many newer ones, of none. */
  readonly small: string
  readonly big: string
  readonly empty: string
}
type Act = {
  readonly name: string
  readonly act: () => Promise<unknown>
  /** No step of a plan may read more rows than this. */
  readonly rowsMax: number
  /** Makes it possible to do it again. */
  readonly undo?: string
}

const idAt = (prefix: IdPrefix, number: number): string => `${prefix}_${String(number).padStart(26, '0')}`
export const PAGE = idAt('page', 7)
const VERSION = idAt('pageversion', 7)
const ERASURE = idAt('erasure', 9)
const SLICE_ROWS = 21
const MANY = 20
/** As many as one list holds when the service is busy; tables of this size may be read as a whole then, but once. */
const LIST = 200
export const TABLE_ROWS = 60_000
/** Versions that wait for a publisher. */
const WAITING = 3_000
const FIRST_WAITING = 31_001

const UNSETTLE = `
  update page_versions set status = 'processing', published_at = null
  where version_id >= '${idAt('pageversion', FIRST_WAITING)}'
    and version_id < '${idAt('pageversion', FIRST_WAITING + LIST)}';
  update pages set published_version_id = null, published_at = null
  where page_id >= '${idAt('page', FIRST_WAITING)}' and page_id < '${idAt('page', FIRST_WAITING + LIST)}'`

const UNDO_LOGS = `
  delete from prospect_logs where prospect_log_id >= '${idAt('prospectlog', 2_000_000)}';
  delete from events where event_id >= '${idAt('event', 2_000_000)}'`
const UNDO_PEOPLE = `
  delete from identifiers where prospect_id >= '${idAt('prospect', 2_000_000)}';
  delete from prospects where prospect_id >= '${idAt('prospect', 2_000_000)}';${UNDO_LOGS}`
const UNDO_INDEXING = `
  update searched_tenants set position = '${idAt('prospect', 700)}';
  update prospects set is_searched = false where prospect_id like '%0'`
const UNDO_CORRECTION = `
  update prospects set email = 'email', updated_at = '${at(0)}' where prospect_id = '${idAt('prospect', 20)}';
  delete from identifiers where hash = '${'9999999'.padStart(43, '0')}';
  delete from former_identifiers where prospect_id = '${idAt('prospect', 20)}';
  insert into identifiers (tenant_id, kind, hash, value, prospect_id)
  values ('tenant_ours', 'email', '${'20'.padStart(43, '0')}', 'email', '${idAt('prospect', 20)}')`

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
  const indexing = { tenantId, mark: 'position', beforeId: '~' } as const
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
  const recordLogs = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => activities.record(plainLog(tenantId, 500 + i * 11))))
  const recordPeople = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => activities.record(newPerson(tenantId, i))))
  const settle = (count: number) =>
    versions.settle(
      tenantId,
      Array.from({ length: count }, (_, i) => ({
        pageId: idAt('page', FIRST_WAITING + i),
        versionId: idAt('pageversion', FIRST_WAITING + i),
        attempt: 0,
        status: 'published',
        at: at(0),
        computedName: 'Named',
      })),
    )
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
      { name: 'logs of remembered prospects', act: () => recordLogs(count), each: 2, undo: UNDO_LOGS },
      { name: 'logs of new people', act: () => recordPeople(count), each: 2, undo: UNDO_PEOPLE },
      { name: 'pages recalled', act: () => recallPages(count), each: 1 },
      { name: 'versions settled', act: () => settle(count), each: 1, undo: UNSETTLE },
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
    { name: 'a log of a remembered prospect', act: () => recordLogs(1), rowsMax: 2, undo: UNDO_LOGS },
    { name: 'a log of a new person', act: () => recordPeople(1), rowsMax: 2, undo: UNDO_PEOPLE },
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
      act: () => store.searchIndex.extend({ ...indexing, from: idAt('prospect', 700), max: SLICE_ROWS }),
      rowsMax: SLICE_ROWS,
      undo: UNDO_INDEXING,
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
    { name: 'a version settled', act: () => settle(1), rowsMax: 1, undo: UNSETTLE },
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

/** A slice has one row more than its limit, and what follows shows that its last step is complete. */
const FEW = SLICE_ROWS + 5
const BUSY = idAt('prospect', 40)
const MERGE = { mergeId: idAt('merge', 1), prospectId: BUSY, intoId: idAt('prospect', 39) }

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
      act: () => prospects.correct(correction(tenantId)),
      rowsMax: 2,
      undo: UNDO_CORRECTION,
    },
  ]
}

/** The prospect 20 gets another email. */
const correction = (tenantId: string): ProspectCorrected => {
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
  const added = { ...email(tenantId, CORRECTED), value: 'corrected', prospectId }
  const released = { ...email(tenantId, 20), value: 'email', prospectId }
  return {
    before,
    after: { ...before, email: 'corrected', updatedAt: at(1) },
    added: [added],
    released: [released],
    forgotten: [],
  }
}
const CORRECTED = 9_999_999

const ENDPOINT = idAt('webhookendpoint', 1)
/** Events that wait for their numbers. */
const UNNUMBERED = 500
const LAST_EVENT = 20_000

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

const hashOf = (number: number): string => `${number}`.padStart(43, '0')
const email = (tenantId: string, number: number) =>
  ({ tenantId, kind: 'email', hash: hashOf(number) }) as const
const externalId = (tenantId: string, number: number) =>
  ({ tenantId, kind: 'externalId', hash: hashOf(number) }) as const

/** A log of a prospect that was found in memory. */
const plainLog = (tenantId: string, number: number): ActivityChange => {
  const owner = someProspect(tenantId, { prospectId: idAt('prospect', number), email: 'email' })
  return logChangeOf(owner, someLog(owner, { prospectLogId: idAt('prospectlog', REMEMBERED + number) }))
}
const newPerson = (tenantId: string, number: number): ActivityChange => {
  const texts = { email: `new-${number}@example.com`, externalId: `new-${number}` }
  const person = someProspect(tenantId, { prospectId: idAt('prospect', REMEMBERED + number), ...texts })
  return changeOf(person, someLog(person, { prospectLogId: idAt('prospectlog', REMEMBERED + number) }))
}
const REMEMBERED = 2_000_000

const OURS = 'tenant_ours'
const THEIRS = 'tenant_theirs'
export const WANTED: Wanted = {
  tenantId: OURS,
  strangerId: THEIRS,
  small: idAt('pagegroup', 1),
  big: idAt('pagegroup', 2),
  empty: idAt('pagegroup', 3),
}

/**
 * Skewed on purpose, `early` being run while it is nearly empty: of our groups the newest thousands are deleted; another tenant's many groups, prospects and logs
 * and another group's 30,000 pages are newer than ours; a few thousand versions wait.
 */
export const fill = async (sql: Sql, early: string): Promise<void> => {
  for (const tenant of [OURS, THEIRS]) {
    await sql.unsafe(`insert into tenants (tenant_id, name, created_at) values ('${tenant}', 'Acme', now())`)
    await sql.unsafe(
      `insert into brands (tenant_id, brand_id, name, created_at)
       values ('${tenant}', 'brand_${tenant}', 'Acme', now())`,
    )
  }
  const { small, big } = WANTED
  await groups(sql, OURS, 1, 60, 'active')
  await pagesOf(sql, OURS, small, 1, 50, 'published')
  await people(sql, OURS, 1, 50)
  await sql.unsafe(early)
  await groups(sql, OURS, 1_000, 6_000, 'deleted')
  await groups(sql, OURS, 6_001, 6_030, 'archived')
  await groups(sql, THEIRS, 10_000, 30_000, 'active')
  await pagesOf(sql, OURS, big, 1_000, 31_000, 'published')
  await pagesOf(sql, OURS, big, FIRST_WAITING, FIRST_WAITING + WAITING - 1, 'processing')
  await pagesOf(sql, THEIRS, idAt('pagegroup', 10_000), 40_000, 60_000, 'published')
  await people(sql, OURS, 51, 20_000)
  await logsOf(sql, OURS, BUSY, 60_001, 90_000)
  await people(sql, THEIRS, 20_001, 40_000)
  await sql.unsafe(`
    insert into merges (tenant_id, merge_id, prospect_id, into_id, status, requested_at, pass, attempts, claimable_at)
    values ('${OURS}', '${MERGE.mergeId}', '${BUSY}', '${MERGE.intoId}', 'processing', now(), 1, 0, now())`)
  for (const [tenant, from, to] of [
    [OURS, 1, 20_000],
    [THEIRS, 20_001, 40_000],
  ] as const)
    await sql.unsafe(`
      insert into erasures (tenant_id, erasure_id, prospect_id, status, requested_at, completed_at, logs_erased,
        pass, position, attempts, claimable_at)
      select '${tenant}', ${ID('erasure')}, ${ID('prospect')},
        case when n % 10 = 0 then 'processing' else 'completed' end, now(), case when n % 10 > 0 then now() end, 0,
        1, '', 0, timestamptz '2025-01-01Z' + n * interval '1 ms'
      from generate_series(${from}, ${to}) n;
      insert into identifiers (tenant_id, kind, hash, blocked_until, erasure_id)
      select '${tenant}', 'email', 'blocked' || lpad(n::text, 36, '0'),
        timestamptz '2025-01-01Z' + n * interval '1 ms', ${ID('erasure')}
      from generate_series(${from}, ${to}) n`)
  for (const tenant of [OURS, THEIRS]) await eventsOf(sql, tenant)
}

/** No autovacuum: only the test changes what the planner knows. */
export const keepStatistics = async (sql: Sql): Promise<void> => {
  for (const table of GROWING) await sql.unsafe(`alter table ${table} set (autovacuum_enabled = false)`)
}

/** As if the tables had never been analyzed. */
export const forgetStatistics = async (sql: Sql): Promise<void> => {
  await sql`delete from pg_statistic where starelid in (select oid from pg_class where relname in ${sql(GROWING)})`
  await sql`update pg_class set reltuples = -1, relpages = 0 where relname in ${sql(GROWING)}`
}

/** `idAt` in SQL, of `n`. */
const ID = (prefix: IdPrefix): string => `'${prefix}_' || lpad(n::text, 26, '0')`

const groups = async (sql: Sql, tenant: string, from: number, to: number, status: PageGroupStatus) => {
  await sql.unsafe(`
    insert into page_groups (tenant_id, page_group_id, brand_id, name, title, status, actions, footer_links, scripts,
      revision, idempotency_key, request_hash, created_at, updated_at, deleted_at)
    select '${tenant}', ${ID('pagegroup')}, 'brand_${tenant}', 'offers', 'Offers', '${status}', '[]', '[]', '[]',
      1, 'key ' || n, 'hash', now(), now(), ${status === 'deleted' ? 'now()' : 'null'}
    from generate_series(${from}, ${to}) n`)
  await sql.unsafe(`
    insert into page_counts (tenant_id, page_group_id, pages_count, changes)
    select '${tenant}', ${ID('pagegroup')}, 1, 1 from generate_series(${from}, ${to}) n`)
}

const pagesOf = async (
  sql: Sql,
  tenant: string,
  group: string,
  from: number,
  to: number,
  status: VersionStatus,
) => {
  const publishes = status === 'published'
  await sql.unsafe(`
    insert into pages (tenant_id, page_group_id, page_id, computed_name, published_version_id, published_at, latest_version_id,
      revision, idempotency_key, request_hash, created_at, updated_at)
    select '${tenant}', '${group}', ${ID('page')}, 'Name', ${publishes ? ID('pageversion') : 'null'},
      ${publishes ? "timestamptz '2025-01-01Z' + n * interval '1 ms'" : 'null'}, ${ID('pageversion')}, 1, 'key ' || n, 'hash', now(), now()
    from generate_series(${from}, ${to}) n`)
  await sql.unsafe(`
    insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number, supplementary_context,
      computed_name, status, published_at, publish, attempts, claimable_at, idempotency_key, request_hash, created_at)
    select '${tenant}', ${ID('page')}, ${ID('pageversion')}, '${group}', 1, 'Context',
      'Name', '${status}', ${publishes ? "timestamptz '2025-01-01Z' + n * interval '1 ms'" : 'null'}, true, 0, timestamptz '2025-01-01Z' + n * interval '1 ms',
      'key ' || n, 'hash', now()
    from generate_series(${from}, ${to}) n`)
}

/** Events, the last of them without numbers, and their deliveries to three endpoints, some of which are pending. */
const eventsOf = async (sql: Sql, tenant: string) => {
  const last = LAST_EVENT - UNNUMBERED
  await sql.unsafe(`
    insert into events (tenant_id, event_id, sequence, type, ids, api_key_id, created_at)
    select '${tenant}', ${ID('event')}, case when n <= ${last} then n end, 'page.created', '{"pageId":"page"}', null, now()
    from generate_series(1, ${LAST_EVENT}) n;
    insert into event_counts (tenant_id, sequence) values ('${tenant}', ${last})
    on conflict (tenant_id) do update set sequence = excluded.sequence;
    insert into webhook_endpoints (tenant_id, webhook_endpoint_id, url, status, secret, failures, slot, claims, claimable_at,
      created_at, updated_at)
    select '${tenant}', ${ID('webhookendpoint')}, 'https://example.com', 'enabled', 'sealed', 0, n, 0, now(), now(), now()
    from generate_series(1, 3) n;
    insert into webhook_deliveries (tenant_id, webhook_endpoint_id, event_id, status, attempts, next_attempt_at, created_at)
    select '${tenant}', w.webhook_endpoint_id, ${ID('event')}, case when n % 10 = 0 then 'pending' else 'delivered' end,
      0, case when n % 10 = 0 then timestamptz '2025-01-01Z' + n * interval '1 ms' end, now()
    from generate_series(1, ${last}) n, webhook_endpoints w where w.tenant_id = '${tenant}'`)
}

/** Activities of one prospect, two in each step of its timeline; the newer the later. */
const logsOf = async (sql: Sql, tenant: string, prospect: string, from: number, to: number) => {
  const key = timelineKey(prospect, at(0))
  await sql.unsafe(`
    insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, created_prospect,
      occurred_at, timeline_key, created_at)
    select '${tenant}', ${ID('prospectlog')}, '${prospect}', 'crm', 'webhook', '{"a":1}', false,
      timestamptz '${at(0)}' - (${to} - n) * interval '2 s', ${key} - (${to} - n + 1) / 2, now()
    from generate_series(${from}, ${to}) n`)
}

/** Prospects, each with an email, an external id and a former email, and a log with an idempotency key. */
const people = async (sql: Sql, tenant: string, from: number, to: number) => {
  await sql.unsafe(`
    insert into searched_tenants (tenant_id, position, searched_at)
    values ('${tenant}', '${idAt('prospect', 700)}', '${at(0)}') on conflict do nothing;
    insert into prospects (tenant_id, prospect_id, email, created_at, updated_at, is_searched)
    select '${tenant}', ${ID('prospect')}, 'email', '${at(0)}', '${at(0)}', n % 10 <> 0 from generate_series(${from}, ${to}) n;
    insert into identifiers (tenant_id, kind, hash, value, prospect_id)
    select '${tenant}', kind, lpad(n::text, 43, '0'), 'email', ${ID('prospect')}
    from generate_series(${from}, ${to}) n, (values ('email'), ('externalId')) kinds (kind);
    insert into prospect_conflicts (tenant_id, prospect_id, other_id, field, at)
    select '${tenant}', ${ID('prospect')}, replace(${ID('prospect')}, 'prospect_0', 'prospect_1'), 'email', timestamptz '${at(0)}' + n * interval '1 s'
    from generate_series(${from}, ${to}) n;
    insert into former_identifiers (tenant_id, prospect_id, kind, hash, value, released_at)
    select '${tenant}', ${ID('prospect')}, 'email', 'former' || lpad((n % 5000)::text, 37, '0'), 'former', '${at(0)}'
    from generate_series(${from}, ${to}) n where n <> 20`)
  await sql.unsafe(`
    insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, idempotency_key,
      request_hash, created_prospect, occurred_at, timeline_key, created_at)
    select '${tenant}', ${ID('prospectlog')}, ${ID('prospect')}, 'crm', 'webhook', '{"a":1}', 'key ' || n, 'hash', true,
      now(), n, now()
    from generate_series(${from}, ${to}) n`)
}
