// Rival 1: Fastify 5 and postgres.js, a process of its own. Its address comes from PORT, its database from PGHOST,
// PGUSER and PGDATABASE. The driver prepares every statement by itself.
import Fastify from 'fastify'
import postgres from 'postgres'
import {
  afterOf,
  BATCH_BYTES_MAX,
  batchAnswer,
  createdPage,
  firstWords,
  groupQuery,
  HttpError,
  keyRing,
  log,
  logBatch,
  matchableEmail,
  newBatch,
  newId,
  newPage,
  newProspectLog,
  pageGroupOf,
  pageGroupSlice,
  pageOf,
  pageSlice,
  pageWithVersion,
  pageWithVersionOf,
  prospectLogReceipt,
  requestHashOf,
  sliceOf,
  sliceQuery,
  timelineKey,
} from './rival-parts.js'

// Left to itself PostgreSQL plans each list of pages anew, prepared or not.
const sql = postgres({ max: 10, connection: { plan_cache_mode: 'force_generic_plan' } })
const app = Fastify({ loggerInstance: log, disableRequestLogging: true })

const tenantOf = keyRing(async (keyHash) => {
  const [row] = await sql`
    select tenant_id, scopes, expires_at, revoked_at from api_keys where key_hash = ${keyHash}`
  return row
})
const needs = (scope) => async (request) => {
  request.tenantId = await tenantOf(request.headers['x-api-key'], scope)
}
app.decorateRequest('tenantId', '')
app.addHook('onResponse', async (request, reply) => {
  const { method, id } = request
  const route = request.routeOptions.url
  log.info({ requestId: id, method, route, status: reply.statusCode, ms: reply.elapsedTime }, 'answered')
})

const findProspect = async (tenantId, prospectId, email) => {
  if (prospectId) {
    const [row] = await sql`
      select prospect_id, name from prospects where tenant_id = ${tenantId} and prospect_id = ${prospectId}`
    if (!row) throw new HttpError(404, 'prospect_not_found')
    return row
  }
  if (email === null) return undefined
  const [row] = await sql`
    select p.prospect_id, p.name from identifiers i join prospects p using (tenant_id, prospect_id)
    where i.tenant_id = ${tenantId} and i.kind = 'email' and i.hash = ${email.hash}`
  return row
}

const findReceipt = async (tenantId, { source, idempotencyKey }, requestHash) => {
  const [row] = await sql`
    select prospect_id, prospect_log_id, created_at, created_prospect, type, request_hash from prospect_logs
    where tenant_id = ${tenantId} and source = ${source} and idempotency_key = ${idempotencyKey}`
  if (row === undefined) return undefined
  if (row.request_hash !== requestHash) throw new HttpError(422, 'idempotency_key_reused')
  return {
    prospectId: row.prospect_id,
    prospectLogId: row.prospect_log_id,
    createdAt: row.created_at.toISOString(),
    createdProspect: row.created_prospect,
    source,
    type: row.type,
  }
}

const TRIES_MAX = 5

/** One read and one write, each a statement by itself; the unique indexes decide who was first. */
const logActivity = async (tenantId, body) => {
  const { source, type, payload, name = null, idempotencyKey = null } = body
  const email = matchableEmail(body.email)
  const requestHash = idempotencyKey === null ? null : requestHashOf(body)
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const found = await findProspect(tenantId, body.prospectId, email)
    const createdProspect = found === undefined
    const prospectId = found?.prospect_id ?? newId('prospect')
    const prospectLogId = newId('prospectlog')
    const createdAt = new Date()
    if (found && found.name === null && name !== null)
      await sql`
        update prospects set name = ${name}
        where tenant_id = ${tenantId} and prospect_id = ${prospectId} and name is null`
    const rows = createdProspect
      ? await sql`
          with identified as (
            insert into identifiers (tenant_id, kind, hash, value, prospect_id)
            select ${tenantId}, 'email', ${email?.hash ?? null}::text, ${email?.email ?? null}, ${prospectId}
            where ${email !== null}
            on conflict do nothing
            returning 1
          ), prospect as (
            insert into prospects (tenant_id, prospect_id, email, name, created_at, updated_at)
            select ${tenantId}, ${prospectId}, ${email?.email ?? null}, ${name}, ${createdAt}, ${createdAt}
            where ${email === null} or exists (select 1 from identified)
            returning tenant_id, prospect_id, created_at
          )
          insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
            idempotency_key, request_hash, created_prospect, occurred_at, timeline_key, created_at)
          select tenant_id, ${prospectLogId}, prospect_id, ${source}, ${type}, ${sql.json(payload)},
            ${body.email ?? null}, ${name}, ${idempotencyKey}, ${requestHash}, true, created_at,
            ${timelineKey(prospectId, createdAt)}::bigint, created_at
          from prospect
          on conflict do nothing
          returning prospect_log_id`
      : await sql`
          insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
            idempotency_key, request_hash, created_prospect, occurred_at, timeline_key, created_at)
          values (${tenantId}, ${prospectLogId}, ${prospectId}, ${source}, ${type}, ${sql.json(payload)},
            ${body.email ?? null}, ${name}, ${idempotencyKey}, ${requestHash}, false, ${createdAt},
            ${timelineKey(prospectId, createdAt)}, ${createdAt})
          on conflict do nothing
          returning prospect_log_id`
    if (rows.length > 0)
      return { prospectId, prospectLogId, createdAt: createdAt.toISOString(), createdProspect, source, type }
    const first = idempotencyKey === null ? undefined : await findReceipt(tenantId, body, requestHash)
    if (first) return first
  }
  throw new HttpError(503, 'unavailable')
}

app.post(
  '/v0/prospect_logs',
  {
    onRequest: needs('prospect_logs:write'),
    schema: { body: newProspectLog, response: { 201: prospectLogReceipt } },
  },
  async (request, reply) => {
    reply.code(201)
    return logActivity(request.tenantId, request.body)
  },
)

app.post(
  '/v0/prospect_logs/batch',
  {
    onRequest: needs('prospect_logs:write'),
    bodyLimit: BATCH_BYTES_MAX,
    schema: { body: newBatch, response: { 201: batchAnswer } },
  },
  async ({ tenantId, body }, reply) => {
    reply.code(201)
    return logBatch((text, values) => sql.unsafe(text, values, { prepare: true }), tenantId, body.items)
  },
)

app.get(
  '/v0/page_groups',
  {
    onRequest: needs('page_groups:read'),
    schema: { querystring: groupQuery, response: { 200: pageGroupSlice } },
  },
  async ({ tenantId, query: { cursor, limit, status } }) => {
    const rows = await sql`
      select g.tenant_id, g.page_group_id, g.brand_id, g.name, g.title, g.page_context, g.status, g.actions,
        g.footer_links, g.scripts, g.header_action_id, g.created_at, g.updated_at, g.deleted_at,
        c.pages_count::int as pages_count
      from page_groups g join page_counts c using (tenant_id, page_group_id)
      where g.tenant_id = ${tenantId} and g.page_group_id < ${afterOf(cursor)}
        and ${status ? sql`g.status = ${status}` : sql`g.status <> 'deleted'`}
      order by g.page_group_id desc limit ${limit + 1}`
    return { ...sliceOf(rows, limit, (row) => row.page_group_id, pageGroupOf), limit }
  },
)

/** Refuses a group that is missing or deleted; answers it. */
const findGroup = async (tenantId, pageGroupId) => {
  const [group] = await sql`
    select g.status, g.title, c.pages_count::int as pages_count
    from page_groups g join page_counts c using (tenant_id, page_group_id)
    where g.tenant_id = ${tenantId} and g.page_group_id = ${pageGroupId} and g.status <> 'deleted'`
  if (group === undefined) throw new HttpError(404, 'page_group_not_found')
  return group
}

app.get(
  '/v0/page_groups/:pageGroupId/pages',
  { onRequest: needs('pages:read'), schema: { querystring: sliceQuery, response: { 200: pageSlice } } },
  async ({ tenantId, params: { pageGroupId }, query: { cursor, limit } }) => {
    const rows = await sql`
      select p.tenant_id, p.page_group_id, p.page_id, p.custom_name, p.computed_name, p.created_at, p.updated_at
      from pages p join page_groups g using (tenant_id, page_group_id)
      where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id < ${afterOf(cursor)}
        and g.status <> 'deleted'
      order by p.page_id desc limit ${limit + 1}`
    if (rows.length === 0) await findGroup(tenantId, pageGroupId)
    return sliceOf(rows, limit, (row) => row.page_id, pageOf)
  },
)

app.get(
  '/v0/page_groups/:pageGroupId/pages/:pageId',
  { onRequest: needs('pages:read'), schema: { response: { 200: pageWithVersion } } },
  async ({ tenantId, params: { pageGroupId, pageId } }) => {
    const [row] = await sql`
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
      where p.tenant_id = ${tenantId} and p.page_group_id = ${pageGroupId} and p.page_id = ${pageId}
        and g.status <> 'deleted'`
    if (row === undefined) throw new HttpError(404, 'page_not_found')
    return pageWithVersionOf(row)
  },
)

app.post(
  '/v0/page_groups/:pageGroupId/pages',
  { onRequest: needs('pages:write'), schema: { body: newPage, response: { 201: createdPage } } },
  async ({ tenantId, params: { pageGroupId }, body }, reply) => {
    const group = await findGroup(tenantId, pageGroupId)
    if (group.status !== 'active') throw new HttpError(409, 'page_group_not_active')
    const { supplementaryContext = null, customName = null } = body
    const computedName = firstWords(supplementaryContext, group.title, group.pages_count + 1)
    const [pageId, versionId, createdAt] = [newId('page'), newId('pageversion'), new Date()]
    // Sent together; the count comes last, so that its row is locked briefly.
    await sql.begin((sql) => [
      sql`
        insert into pages (tenant_id, page_group_id, page_id, custom_name, computed_name,
          latest_version_id, revision, created_at, updated_at)
        values (${tenantId}, ${pageGroupId}, ${pageId}, ${customName}, ${computedName}, ${versionId}, 1, ${createdAt},
          ${createdAt})`,
      sql`
        insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number, status,
          supplementary_context, computed_name, publish, attempts, claimable_at, created_at)
        values (${tenantId}, ${pageId}, ${versionId}, ${pageGroupId}, 1, 'processing', ${supplementaryContext},
          ${computedName}, true, 0, ${createdAt}, ${createdAt})`,
      sql`
        update page_counts set pages_count = pages_count + 1
        where tenant_id = ${tenantId} and page_group_id = ${pageGroupId}`,
    ])
    reply.code(201)
    return { pageId, pageGroupId, tenantId, createdAt: createdAt.toISOString(), status: 'processing' }
  },
)

app.get('/healthz', async () => ({ status: 'ok' }))

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
process.once('SIGTERM', () => process.exit(0))
