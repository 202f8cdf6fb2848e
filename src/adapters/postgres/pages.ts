import { asOutcome } from '../../core/engine/outcome.ts'
import { SLICE_BYTES_MAX } from '../../core/engine/slices.ts'
import type { NewEvent } from '../../core/ports/events.ts'
import type { PageGroupKey } from '../../core/ports/page-groups.ts'
import type {
  FoundPage,
  KnownForNewPage,
  ListedPage,
  NewPageLookup,
  NewPageRow,
  PageChange,
  PageKey,
  Pages,
  PagesQuery,
  PublishedPageRow,
  PublishedPagesQuery,
  SlugKey,
} from '../../core/ports/pages.ts'
import type { Recorded } from '../../core/ports/world.ts'
import {
  changeNeedsWork,
  firstVersionRow,
  NEW_PAGE_COLUMNS,
  NEW_VERSION_COLUMNS,
  newPageNeedsWork,
  newPageRow,
  newVersionRow,
  type PublishedRow,
  publishedPage,
  SHOWN_VERSION,
} from '../stores/page-rows.ts'
import { COLUMNS, without } from '../stores/rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { LOOKUPS_MAX, type Together, weightOfPage } from '../stores/together.ts'
import { type FoundRow, foundPage } from './found-page.ts'
import { numbered, numberedSlices, rowsOfEach } from './numbered.ts'
import { EVENT, type Events, eventRow, type Outbox } from './outbox.ts'
import { retriedThenHalved } from './overtaken.ts'
import { columns, type Query } from './sql.ts'

/** One row of `recall`: the group, the page with the same idempotency key, or the owner of the slug. */
type RecallRow = { readonly number: number } & (
  | (NonNullable<KnownForNewPage['group']> & { readonly part: 'group' })
  | (NonNullable<KnownForNewPage['page']> & { readonly part: 'page' })
  | { readonly part: 'slug'; readonly pageId: string }
)
/** A page to record with its events. */
type Recording = { readonly page: NewPageRow; readonly events: readonly NewEvent[] }
/** A page of a group that is known. */
type ListedRow = Omit<ListedPage, keyof PageGroupKey> & { readonly number: number }

const BY_GROUP = columns('lookup', 'number int, tenant_id, page_group_id')
const BY_KEY = columns('lookup', 'number int, tenant_id, page_group_id, idempotency_key')
const BY_SLUG = columns('lookup', 'number int, tenant_id, page_group_id, slug')
const LISTED = columns('lookup', 'number int, tenant_id, page_group_id, before_id, rows_max int')
const PUBLISHED = columns(
  'lookup',
  'tenant_id, published_after timestamptz, before_time timestamptz, before_id, rows_max int',
)
const FOUND = columns('lookup', 'number int, tenant_id, page_group_id, page_id')
const SHOWN = columns('v', SHOWN_VERSION)
const PAGES_MAX = 64
const VERSION = columns('version', NEW_VERSION_COLUMNS)
const COUNT = columns('added', COLUMNS.page_counts)
/** Columns of a new page and of its version but those that the statement works out. The key is the page's. */
const PAGE = columns('page', without(NEW_PAGE_COLUMNS, 'page_number', 'computed_name'))
const FIRST_VERSION = columns(
  'page',
  without(NEW_VERSION_COLUMNS, 'computed_name', 'idempotency_key', 'request_hash'),
)
const NEW_PAGE = columns('page', {
  number: 'int',
  ...NEW_VERSION_COLUMNS,
  ...without(NEW_PAGE_COLUMNS, 'page_number'),
  group_title: 'text',
})
const NEW_EVENT = columns('event', { number: 'int', ...COLUMNS.events })

/**
 * Page groups are looked up by the expression of the index of those that are not deleted. The id alone would leave the
 * planner a choice: each index on page groups begins with the tenant. Each look-up of a batch is a `lateral` with
 * a limit: so it uses its whole key, whatever the planner assumes of the tables. A join could read all rows of a tenant.
 *
 * Every change of a page locks its row before those of its versions, and raises its revision. If the page has changed,
 * nothing is saved. Calls `wakePublisher` after versions were added or something was scheduled.
 */
export const postgresPages = (
  query: Query,
  outbox: Outbox,
  together: Together,
  wakePublisher: () => void,
): Pages => {
  const { confirm } = outbox
  const findWith = (content: boolean) =>
    together.read('pages.find', (lookups: readonly PageKey[]) => findAll(query, lookups, content), {
      listLengthMax: PAGES_MAX,
    })
  const withContent = findWith(true)
  const withoutContent = findWith(false)

  const recordPage = together.write(
    'pages.record',
    retriedThenHalved((recordings: readonly Recording[]) =>
      savePages(query, outbox, wakePublisher, recordings),
    ),
    { tenantOf: ({ page }) => page.tenantId, weightOf: ({ page }) => weightOfPage(page), claimsOf },
  )

  return {
    find: (lookup, content = true) => (content ? withContent : withoutContent)(lookup),

    recall: together.read('pages.recall', (lookups: readonly NewPageLookup[]) => recallAll(query, lookups), {
      listLengthMax: LOOKUPS_MAX,
    }),
    record: (page, events = []) => recordPage({ page, events }),

    list: together.read('pages.list', (lookups: readonly PagesQuery[]) => listAll(query, lookups)),
    /** One statement for each, so that each can fail alone; only equal lists share theirs. */
    listPublished: together.read('pages.listPublished', (lookups: readonly PublishedPagesQuery[]) =>
      Promise.all(lookups.map((lookup) => listPublished(query, lookup).catch(asOutcome))),
    ),
    findSlug: together.read('pages.findSlug', (lookups: readonly SlugKey[]) => findSlugs(query, lookups)),

    change: async (change, events) => {
      const result = await confirm(changePage(query, outbox, change, events))
      if (result === 'recorded' && changeNeedsWork(change)) wakePublisher()
      return result
    },

    remove: (page, events) => confirm(removePage(query, outbox, page, events)),
  }
}

/** The idempotency key and the slug that a new page takes in its group. */
export const claimsOf = ({ page }: Pick<Recording, 'page'>): string[] => {
  const { tenantId, pageGroupId, idempotencyKey, slug } = page
  const claims: string[] = []
  if (idempotencyKey !== null) claims.push(`${tenantId} ${pageGroupId} key ${idempotencyKey}`)
  if (slug !== null) claims.push(`${tenantId} ${pageGroupId} slug ${slug}`)
  return claims
}

const recallAll = async (query: Query, lookups: readonly NewPageLookup[]): Promise<KnownForNewPage[]> => {
  const all = numbered(lookups)
  const rows = await query()<RecallRow>`
    select lookup.number, 'group' as part, g.tenant_id, g.page_group_id, g.status, g.title,
      null as page_id, null as idempotency_key, null as request_hash, null::timestamptz as created_at
    from ${BY_GROUP.fromFew(all)}
      cross join lateral (
        select * from page_groups g
        where g.tenant_id = lookup.tenant_id
          and (case when g.status <> 'deleted' then g.page_group_id end) = lookup.page_group_id
        limit 1
      ) g
    union all
    select lookup.number, 'page', p.tenant_id, p.page_group_id, null, null,
      p.page_id, p.idempotency_key, p.request_hash, p.created_at
    from ${BY_KEY.fromFew(all.filter(({ idempotencyKey }) => idempotencyKey !== undefined))}
      cross join lateral (
        select * from pages p
        where p.tenant_id = lookup.tenant_id and p.page_group_id = lookup.page_group_id
          and p.idempotency_key = lookup.idempotency_key
        limit 1
      ) p
    union all
    select lookup.number, 'slug', null, null, null, null, p.page_id, null, null, null
    from ${BY_SLUG.fromFew(all.filter(({ slug }) => slug !== undefined))}
      cross join lateral (
        select p.page_id from pages p
        where p.tenant_id = lookup.tenant_id and p.page_group_id = lookup.page_group_id and p.slug = lookup.slug
        limit 1
      ) p`
  return rowsOfEach(lookups, rows).map((found) => ({
    group: found.find((row) => row.part === 'group') ?? null,
    page: found.find((row) => row.part === 'page') ?? null,
    slugOwnerId: found.find((row) => row.part === 'slug')?.pageId ?? null,
  }))
}

/**
 * Saves each page whole, with the next number of its group, or not at all if the group is no longer active or has another
 * title, or another page has its idempotency key or its slug.
 */
const savePages = async (
  query: Query,
  { announce, everyEvent }: Outbox,
  wakePublisher: () => void,
  recordings: readonly Recording[],
): Promise<Recorded[]> => {
  const pages = recordings.map(({ page }, number) => ({
    ...firstVersionRow(page),
    ...newPageRow(page, null),
    content: page.content,
    supplementaryContext: page.supplementaryContext,
    groupTitle: page.groupTitle,
    number,
  }))
  const events = recordings.flatMap(({ events }, number) =>
    events.map((event) => ({ ...eventRow(event), number })),
  )
  const rows = await announce(
    query()<Events & { readonly number: number }>`
      with page as (
        -- The pages that can be added, each with its position among those of its group.
        select page.*, count(*) over (partition by page.tenant_id, page.page_group_id) as pages_in_group,
          row_number() over (partition by page.tenant_id, page.page_group_id order by page.page_id) as position
        from ${NEW_PAGE.fromAny(pages)}
        where (
          select true from page_groups g
          where g.tenant_id = page.tenant_id and g.status = 'active'
            and (case when g.status <> 'deleted' then g.page_group_id end) = page.page_group_id
            and (page.group_title is null or g.title = page.group_title)
          limit 1
        ) and (page.idempotency_key is null or (
          select true from pages p
          where p.tenant_id = page.tenant_id and p.page_group_id = page.page_group_id
            and p.idempotency_key = page.idempotency_key
          limit 1
        ) is null) and (page.slug is null or (
          select true from pages p
          where p.tenant_id = page.tenant_id and p.page_group_id = page.page_group_id and p.slug = page.slug
          limit 1
        ) is null)
      ),
      -- The count of each group with its new pages. Sorted by the key, so that two lists lock groups in the same order.
      counted as (
        insert into page_counts as c (${COUNT.names})
        select page.tenant_id, page.page_group_id, page.pages_in_group, page.pages_in_group from page where page.position = 1
        order by page.tenant_id, page.page_group_id
        on conflict (tenant_id, page_group_id) do update set
          pages_count = c.pages_count + excluded.pages_count, changes = c.changes + excluded.changes
        returning c.tenant_id, c.page_group_id, c.pages_count
      ),
      -- All counts in one object, by tenant and group: a join would compare each page with each group. Materialized, or the
      -- object would be made for each page.
      counts as materialized (
        select jsonb_object_agg(counted.tenant_id || ' ' || counted.page_group_id, counted.pages_count) as of_group
        from counted
      ),
      -- The count without the new pages, plus the position among them, is the number of a page.
      numbered as (
        select page.*, (counts.of_group ->> (page.tenant_id || ' ' || page.page_group_id))::int
          - page.pages_in_group + page.position as page_number
        from page
          cross join counts
      ),
      -- A name that was made of the title of the group ends with the number of the page: numberedName of core/pages.
      named as (
        select page.*, case when page.group_title is not null then ltrim(page.computed_name || ' ' || page.page_number)
          else page.computed_name end as whole_name
        from numbered page
      ),
      -- Sorted, so that two lists with the same keys wait for each other in the same order.
      added_pages as (
        insert into pages (${PAGE.names}, computed_name, page_number)
        select ${PAGE.values}, page.whole_name, page.page_number from named page
        order by page.tenant_id, page.page_group_id, page.idempotency_key, page.page_id
      ),
      added_versions as (
        insert into page_versions (${FIRST_VERSION.names}, computed_name)
        select ${FIRST_VERSION.values}, page.whole_name from named page
      ),
      -- A tenant without an enabled endpoint needs no events, unless every tenant has them.
      new_events as (
        insert into events (${EVENT.names})
        select ${EVENT.values} from ${NEW_EVENT.fromAny(events)}
        where (event.number in (select number from page)) is true and (${everyEvent} or (
          select true from webhook_endpoints w where w.tenant_id = event.tenant_id and w.status = 'enabled' limit 1
        ))
        returning 1
      )
      select number, (select count(*)::int from new_events) as events from page`,
  )
  const saved = new Set(rows.map(({ number }) => number))
  if (recordings.some(({ page }, number) => saved.has(number) && newPageNeedsWork(page))) wakePublisher()
  return recordings.map((_, number) => (saved.has(number) ? 'recorded' : 'overtaken'))
}

/** Changes a page and its versions, unless the page has changed since or its group no longer allows it. */
const changePage = (
  query: Query,
  { newEvents }: Outbox,
  change: PageChange,
  events: readonly NewEvent[] | undefined,
) => {
  const { tenantId, pageGroupId, pageId, revision, updatedAt, publishedVersionId, schedule } = change
  const addedVersions = change.added === null ? [] : [newVersionRow(change, change.added)]
  const needsActiveGroup = change.added !== null || change.publishes
  return query()<Events>`
    with changed as (
      update pages p set slug = ${change.slug}, custom_name = ${change.customName}, computed_name = ${change.computedName},
        updated_at = ${updatedAt}, published_version_id = ${publishedVersionId},
        published_at = case when ${change.publishes} then ${updatedAt}
          when ${publishedVersionId}::text is not null then p.published_at end,
        automatic_after = ${change.automaticAfter}, unpublish_at = ${change.unpublishAt},
        latest_version_id = coalesce(${change.added?.versionId ?? null}, p.latest_version_id),
        revision = p.revision + 1
      where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id = ${pageId}
        and p.revision = ${revision} and exists (
          select 1 from page_groups g
          where g.tenant_id = ${tenantId} and (g.status = 'active' or not ${needsActiveGroup})
            and (case when g.status <> 'deleted' then g.page_group_id end) = ${pageGroupId}
        )
      returning 1
    ), added_version as (
      insert into page_versions (${VERSION.names})
      select ${VERSION.values} from ${VERSION.from(addedVersions)} where exists (select 1 from changed)
    ), dropped as (
      delete from page_versions v
      where v.tenant_id = ${tenantId} and v.page_id = ${pageId} and v.version_id = ${change.dropped}
        and exists (select 1 from changed)
    ), published as (
      update page_versions v set status = 'published', published_at = ${updatedAt}, publish_at = null,
        unpublish_at = null, schedule_note = null
      where v.tenant_id = ${tenantId} and v.page_id = ${pageId} and v.version_id = ${publishedVersionId}
        and ${change.publishes} and exists (select 1 from changed)
    ), scheduled as (
      update page_versions v set publish_at = ${schedule?.publishAt ?? null},
        unpublish_at = ${schedule?.unpublishAt ?? null}, schedule_note = ${schedule?.scheduleNote ?? null},
        publish = false
      where v.tenant_id = ${tenantId} and v.page_id = ${pageId}
        and v.version_id = ${schedule?.versionId ?? null} and exists (select 1 from changed)
    ), ${newEvents(events)}
    select (select count(*)::int from new_events) as events from changed`
}

/** Removes a page with its versions, unless it has changed since. */
const removePage = (
  query: Query,
  { newEvents }: Outbox,
  { tenantId, pageGroupId, pageId, revision }: PageKey & Pick<PageChange, 'revision'>,
  events: readonly NewEvent[] | undefined,
) =>
  query()<Events>`
    with changed as (
      delete from pages p
      where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id = ${pageId}
        and p.revision = ${revision} and exists (
          select 1 from page_groups g
          where g.tenant_id = ${tenantId}
            and (case when g.status <> 'deleted' then g.page_group_id end) = ${pageGroupId}
        )
      returning 1
    ), emptied as (
      delete from page_versions v
      where v.tenant_id = ${tenantId} and v.page_id = ${pageId} and exists (select 1 from changed)
    ), counted as (
      update page_counts c set pages_count = c.pages_count - 1, changes = c.changes + 1
      where c.tenant_id = ${tenantId} and c.page_group_id = ${pageGroupId} and exists (select 1 from changed)
    ), ${newEvents(events)}
    select (select count(*)::int from new_events) as events from changed`

const findAll = async (
  query: Query,
  lookups: readonly PageKey[],
  withContent: boolean,
): Promise<FoundPage[]> => {
  // Each version is read by its whole key: for two ids, a plan made while pages had one version reads all versions.
  const rows = await query()<FoundRow & { readonly number: number }>`
    select lookup.number, p.slug, p.custom_name, p.computed_name as page_name, p.revision, p.created_at as page_created_at,
      p.updated_at, p.published_version_id, p.automatic_after, g.status as group_status,
      p.unpublish_at as page_unpublish_at, ${SHOWN.selected},
      case when ${withContent} and v.version_id = p.published_version_id then v.content::text end as content
    from ${FOUND.fromFew(numbered(lookups))}
      cross join lateral (
        select g.status from page_groups g
        where g.tenant_id = lookup.tenant_id
          and (case when g.status <> 'deleted' then g.page_group_id end) = lookup.page_group_id
        limit 1
      ) g
      left join lateral (
        select p.slug, p.custom_name, p.computed_name, p.revision, p.created_at, p.updated_at, p.published_version_id,
          p.automatic_after, p.unpublish_at, p.latest_version_id
        from pages p
        where p.tenant_id = lookup.tenant_id and p.page_group_id = lookup.page_group_id and p.page_id = lookup.page_id
        limit 1
      ) p on true
      left join lateral (
        (
          select ${SHOWN.names}, content from page_versions v
          where v.tenant_id = lookup.tenant_id and v.page_id = lookup.page_id and v.version_id = p.latest_version_id
          limit 1
        )
        union all
        (
          select ${SHOWN.names}, content from page_versions v
          where v.tenant_id = lookup.tenant_id and v.page_id = lookup.page_id
            and v.version_id = nullif(p.published_version_id, p.latest_version_id)
          limit 1
        )
      ) v on true`
  const found = rowsOfEach(lookups, rows)
  return lookups.map((lookup, i) => foundPage(found[i] ?? [], lookup))
}

/**
 * The pages of each group, newest first; null for a missing group. A page is read if the names of all pages before its
 * predecessor fit into a slice. So the first page is read whatever its size, and one more than fits: it shows that more
 * follow.
 */
const listAll = async (query: Query, lookups: readonly PagesQuery[]): Promise<(ListedPage[] | null)[]> => {
  const rows = await query()<ListedRow>`
    select lookup.number, listed.page_id, listed.slug, listed.custom_name, listed.computed_name, listed.created_at,
      listed.updated_at, listed.published_at
    from ${LISTED.fromFew(numberedSlices(lookups))}
      cross join lateral (
        select g.status from page_groups g
        where g.tenant_id = lookup.tenant_id
          and (case when g.status <> 'deleted' then g.page_group_id end) = lookup.page_group_id
        limit 1
      ) g
      left join lateral (
        select * from (
          select older.*, sum(octet_length(older.custom_name)) over (
            order by older.page_id desc rows between unbounded preceding and 2 preceding
          ) as bytes_before
          from (
            select p.page_id, p.slug, p.custom_name, p.computed_name, p.created_at, p.updated_at, p.published_at
            from pages p
            where p.tenant_id = lookup.tenant_id and p.page_group_id = lookup.page_group_id
              and p.page_id < lookup.before_id
            order by p.page_id desc limit lookup.rows_max
          ) older
        ) measured
        where coalesce(measured.bytes_before, 0) <= ${SLICE_BYTES_MAX}
      ) listed on true
    order by lookup.number, listed.page_id desc`
  const found = rowsOfEach(lookups, rows)
  return lookups.map((lookup, i) => {
    const pages = found[i] ?? []
    // A missing group has no row, and a group without pages one row without a page.
    if (pages.length === 0) return null
    return (pages[0]?.pageId ?? null) === null ? [] : pages.map((page) => listedPage(page, lookup))
  })
}

const listedPage = (row: ListedRow, { tenantId, pageGroupId }: PageGroupKey): ListedPage => ({
  tenantId,
  pageGroupId,
  pageId: row.pageId,
  slug: row.slug,
  customName: row.customName,
  computedName: row.computedName,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  publishedAt: row.publishedAt,
})

const findSlugs = async (query: Query, lookups: readonly SlugKey[]): Promise<(string | null)[]> => {
  const rows = await query()<{ readonly number: number; readonly pageId: string }>`
    select lookup.number, p.page_id
    from ${BY_SLUG.from(numbered(lookups))}
      cross join lateral (
        select p.page_id from pages p
        where p.tenant_id = lookup.tenant_id and p.page_group_id = lookup.page_group_id and p.slug = lookup.slug
        limit 1
      ) p
      cross join lateral (
        select 1 from page_groups g
        where g.tenant_id = lookup.tenant_id
          and (case when g.status <> 'deleted' then g.page_group_id end) = lookup.page_group_id
        limit 1
      ) g`
  return rowsOfEach(lookups, rows).map(([page]) => page?.pageId ?? null)
}

/**
 * Walks along the index of published pages, and reads the version of each by its whole key. A page is read if the contents
 * of all pages before its predecessor fit into a slice, as in `listAll`. The query is a row that the walk is joined to: by
 * its constants, the planner would sometimes collect and sort all pages of the tenant.
 */
const listPublished = async (query: Query, lookup: PublishedPagesQuery): Promise<PublishedPageRow[]> => {
  const { tenantId, limit, publishedAfter, before } = lookup
  const walk = {
    tenantId,
    publishedAfter: publishedAfter ?? '1970-01-01T00:00:00.000Z',
    beforeTime: before?.publishedAt ?? '9999-12-31T23:59:59.999Z',
    beforeId: before?.pageId ?? AFTER_ALL_IDS,
    rowsMax: limit + 1,
  }
  const rows = await query(tenantId)<PublishedRow>`
    select l.tenant_id, l.page_group_id, l.page_id, l.slug, l.custom_name, l.computed_name, l.created_at, l.updated_at,
      l.published_at, l.group_status, l.version_id, l.version_number, l.content
    from (
      select l.*, sum(coalesce(octet_length(l.content), 0) + coalesce(octet_length(l.custom_name), 0)) over (
        order by l.published_at desc, l.page_id desc rows between unbounded preceding and 2 preceding
      ) as bytes_before
      from (
        select p.*, coalesce(g.status, 'deleted') as group_status, v.version_id, v.version_number,
          v.content::text as content
        from ${PUBLISHED.from([walk])}
          cross join lateral (
            select * from pages p
            where p.tenant_id = lookup.tenant_id and p.published_at is not null
              and p.published_at > lookup.published_after
              and (p.published_at, p.page_id) < (lookup.before_time, lookup.before_id)
            order by p.published_at desc, p.page_id desc limit lookup.rows_max
          ) p
          left join lateral (
            select g.status from page_groups g
            where g.tenant_id = lookup.tenant_id
              and (case when g.status <> 'deleted' then g.page_group_id end) = p.page_group_id
            limit 1
          ) g on true
          cross join lateral (
            select * from page_versions v
            where v.tenant_id = lookup.tenant_id and v.page_id = p.page_id and v.version_id = p.published_version_id
            limit 1
          ) v
      ) l
    ) l
    where coalesce(l.bytes_before, 0) <= ${SLICE_BYTES_MAX}
    order by l.published_at desc, l.page_id desc`
  return rows.map(publishedPage)
}
