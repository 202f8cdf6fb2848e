import { afterOf, firstWords, newId, pageOf, pageWithVersionOf, sliceOf } from '../../../rival-parts.js'

const FIND_GROUP = `
  select g.status, g.title, c.pages_count::int as pages_count
  from page_groups g join page_counts c using (tenant_id, page_group_id)
  where g.tenant_id = $1 and g.page_group_id = $2 and g.status <> 'deleted'`
const LIST_PAGES = `
  select p.tenant_id, p.page_group_id, p.page_id, p.custom_name, p.computed_name, p.created_at, p.updated_at
  from pages p join page_groups g using (tenant_id, page_group_id)
  where p.tenant_id = $1 and p.page_group_id = $2 and p.page_id < $3 and g.status <> 'deleted'
  order by p.page_id desc limit $4`
const FIND_PAGE = `
  select p.tenant_id, p.page_group_id, p.page_id, p.custom_name, p.computed_name, p.created_at,
    p.published_version_id, p.latest_version_id, published.version_number as published_number,
    published.published_at, latest.version_number as latest_number, latest.status as latest_status,
    latest.failure_reason,
    coalesce(published.supplementary_context, latest.supplementary_context) as supplementary_context
  from pages p
    join page_groups g using (tenant_id, page_group_id)
    join page_versions latest on latest.tenant_id = p.tenant_id and latest.page_id = p.page_id
      and latest.version_id = p.latest_version_id
    left join page_versions published on published.tenant_id = p.tenant_id and published.page_id = p.page_id
      and published.version_id = p.published_version_id
  where p.tenant_id = $1 and p.page_group_id = $2 and p.page_id = $3 and g.status <> 'deleted'`
const ADD_PAGE = `
  insert into pages (tenant_id, page_group_id, page_id, custom_name, computed_name, latest_version_id, revision,
    created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, 1, $7, $7)`
const ADD_VERSION = `
  insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number, status,
    supplementary_context, computed_name, publish, attempts, claimable_at, created_at)
  values ($1, $2, $3, $4, 1, 'processing', $5, $6, true, 0, $7, $7)`
const COUNT_PAGE = `
  update page_counts set pages_count = pages_count + 1 where tenant_id = $1 and page_group_id = $2`

export default async function (fastify) {
  const { pg, httpErrors } = fastify

  const findGroup = async (tenantId, pageGroupId) => {
    const { rows } = await pg.query(FIND_GROUP, [tenantId, pageGroupId])
    if (rows.length === 0) throw httpErrors.notFound('page_group_not_found')
    return rows[0]
  }

  fastify.get(
    '/page_groups/:pageGroupId/pages',
    {
      onRequest: fastify.needs('pages:read'),
      schema: { querystring: { $ref: 'sliceQuery#' }, response: { 200: { $ref: 'pageSlice#' } } },
    },
    async ({ tenantId, params: { pageGroupId }, query: { cursor, limit } }) => {
      const { rows } = await pg.query(LIST_PAGES, [tenantId, pageGroupId, afterOf(cursor), limit + 1])
      if (rows.length === 0) await findGroup(tenantId, pageGroupId)
      return sliceOf(rows, limit, (row) => row.page_id, pageOf)
    },
  )

  fastify.get(
    '/page_groups/:pageGroupId/pages/:pageId',
    { onRequest: fastify.needs('pages:read'), schema: { response: { 200: { $ref: 'pageWithVersion#' } } } },
    async ({ tenantId, params: { pageGroupId, pageId } }) => {
      const { rows } = await pg.query(FIND_PAGE, [tenantId, pageGroupId, pageId])
      if (rows.length === 0) throw httpErrors.notFound('page_not_found')
      return pageWithVersionOf(rows[0])
    },
  )

  fastify.post(
    '/page_groups/:pageGroupId/pages',
    {
      onRequest: fastify.needs('pages:write'),
      schema: { body: { $ref: 'newPage#' }, response: { 201: { $ref: 'createdPage#' } } },
    },
    async ({ tenantId, params: { pageGroupId }, body }, reply) => {
      const group = await findGroup(tenantId, pageGroupId)
      if (group.status !== 'active') throw httpErrors.conflict('page_group_not_active')
      const { supplementaryContext = null, customName = null } = body
      const name = firstWords(supplementaryContext, group.title, group.pages_count + 1)
      const pageId = newId('page')
      const versionId = newId('pageversion')
      const createdAt = new Date()
      const page = [tenantId, pageGroupId, pageId, customName, name, versionId, createdAt]
      const version = [tenantId, pageId, versionId, pageGroupId, supplementaryContext, name, createdAt]
      await pg.transact(async (client) => {
        await client.query(ADD_PAGE, page)
        await client.query(ADD_VERSION, version)
        await client.query(COUNT_PAGE, [tenantId, pageGroupId])
      })
      reply.code(201)
      return { pageId, pageGroupId, tenantId, createdAt: createdAt.toISOString(), status: 'processing' }
    },
  )
}
