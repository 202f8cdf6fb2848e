import type { PageGroups } from '../../core/ports/page-groups.ts'
import {
  COLUMNS,
  type FoundPageGroupRow,
  foundPageGroup,
  PAGE_GROUP_CHANGES,
  type PageGroupRow,
  storedPageGroup,
} from '../stores/rows.ts'
import type { Database } from './open.ts'
import type { Outbox } from './outbox.ts'
import { BEFORE_ID, insertInto, valuesFor } from './statements.ts'

const SHOWN = ['tenant_id', 'page_group_id', 'created_at', ...Object.keys(PAGE_GROUP_CHANGES)]
const GROUP = `
  select ${SHOWN.map((column) => `g.${column}`)}, g.revision + c.changes as revision, g.request_hash, c.pages_count
  from page_groups g
    join page_counts c on c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id`
const OLDER = `and g.tenant_id = :tenantId and g.page_group_id < ${BEFORE_ID} order by g.page_group_id desc`
const LIST_OPEN = `${GROUP} where g.status <> 'deleted' ${OLDER}`
const LIST_BY_STATUS = `${GROUP} where g.status = :status ${OLDER}`
const FIND = `${GROUP} where g.tenant_id = :tenantId`
const BY_ID = `${FIND} and g.page_group_id = :pageGroupId`
const BY_KEY = `${FIND} and g.idempotency_key = :idempotencyKey`
const ADD = insertInto('page_groups', COLUMNS.page_groups)
const ADD_COUNT = insertInto('page_counts', COLUMNS.page_counts)
const CHANGING = Object.keys(PAGE_GROUP_CHANGES)
const CHANGE = `
  update page_groups set (${CHANGING}) = (${valuesFor(CHANGING)}), revision = revision + 1
  where tenant_id = :tenantId and page_group_id = :pageGroupId and updated_at = :lastUpdatedAt
    and (:ifRevision is null or revision + (
      select changes from page_counts where tenant_id = :tenantId and page_group_id = :pageGroupId
    ) = :ifRevision)`

export const sqlitePageGroups = (database: Database, outbox: Outbox): PageGroups => ({
  list: async (lookup) => {
    const list = lookup.status === null ? LIST_OPEN : LIST_BY_STATUS
    return database.slice<PageGroupRow>(list, lookup).map(storedPageGroup)
  },

  find: async (lookup) => {
    const by = 'pageGroupId' in lookup ? BY_ID : BY_KEY
    const row = database.get<FoundPageGroupRow>(by, lookup)
    return row && foundPageGroup(row)
  },

  add: (group, events) =>
    database.record(() => {
      database.run(ADD, { ...group, revision: 1 })
      database.run(ADD_COUNT, { ...group, changes: 0 })
      outbox.add(events)
      return 'recorded'
    }),

  change: (group, lastUpdatedAt, revision, events) =>
    database.record(() => {
      const values = { ...group, lastUpdatedAt, ifRevision: revision ?? null }
      if (database.run(CHANGE, values) === 0) return 'overtaken'
      outbox.add(events)
      return 'recorded'
    }),
})
