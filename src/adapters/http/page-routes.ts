import { writeJson } from '../../json/write-json.ts'
import { CreatedPage, NewPage, PageSlice, PageWithVersion } from '../../shapes/page.ts'
import { PageGroupQuery, PageGroupSlice } from '../../shapes/page-group.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import { type Route, route } from './route.ts'

export const pageRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v0/page_groups',
    operationId: 'listPageGroups',
    summary: 'List page groups, newest first',
    scope: 'page_groups:read',
    query: PageGroupQuery,
    answer: PageGroupSlice,
    write: writeJson,
    status: 200,
    problems: ['invalid_cursor'],
    run: async ({ listPageGroups }, { tenantId, query }) => ({
      body: await listPageGroups({ ...query, tenantId }),
    }),
  }),
  route({
    method: 'GET',
    path: '/v0/page_groups/{page_group_id}/pages',
    operationId: 'listPages',
    summary: 'List the pages of a page group, newest first',
    scope: 'pages:read',
    query: SliceQuery,
    answer: PageSlice,
    status: 200,
    problems: ['invalid_cursor', 'page_group_not_found'],
    run: async ({ listPages }, { tenantId, params, query }) => ({
      body: await listPages({ ...query, tenantId, pageGroupId: params['page_group_id'] ?? '' }),
    }),
  }),
  route({
    method: 'GET',
    path: '/v0/page_groups/{page_group_id}/pages/{page_id}',
    operationId: 'getPage',
    summary: 'Read a page with its published version',
    scope: 'pages:read',
    answer: PageWithVersion,
    status: 200,
    problems: ['page_group_not_found', 'page_not_found'],
    run: async ({ getPage }, { tenantId, params }) => {
      const { page_group_id: pageGroupId = '', page_id: pageId = '' } = params
      return { body: await getPage({ tenantId, pageGroupId, pageId }) }
    },
  }),
  route({
    method: 'POST',
    path: '/v0/page_groups/{page_group_id}/pages',
    operationId: 'createPageWithVersion',
    summary: 'Create a page and its first version',
    scope: 'pages:write',
    body: NewPage,
    bodyOptional: true,
    answer: CreatedPage,
    status: 201,
    problems: ['page_group_not_found', 'page_group_not_active', 'idempotency_key_reused'],
    run: async ({ createPageWithVersion }, { tenantId, params, body, idempotencyKey }) => {
      const pageGroupId = params['page_group_id'] ?? ''
      const creation = { ...body, tenantId, pageGroupId, idempotencyKey }
      const { page, replayed } = await createPageWithVersion(creation)
      return { body: page, replayed }
    },
  }),
]
