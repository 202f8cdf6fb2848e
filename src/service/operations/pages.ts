import { idempotent, ifRevision } from '../../shapes/input.ts'
import { CreatedPage, NewPage, PageChanges, PageSlice, PageWithVersion } from '../../shapes/page.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import { get, patch, post, remove } from './operation.ts'

export const pageOperations = {
  /** Lists the pages of a group, newest first. */
  listPages: get('/v0/page_groups/{page_group_id}/pages', {
    summary: 'List the pages of a page group, newest first',
    scope: 'pages:read',
    query: SliceQuery,
    answer: PageSlice,
  }),
  /** Creates a page whose first version waits for a publisher, which publishes it unless `publish` is false. */
  createPageWithVersion: post('/v0/page_groups/{page_group_id}/pages', {
    summary: 'Create a page and its first version',
    scope: 'pages:write',
    body: NewPage,
    takes: idempotent,
    answer: CreatedPage,
    status: 201,
    problems: ['page_group_not_active'],
    bodyOptional: true,
  }),
  /** Reads a page with its published version, which is null until a publisher has published one. */
  getPage: get('/v0/page_groups/{page_group_id}/pages/{page_id}', {
    summary: 'Read a page with its published version',
    scope: 'pages:read',
    answer: PageWithVersion,
  }),
  /** Renames a page, or sets when it is unpublished; null removes its custom name or that time. */
  updatePage: patch('/v0/page_groups/{page_group_id}/pages/{page_id}', {
    summary: 'Rename a page, or set when it is unpublished',
    scope: 'pages:write',
    body: PageChanges,
    takes: ifRevision,
    answer: PageWithVersion,
  }),
  /** Deletes a page with its versions. */
  deletePage: remove('/v0/page_groups/{page_group_id}/pages/{page_id}', {
    summary: 'Delete a page with its versions',
    scope: 'pages:write',
    takes: ifRevision,
  }),
  /** Withdraws the published version. */
  unpublishPage: post('/v0/page_groups/{page_group_id}/pages/{page_id}/unpublish', {
    summary: 'Withdraw the published version of a page',
    scope: 'pages:write',
    takes: ifRevision,
    answer: PageWithVersion,
  }),
}
