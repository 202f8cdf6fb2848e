import type { NewEvent } from '../../core/ports/events.ts'
import type { NewPageRow, PageChange, PageKey, Pages } from '../../core/ports/pages.ts'
import type { Recorded } from '../../core/ports/world.ts'
import { retriedThenHalved } from '../postgres/overtaken.ts'
import { claimsOf } from '../postgres/pages.ts'
import { columns, textArray } from '../postgres/sql.ts'
import {
  changeNeedsWork,
  firstVersionRow,
  NEW_PAGE_COLUMNS,
  NEW_VERSION_COLUMNS,
  nameWithNumber,
  newPageNeedsWork,
  newPageRow,
  newVersionRow,
} from '../stores/page-rows.ts'
import { sortedBy } from '../stores/rows.ts'
import { type Together, weightOfPage } from '../stores/together.ts'
import type { Outbox } from './outbox.ts'
import { tenantsOf } from './read-by-tenant.ts'
import type { Send, Transact } from './transaction.ts'

/** A page to record with its events. */
type Recording = { readonly page: NewPageRow; readonly events: readonly NewEvent[] }

const PAGE = columns('page', NEW_PAGE_COLUMNS)
const VERSION = columns('version', NEW_VERSION_COLUMNS)
const ADDED = columns('added', 'page_group_id, count int')

/**
 * Writes of pages. Every change of a page locks its row before those of its versions, and raises its revision. If the page
 * has changed, nothing is saved. Calls `wakePublisher` after versions were added or something was scheduled.
 */
export const citusPageWrites = (
  transact: Transact,
  outbox: Outbox,
  together: Together,
  wakePublisher: () => void,
): Pick<Pages, 'record' | 'change' | 'remove'> => {
  const record = together.write(
    'pages.record',
    retriedThenHalved(async (recordings: readonly Recording[]) => {
      const saving = transact(recordings[0]?.page.tenantId ?? '', (send) =>
        savePages(send, outbox, recordings),
      )
      const { saved } = await outbox.announce(saving)
      if ([...saved].some(({ page }) => newPageNeedsWork(page))) wakePublisher()
      return recordings.map((recording): Recorded => (saved.has(recording) ? 'recorded' : 'overtaken'))
    }),
    {
      tenantOf: ({ page }) => page.tenantId,
      weightOf: ({ page }) => weightOfPage(page),
      claimsOf,
    },
  )
  return {
    record: (page, events = []) => record({ page, events }),
    change: async (change, events) => {
      const recorded = await outbox.change(change.tenantId, events, (send) => changePage(send, change))
      if (recorded === 'recorded' && changeNeedsWork(change)) wakePublisher()
      return recorded
    },
    remove: (page, events) => outbox.change(page.tenantId, events, (send) => removePage(send, page)),
  }
}

const groupOf = ({ tenantId, pageGroupId }: Pick<PageKey, 'tenantId' | 'pageGroupId'>): string =>
  `${tenantId} ${pageGroupId}`

/**
 * Saves each page whole, with the next number of its group, or not at all if the group is no longer active or has another
 * title, or another page has its idempotency key or its slug.
 */
const savePages = async (send: Send, outbox: Outbox, recordings: readonly Recording[]) => {
  const pages = recordings.map(({ page }) => page)
  const withEvents = recordings.filter(({ events }) => events.length > 0).map(({ page }) => page)
  const [canBeAdded, users] = await Promise.all([
    readGroups(send, pages),
    outbox.usersOf(send, tenantsOf(withEvents)),
  ])
  const saved = new Set(recordings.filter(({ page }) => canBeAdded(page)))
  if (saved.size === 0) return { saved, hasEvents: false }
  const numbered = await numberPages(
    send,
    [...saved].map(({ page }) => page),
  )
  const events = [...saved]
    .flatMap((recording) => recording.events)
    .filter(({ tenantId }) => users.has(tenantId))
  const pageRows = numbered.map(({ page, number }) => newPageRow(page, number))
  // Sorted, so that two lists with the same keys wait for each other in the same order.
  send`insert into pages (${PAGE.names}) select ${PAGE.values} from ${PAGE.from(
    sortedBy(pageRows, 'tenantId', 'pageGroupId', 'idempotencyKey', 'pageId'),
  )}`
  send`insert into page_versions (${VERSION.names}) select ${VERSION.values} from ${VERSION.from(
    numbered.map(({ page }) => firstVersionRow(page)),
  )}`
  if (events.length > 0) outbox.add(send, events)
  return { saved, hasEvents: events.length > 0 }
}

/** Returns whether a page can be added: its group is active and has its title, and its key and its slug are free. */
const readGroups = async (send: Send, pages: readonly NewPageRow[]) => {
  const tenantIds = textArray(tenantsOf(pages))
  const groupIds = textArray([...new Set(pages.map(({ pageGroupId }) => pageGroupId))])
  const claiming = pages.filter(({ idempotencyKey, slug }) => idempotencyKey !== null || slug !== null)
  const [groups, others] = await Promise.all([
    send<Pick<PageKey, 'tenantId' | 'pageGroupId'> & { readonly title: string }>`
      select g.tenant_id, g.page_group_id, g.title from page_groups g
      where g.tenant_id = any (${tenantIds}::text[]) and g.status = 'active'
        and (case when g.status <> 'deleted' then g.page_group_id end) = any (${groupIds}::text[])`,
    claiming.length === 0
      ? []
      : send<PageKey & Pick<NewPageRow, 'idempotencyKey' | 'slug'>>`
          select p.tenant_id, p.page_group_id, p.idempotency_key, p.slug from pages p
          where p.tenant_id = any (${tenantIds}::text[]) and p.page_group_id = any (${groupIds}::text[])
            and (p.idempotency_key = any (${textArray(claiming.map(({ idempotencyKey }) => idempotencyKey))}::text[])
              or p.slug = any (${textArray(claiming.map(({ slug }) => slug))}::text[]))`,
  ])
  const titles = new Map(groups.map((group) => [groupOf(group), group.title]))
  return (page: NewPageRow): boolean =>
    titles.has(groupOf(page)) &&
    (page.groupTitle === null || page.groupTitle === titles.get(groupOf(page))) &&
    !others.some(
      (other) =>
        groupOf(other) === groupOf(page) &&
        ((page.idempotencyKey !== null && other.idempotencyKey === page.idempotencyKey) ||
          (page.slug !== null && other.slug === page.slug)),
    )
}

/** Counts new pages in their groups: the count without them, plus the position among them, is the number of a page. */
const numberPages = async (send: Send, pages: readonly NewPageRow[]) => {
  const groups = Map.groupBy(sortedBy(pages, 'tenantId', 'pageGroupId', 'pageId'), groupOf)
  const added = [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : { ...first, count: 1 + others.length },
  )
  const counted = [...Map.groupBy(added, ({ tenantId }) => tenantId)].map(
    ([tenantId, groupsOfTenant]) => send<{ pageGroupId: string; before: number }>`
      update page_counts c set pages_count = c.pages_count + added.count, changes = c.changes + added.count
      from ${ADDED.from(groupsOfTenant)}
      where c.tenant_id = ${tenantId} and c.page_group_id = added.page_group_id
      returning c.page_group_id, (c.pages_count - added.count)::int as before`,
  )
  const rows = (await Promise.all(counted)).flat()
  const before = new Map(rows.map((row) => [row.pageGroupId, row.before]))
  return [...groups.values()].flatMap((pagesOfGroup) =>
    pagesOfGroup.map((page, i) => {
      const number = (before.get(page.pageGroupId) ?? 0) + i + 1
      return { page: { ...page, computedName: nameWithNumber(page, number) }, number }
    }),
  )
}

/** Changes a page and its versions, unless the page has changed since or its group no longer allows it. */
const changePage = async (send: Send, change: PageChange): Promise<boolean> => {
  const { tenantId, pageGroupId, pageId, revision, updatedAt, publishedVersionId, added, dropped, schedule } =
    change
  const needsActiveGroup = added !== null || change.publishes
  const changed = await send`
    update pages p set slug = ${change.slug}, custom_name = ${change.customName}, computed_name = ${change.computedName},
      updated_at = ${updatedAt}, published_version_id = ${publishedVersionId},
      published_at = case when ${change.publishes} then ${updatedAt}
        when ${publishedVersionId}::text is not null then p.published_at end,
      automatic_after = ${change.automaticAfter}, unpublish_at = ${change.unpublishAt},
      latest_version_id = coalesce(${added?.versionId ?? null}, p.latest_version_id),
      revision = p.revision + 1
    where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id = ${pageId}
      and p.revision = ${revision} and exists (
        select 1 from page_groups g
        where g.tenant_id = ${tenantId} and (g.status = 'active' or not ${needsActiveGroup})
          and (case when g.status <> 'deleted' then g.page_group_id end) = ${pageGroupId}
      )
    returning 1`
  if (changed.length === 0) return false
  if (added !== null)
    send`
      insert into page_versions (${VERSION.names})
      select ${VERSION.values} from ${VERSION.from([newVersionRow(change, added)])}`
  if (dropped !== null)
    send`
      delete from page_versions v
      where v.tenant_id = ${tenantId} and v.page_id = ${pageId} and v.version_id = ${dropped}`
  if (change.publishes)
    send`
      update page_versions v set status = 'published', published_at = ${updatedAt}, publish_at = null,
        unpublish_at = null, schedule_note = null
      where v.tenant_id = ${tenantId} and v.page_id = ${pageId} and v.version_id = ${publishedVersionId}`
  if (schedule !== null)
    send`
      update page_versions v set publish_at = ${schedule.publishAt}, unpublish_at = ${schedule.unpublishAt},
        schedule_note = ${schedule.scheduleNote}, publish = false
      where v.tenant_id = ${tenantId} and v.page_id = ${pageId} and v.version_id = ${schedule.versionId}`
  return true
}

/** Removes a page with its versions, unless it has changed since. */
const removePage = async (
  send: Send,
  { tenantId, pageGroupId, pageId, revision }: Parameters<Pages['remove']>[0],
): Promise<boolean> => {
  const removed = await send`
    delete from pages p
    where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id = ${pageId}
      and p.revision = ${revision} and exists (
        select 1 from page_groups g
        where g.tenant_id = ${tenantId}
          and (case when g.status <> 'deleted' then g.page_group_id end) = ${pageGroupId}
      )
    returning 1`
  if (removed.length === 0) return false
  send`delete from page_versions v where v.tenant_id = ${tenantId} and v.page_id = ${pageId}`
  send`
    update page_counts c set pages_count = c.pages_count - 1, changes = c.changes + 1
    where c.tenant_id = ${tenantId} and c.page_group_id = ${pageGroupId}`
  return true
}
