import { createPageGroup } from '../../core/pages/create-page-group.ts'
import { deletePageGroup } from '../../core/pages/delete-page-group.ts'
import { getPageGroup } from '../../core/pages/get-page-group.ts'
import { listPageGroups } from '../../core/pages/list-page-groups.ts'
import { updatePageGroup } from '../../core/pages/update-page-group.ts'
import { forReaders, idempotent, ifRevision } from '../../shapes/input.ts'
import {
  NewPageGroup,
  PageGroup,
  PageGroupChanges,
  PageGroupQuery,
  PageGroupSlice,
} from '../../shapes/page-group.ts'
import * as example from './examples.ts'
import { FOUR_BODIES, get, patch, post, remove } from './operation.ts'

export const pageGroupOperations = {
  /** Lists the page groups of a tenant, newest first. Without a status: all but the deleted ones. */
  listPageGroups: get(
    '/v0/page_groups',
    {
      summary: 'List page groups, newest first',
      scope: 'page_groups:read',
      needs: ['pageGroups'],
      useCase: listPageGroups,
      query: PageGroupQuery,
      takes: forReaders,
      answer: PageGroupSlice,
      answerBytesMax: FOUR_BODIES,
    },
    {
      description:
        'Returns the page groups of the tenant, one slice at a time. A key with `pages:published` gets the active ones.',
      done: 'A slice of page groups.',
      answers: {
        whole: {
          summary: 'The only slice',
          value: {
            items: [example.group],
            hasMore: false,
            limit: 20,
          },
        },
      },
    },
  ),
  /** Creates a page group, by default in the first brand of the tenant. */
  createPageGroup: post(
    '/v0/page_groups',
    {
      summary: 'Create a page group',
      scope: 'page_groups:write',
      needs: ['pageGroups', 'pageGroups.add', 'tenants'],
      useCase: createPageGroup,
      body: NewPageGroup,
      takes: idempotent,
      answer: PageGroup,
      status: 201,
    },
    {
      description: 'Creates a page group, by default in the first brand of the tenant.',
      done: 'The page group was stored. A retry with the same idempotency key returns the same answer.',
      requests: {
        short: { summary: 'With a name and a title', value: { name: 'offers', title: 'Offers' } },
        full: {
          summary: 'With a context and an action',
          value: {
            name: 'offers',
            title: 'Offers',
            pageContext: 'What we sell in spring',
            actions: [{ id: 'buy', label: 'Buy' }],
            headerActionId: 'buy',
          },
        },
      },
      answers: { created: { summary: 'Created', value: { ...example.group, pagesCount: 0 } } },
      fault: { detail: 'is required', pointer: '/title' },
      firstCreated: { pageGroupId: example.GROUP_ID },
    },
  ),
  /** Reads a page group. */
  getPageGroup: get(
    '/v0/page_groups/{page_group_id}',
    {
      summary: 'Read a page group',
      scope: 'page_groups:read',
      needs: ['pageGroups'],
      useCase: getPageGroup,
      takes: forReaders,
      answer: PageGroup,
      answerBytesMax: FOUR_BODIES,
    },
    {
      description: 'Returns a page group. A key with `pages:published` finds only active ones.',
      done: 'The page group.',
      answers: { active: { summary: 'An active page group', value: example.group } },
    },
  ),
  /** Changes the given fields. `ifRevision`, here and wherever it is taken: only if the revision is one of these. */
  updatePageGroup: patch(
    '/v0/page_groups/{page_group_id}',
    {
      summary: 'Change or archive a page group',
      scope: 'page_groups:write',
      needs: ['pageGroups', 'pageGroups.change', 'tenants'],
      useCase: updatePageGroup,
      body: PageGroupChanges,
      takes: ifRevision,
      answer: PageGroup,
      answerBytesMax: FOUR_BODIES,
    },
    {
      description:
        'Replaces the given fields; the others keep their values. Null removes the page context or the header action. Arrays are replaced as a whole.',
      done: 'The page group as it is now.',
      requests: {
        title: { summary: 'Another title', value: { title: 'Deals' } },
        removed: { summary: 'Remove the page context', value: { pageContext: null } },
        archive: { summary: 'Archive it', value: { status: 'archived' } },
      },
      answers: {
        changed: {
          summary: 'Changed',
          value: { ...example.group, title: 'Deals', pageContext: null, updatedAt: example.PUBLISHED_AT },
        },
      },
      fault: { detail: 'must be one of active, archived', pointer: '/status' },
    },
  ),
  /** Deletes a page group: neither it nor its pages are found any more. */
  deletePageGroup: remove(
    '/v0/page_groups/{page_group_id}',
    {
      summary: 'Delete a page group',
      scope: 'page_groups:write',
      needs: ['pageGroups', 'deletions', 'moments'],
      useCase: deletePageGroup,
      takes: ifRevision,
    },
    {
      description:
        'Deletes a page group. It and its pages then return 404; only the list of deleted page groups shows it. Soon after, there is an event `page.unpublished` for each page that was published, then `page_group.deleted`.',
      done: 'The page group is deleted.',
    },
  ),
}
