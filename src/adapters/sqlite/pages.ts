import { setImmediate } from 'node:timers/promises'
import type { NewEvent } from '../../core/ports/events.ts'
import type {
  FoundPage,
  KnownForNewPage,
  ListedPage,
  NewPageRow,
  PageChange,
  Pages,
  StoredPage,
} from '../../core/ports/pages.ts'
import type { Recorded } from '../../core/ports/world.ts'
import {
  changeNeedsWork,
  firstVersionRow,
  NEW_PAGE_COLUMNS,
  NEW_VERSION_COLUMNS,
  nameWithNumber,
  newPageNeedsWork,
  newPageRow,
  newVersionRow,
  type PublishedRow,
  publishedPage,
  storedVersion,
  type VersionRow,
  versionWithContent,
} from '../stores/page-rows.ts'
import { AFTER_ALL_IDS } from '../stores/take-slice.ts'
import { type Together, weightOfPage } from '../stores/together.ts'
import type { Database } from './open.ts'
import type { Outbox } from './outbox.ts'
import { BEFORE_ID, insertInto, type Values } from './statements.ts'
import { VERSION, WITH_CONTENT } from './versions.ts'

const GROUP = `
  select tenant_id, page_group_id, status, title from page_groups
  where tenant_id = :tenantId and page_group_id = :pageGroupId and status <> 'deleted'`
const GROUP_IS_ACTIVE = `
  select 1 from page_groups where tenant_id = :tenantId and page_group_id = :pageGroupId and status = 'active'`
const GROUP_TAKES_PAGE = `${GROUP_IS_ACTIVE} and (:groupTitle is null or title = :groupTitle)`
const GROUP_EXISTS = `
  select status as group_status from page_groups
  where tenant_id = :tenantId and page_group_id = :pageGroupId and status <> 'deleted'`
const BY_KEY = `
  select tenant_id, page_group_id, page_id, idempotency_key, request_hash, created_at from pages
  where tenant_id = :tenantId and page_group_id = :pageGroupId and idempotency_key = :idempotencyKey`
const BY_SLUG = `
  select page_id from pages where tenant_id = :tenantId and page_group_id = :pageGroupId and slug = :slug`
const ADD = insertInto('pages', NEW_PAGE_COLUMNS)
const ADD_VERSION = insertInto('page_versions', NEW_VERSION_COLUMNS)
const COUNT_UP = `
  update page_counts set pages_count = pages_count + 1, changes = changes + 1
  where tenant_id = :tenantId and page_group_id = :pageGroupId
  returning pages_count as page_number`
const COUNT_DOWN = `
  update page_counts set pages_count = pages_count - 1, changes = changes + 1
  where tenant_id = :tenantId and page_group_id = :pageGroupId`
const LIST = `
  select tenant_id, page_group_id, page_id, slug, custom_name, computed_name, created_at, updated_at, published_at
  from pages where tenant_id = :tenantId and page_group_id = :pageGroupId and page_id < ${BEFORE_ID}
  order by page_id desc`
const LIST_PUBLISHED = `
  select p.tenant_id, p.page_group_id, p.page_id, p.slug, p.custom_name, p.computed_name, p.created_at, p.updated_at,
    p.published_at, g.status as group_status, v.version_id, v.version_number, v.content
  from pages p
    cross join page_groups g on g.tenant_id = p.tenant_id and g.page_group_id = p.page_group_id
    cross join page_versions v
      on v.tenant_id = p.tenant_id and v.page_id = p.page_id and v.version_id = p.published_version_id
  where p.tenant_id = :tenantId and p.published_at is not null and p.published_at > :after
    and (p.published_at, p.page_id) < (:beforeAt, :beforeId)
  order by p.published_at desc, p.page_id desc`
const FIND = `
  select tenant_id, page_group_id, page_id, slug, custom_name, computed_name, created_at, updated_at,
    revision, published_version_id, automatic_after, latest_version_id, unpublish_at
  from pages where tenant_id = :tenantId and page_group_id = :pageGroupId and page_id = :pageId`
const CHANGE = `
  update pages set slug = :slug, custom_name = :customName, computed_name = :computedName, updated_at = :updatedAt,
    published_version_id = :publishedVersionId,
    published_at = iif(:publishes, :updatedAt, iif(:publishedVersionId is null, null, published_at)),
    automatic_after = :automaticAfter,
    latest_version_id = coalesce(:addedId, latest_version_id), unpublish_at = :unpublishAt, revision = revision + 1
  where tenant_id = :tenantId and page_group_id = :pageGroupId and page_id = :pageId and revision = :revision`
const DROP_VERSION = `
  delete from page_versions where tenant_id = :tenantId and page_id = :pageId and version_id = :dropped`
const PUBLISH = `
  update page_versions set status = 'published', published_at = :updatedAt,
    publish_at = null, unpublish_at = null, schedule_note = null
  where tenant_id = :tenantId and page_id = :pageId and version_id = :publishedVersionId`
const SCHEDULE = `
  update page_versions set publish_at = :publishAt, unpublish_at = :unpublishAt, schedule_note = :scheduleNote, publish = 0
  where tenant_id = :tenantId and page_id = :pageId and version_id = :versionId`
/** Hidden: in group '', in which no caller finds it, until its versions have been deleted. */
const HIDE = `
  update pages set page_group_id = '', idempotency_key = null, slug = null, published_version_id = null,
    published_at = null
  where tenant_id = :tenantId and page_group_id = :pageGroupId and page_id = :pageId and revision = :revision`
const FIND_HIDDEN = `
  select tenant_id, page_id from pages where tenant_id = :tenantId and page_group_id = ''`
const REMOVE_VERSIONS = `
  delete from page_versions where rowid in (
    select rowid from page_versions where tenant_id = :tenantId and page_id = :pageId
    order by version_id desc limit 32
  )`
const REMOVE_HIDDEN = `
  delete from pages where tenant_id = :tenantId and page_group_id = '' and page_id = :pageId
    and not exists (select 1 from page_versions where tenant_id = :tenantId and page_id = :pageId)`

type Recording = { readonly page: NewPageRow; readonly events: readonly NewEvent[] | undefined }
type PageRow = StoredPage &
  Pick<PageChange, 'revision' | 'publishedVersionId' | 'automaticAfter' | 'unpublishAt'> & {
    readonly latestVersionId: string
  }

/** Within a transaction, removes some versions, newest first: these may wait for a publisher. */
const removePiece = (database: Database, page: Values): void => {
  database.deleteFast(REMOVE_VERSIONS, page)
  database.run(REMOVE_HIDDEN, page)
}
/** Removes some versions of any hidden page of a tenant. False if there is none. */
export const removeSome = (database: Database, tenantId: string): boolean => {
  const page = database.get<Values>(FIND_HIDDEN, { tenantId })
  if (page !== null) removePiece(database, page)
  return page !== null
}
/** Removes pages of tenants, one piece of each in turn. Pieces left when the process ends are removed as they expire. */
const createRemoval = (database: Database) => {
  const tenants = new Set<string>()
  let isRunning = false
  const run = async (): Promise<void> => {
    for (const tenantId of tenants) {
      await setImmediate()
      tenants.delete(tenantId)
      if (await database.write(() => removeSome(database, tenantId))) tenants.add(tenantId)
    }
  }
  return (tenantId: string): void => {
    tenants.add(tenantId)
    if (isRunning) return
    isRunning = true
    void run()
      .catch(() => tenants.clear())
      .finally(() => {
        isRunning = false
      })
  }
}

/** Calls `added` after versions were added or something was scheduled. */
export const sqlitePages = (
  database: Database,
  outbox: Outbox,
  added: () => void,
  together: Together,
  removeLater = createRemoval(database),
): Pages => {
  /** Saves pages of one transaction. */
  const createRecorder = () => {
    const addEvents = outbox.ofTransaction()
    return ({ page, events }: Recording): Recorded => {
      if (!database.has(GROUP_TAKES_PAGE, page)) return 'overtaken'
      // Looked up first: an overtaken page must not have changed the count.
      if (page.idempotencyKey !== null && database.has(BY_KEY, page)) return 'overtaken'
      if (page.slug !== null && database.has(BY_SLUG, page)) return 'overtaken'
      const { pageNumber = 0 } = database.get<{ pageNumber: number }>(COUNT_UP, page) ?? {}
      const named = { ...page, computedName: nameWithNumber(page, pageNumber) }
      database.run(ADD, newPageRow(named, pageNumber))
      database.run(ADD_VERSION, firstVersionRow(named))
      addEvents(events, [])
      return 'recorded'
    }
  }
  const record = together.write(
    'pages.record',
    async (list: readonly Recording[]) => {
      const saved = await database.recordEach(list, createRecorder)
      if (list.some(({ page }, i) => saved[i] === 'recorded' && newPageNeedsWork(page))) added()
      return saved
    },
    { weightOf: ({ page }) => weightOfPage(page), tenantOf: ({ page }) => page.tenantId },
  )
  const slugOwnerId = (lookup: Values): string | null =>
    database.get<{ readonly pageId: string }>(BY_SLUG, lookup)?.pageId ?? null

  return {
    recall: async (lookup) =>
      database.read(() => ({
        group: database.get<KnownForNewPage['group']>(GROUP, lookup),
        page:
          lookup.idempotencyKey === undefined ? null : database.get<KnownForNewPage['page']>(BY_KEY, lookup),
        slugOwnerId: lookup.slug === undefined ? null : slugOwnerId(lookup),
      })),

    record: (page, events) => record({ page, events }),

    list: async (lookup) =>
      database.has(GROUP_EXISTS, lookup) ? database.slice<ListedPage>(LIST, lookup) : null,

    listPublished: async ({ tenantId, limit, publishedAfter, before }) =>
      database
        .slice<PublishedRow>(LIST_PUBLISHED, {
          tenantId,
          limit,
          after: publishedAfter ?? '',
          beforeAt: before?.publishedAt ?? AFTER_ALL_IDS,
          beforeId: before?.pageId ?? AFTER_ALL_IDS,
        })
        .map(publishedPage),

    find: async (lookup, withContent = true) =>
      database.read((): FoundPage => {
        const group = database.get<Pick<Exclude<FoundPage, string>, 'groupStatus'>>(GROUP_EXISTS, lookup)
        if (group === null) return 'page_group_not_found'
        const row = database.get<PageRow>(FIND, lookup)
        if (row === null) return 'page_not_found'
        const { publishedVersionId, latestVersionId, ...page } = row
        const version = (sql: string, versionId: string) =>
          database.get<VersionRow>(sql, { ...lookup, versionId }) as VersionRow
        const shown = withContent ? WITH_CONTENT : VERSION
        const published = publishedVersionId === null ? null : version(shown, publishedVersionId)
        const latest = latestVersionId === publishedVersionId ? published : version(VERSION, latestVersionId)
        return {
          ...page,
          ...group,
          published: published && versionWithContent(published),
          latest: storedVersion(latest as VersionRow),
        }
      }),

    findSlug: async (lookup) => (database.has(GROUP_EXISTS, lookup) ? slugOwnerId(lookup) : null),

    change: (pageChange, events) => {
      const { added: version, dropped, publishes, schedule, ...change } = pageChange
      return database.record(
        () => {
          if (!database.has(version || publishes ? GROUP_IS_ACTIVE : GROUP_EXISTS, change)) return 'overtaken'
          if (database.run(CHANGE, { ...change, publishes, addedId: version?.versionId ?? null }) === 0)
            return 'overtaken'
          if (version !== null) database.run(ADD_VERSION, newVersionRow(change, version))
          if (dropped !== null) database.run(DROP_VERSION, { ...change, dropped })
          if (publishes) database.run(PUBLISH, change)
          if (schedule !== null) database.run(SCHEDULE, { ...change, ...schedule })
          outbox.add(events)
          return 'recorded'
        },
        changeNeedsWork(pageChange) ? added : undefined,
      )
    },

    remove: (page, events) =>
      database.record(
        () => {
          if (!database.has(GROUP_EXISTS, page) || database.run(HIDE, page) === 0) return 'overtaken'
          removePiece(database, page)
          database.run(COUNT_DOWN, page)
          outbox.add(events)
          return 'recorded'
        },
        () => removeLater(page.tenantId),
      ),
  }
}
