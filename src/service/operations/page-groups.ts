import { idempotent, ifRevision } from '../../shapes/input.ts'
import {
  NewPageGroup,
  PageGroup,
  PageGroupChanges,
  PageGroupQuery,
  PageGroupSlice,
} from '../../shapes/page-group.ts'
import { get, patch, post, remove } from './operation.ts'

export const pageGroupOperations = {
  /** Lists the page groups of a tenant, newest first. Without a status: all but the deleted ones. */
  listPageGroups: get('/v0/page_groups', {
    summary: 'List page groups, newest first',
    scope: 'page_groups:read',
    query: PageGroupQuery,
    answer: PageGroupSlice,
  }),
  /** Creates a page group, by default in the first brand of the tenant. */
  createPageGroup: post('/v0/page_groups', {
    summary: 'Create a page group',
    scope: 'page_groups:write',
    body: NewPageGroup,
    takes: idempotent,
    answer: PageGroup,
    status: 201,
  }),
  /** Reads a page group. */
  getPageGroup: get('/v0/page_groups/{page_group_id}', {
    summary: 'Read a page group',
    scope: 'page_groups:read',
    answer: PageGroup,
  }),
  /** Changes the given fields. `ifRevision`, here and wherever it is taken: only if the revision is one of these. */
  updatePageGroup: patch('/v0/page_groups/{page_group_id}', {
    summary: 'Change or archive a page group',
    scope: 'page_groups:write',
    body: PageGroupChanges,
    takes: ifRevision,
    answer: PageGroup,
  }),
  /** Deletes a page group: neither it nor its pages are found any more. */
  deletePageGroup: remove('/v0/page_groups/{page_group_id}', {
    summary: 'Delete a page group',
    scope: 'page_groups:write',
    takes: ifRevision,
  }),
}
