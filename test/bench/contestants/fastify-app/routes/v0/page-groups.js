import { afterOf, pageGroupOf, sliceOf } from '../../../rival-parts.js'

const LIST_GROUPS = `
  select g.tenant_id, g.page_group_id, g.brand_id, g.name, g.title, g.page_context, g.status, g.actions,
    g.footer_links, g.scripts, g.header_action_id, g.created_at, g.updated_at, g.deleted_at,
    c.pages_count::int as pages_count
  from page_groups g join page_counts c using (tenant_id, page_group_id)
  where g.tenant_id = $1 and g.page_group_id < $2
    and case when $3::text is null then g.status <> 'deleted' else g.status = $3 end
  order by g.page_group_id desc limit $4`

export default async function (fastify) {
  fastify.get(
    '/page_groups',
    {
      onRequest: fastify.needs('page_groups:read'),
      schema: { querystring: { $ref: 'groupQuery#' }, response: { 200: { $ref: 'pageGroupSlice#' } } },
    },
    async ({ tenantId, query: { cursor, limit, status = null } }) => {
      const { rows } = await fastify.pg.query(LIST_GROUPS, [tenantId, afterOf(cursor), status, limit + 1])
      return { ...sliceOf(rows, limit, (row) => row.page_group_id, pageGroupOf), limit }
    },
  )
}
