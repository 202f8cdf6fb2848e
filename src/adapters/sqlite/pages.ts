import { setImmediate } from 'node:timers/promises'
import type { NewEvent } from '../../core/ports/events.ts'
import type { FoundPage, NewPageRow, PageChange, Pages, StoredPage } from '../../core/ports/pages.ts'
import type { Recorded } from '../../core/ports/world.ts'
import {
  firstVersionRow,
  NEW_PAGE_COLUMNS,
  NEW_VERSION_COLUMNS,
  nameWithNumber,
  needsWork,
  newPageRow,
  newVersionRow,
  storedVersion,
  type VersionRow,
  versionWithContent,
} from '../stores/page-rows.ts'
import { type Together, weightOfPage } from '../stores/together.ts'
import type { Database } from './open.ts'
import type { Outbox } from './outbox.ts'
import { BEFORE_ID, insertInto, type Values } from './statements.ts'
import { VERSION, WITH_CONTENT } from './versions.ts'

const OF_GROUP = 'where tenant_id = :tenantId and page_group_id = :pageGroupId'
const OF_PAGE = `${OF_GROUP} and page_id = :pageId`
const GROUP = `select tenant_id, page_group_id, status, title from page_groups ${OF_GROUP} and status <> 'deleted'`
const BY_KEY = `
  select tenant_id, page_group_id, page_id, idempotency_key, request_hash, created_at
  from pages ${OF_GROUP} and idempotency_key = :idempotencyKey`
const BY_SLUG = `select page_id from pages ${OF_GROUP} and slug = :slug`
const ADD = insertInto('pages', NEW_PAGE_COLUMNS)
const ADD_VERSION = insertInto('page_versions', NEW_VERSION_COLUMNS)
const GROUP_IS_ACTIVE = `select 1 from page_groups ${OF_GROUP} and status = 'active'`
const GROUP_EXISTS = `select status as group_status from page_groups ${OF_GROUP} and status <> 'deleted'`
const COUNT = `update page_counts set pages_count = pages_count + :more, changes = changes + 1 ${OF_GROUP}`
const COUNT_UP = `${COUNT} returning pages_count as page_number`
const PAGE =
  'select tenant_id, page_group_id, page_id, slug, custom_name, computed_name, created_at, updated_at'
const LIST = `
  ${PAGE} from pages ${OF_GROUP} and page_id < ${BEFORE_ID} order by page_id desc`
const FIND = `${PAGE}, revision, published_version_id, automatic_after,
  latest_version_id, unpublish_at from pages ${OF_PAGE}`
const CHANGE = `
  update pages set slug = :slug, custom_name = :customName, computed_name = :computedName, updated_at = :updatedAt,
    published_version_id = :publishedVersionId, automatic_after = :automaticAfter,
    latest_version_id = coalesce(:addedId, latest_version_id), unpublish_at = :unpublishAt, revision = revision + 1
  ${OF_PAGE} and revision = :revision`
const PUBLISH = `
  update page_versions set status = 'published', published_at = :updatedAt,
    publish_at = null, unpublish_at = null, schedule_note = null
  where tenant_id = :tenantId and page_id = :pageId and version_id = :publishedVersionId`
const SCHEDULE = `
  update page_versions set publish_at = :publishAt, unpublish_at = :unpublishAt, schedule_note = :scheduleNote, publish = 0
  where tenant_id = :tenantId and page_id = :pageId and version_id = :versionId`
/** A removed page is in no group, so it cannot be found, until its versions have been deleted. */
const HIDE = `update pages set page_group_id = '', idempotency_key = null, slug = null ${OF_PAGE} and revision = :revision`
const HIDDEN = "from pages where tenant_id = :tenantId and page_group_id = ''"
const VERSIONS = 'from page_versions where tenant_id = :tenantId and page_id = :pageId'
const REMOVE_VERSIONS = `
  delete from page_versions where rowid in (select rowid ${VERSIONS} order by version_id desc limit 32)`
const REMOVE = `delete ${HIDDEN} and page_id = :pageId and not exists (select 1 ${VERSIONS})`

type PageRow = StoredPage &
  Pick<PageChange, 'revision' | 'publishedVersionId' | 'automaticAfter' | 'unpublishAt'> & {
    readonly latestVersionId: string
  }

/** Within a transaction, removes some versions, newest first: these may wait for a publisher. */
const removePiece = (database: Database, page: Values): void => {
  database.deleteFast(REMOVE_VERSIONS, page)
  database.run(REMOVE, page)
}
/** Does that for any removed page of a tenant. False if there is none. */
export const removeSome = (database: Database, tenantId: string): boolean => {
  const page = database.get<Values>(`select tenant_id, page_id ${HIDDEN}`, { tenantId })
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
  const saver = () => {
    const addEvents = outbox.ofTransaction()
    return ({ page, events }: Recording): Recorded => {
      if (!database.has(GROUP_IS_ACTIVE, page)) return 'overtaken'
      // Looked up first: an overtaken page must not have changed the count.
      if (page.idempotencyKey !== null && database.has(BY_KEY, page)) return 'overtaken'
      if (page.slug !== null && database.has(BY_SLUG, page)) return 'overtaken'
      const { pageNumber = 0 } = database.get<{ pageNumber: number }>(COUNT_UP, { ...page, more: 1 }) ?? {}
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
      const saved = await database.recordEach(list, saver)
      if (list.some(({ page }, i) => saved[i] === 'recorded' && needsWork(page))) added()
      return saved
    },
    { weightOf: ({ page }) => weightOfPage(page), tenantOf: ({ page }) => page.tenantId },
  )
  return {
    recall: async (want) => ({
      group: database.get(GROUP, want),
      page: want.idempotencyKey === undefined ? null : database.get(BY_KEY, want),
    }),

    record: (page, events) => record({ page, events }),

    list: async (want) => (database.has(GROUP_EXISTS, want) ? database.slice<StoredPage>(LIST, want) : null),

    find: async (want, withContent = true) =>
      database.read((): FoundPage => {
        const group = database.get<Pick<Exclude<FoundPage, string>, 'groupStatus'>>(GROUP_EXISTS, want)
        if (group === null) return 'page_group_not_found'
        const row = database.get<PageRow>(FIND, want)
        if (row === null) return 'page_not_found'
        const { publishedVersionId, latestVersionId, ...page } = row
        const version = (sql: string, versionId: string) =>
          database.get<VersionRow>(sql, { ...want, versionId }) as VersionRow
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

    findSlug: async (want) =>
      database.has(GROUP_EXISTS, want)
        ? (database.get<{ readonly pageId: string }>(BY_SLUG, want)?.pageId ?? null)
        : null,

    change: ({ added: version, publishes, schedule, ...change }, events) =>
      database.record(
        () => {
          if (!database.has(version || publishes ? GROUP_IS_ACTIVE : GROUP_EXISTS, change)) return 'overtaken'
          if (database.run(CHANGE, { ...change, addedId: version?.versionId ?? null }) === 0)
            return 'overtaken'
          if (version !== null) database.run(ADD_VERSION, newVersionRow(change, version))
          if (publishes) database.run(PUBLISH, change)
          if (schedule !== null) database.run(SCHEDULE, { ...change, ...schedule })
          outbox.add(events)
          return 'recorded'
        },
        version || schedule?.publishAt || change.unpublishAt ? added : undefined,
      ),

    remove: (page, events) =>
      database.record(
        () => {
          if (!database.has(GROUP_EXISTS, page) || database.run(HIDE, page) === 0) return 'overtaken'
          removePiece(database, page)
          database.run(COUNT, { ...page, more: -1 })
          outbox.add(events)
          return 'recorded'
        },
        () => removeLater(page.tenantId),
      ),
  }
}

type Recording = { readonly page: NewPageRow; readonly events: readonly NewEvent[] | undefined }
