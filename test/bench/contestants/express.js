// Rival 2: Express 5 and pg with a pool, a process of its own. Its address comes from PORT, its database from PGHOST,
// PGUSER and PGDATABASE. Every statement has a name, so that the driver prepares it once per connection.
import { randomUUID } from 'node:crypto'
import { Ajv } from 'ajv'
import express from 'express'
import pg from 'pg'
import {
  ADD_BATCH,
  afterOf,
  BATCH_BYTES_MAX,
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
  pageOf,
  pageWithVersionOf,
  requestHashOf,
  sliceOf,
  sliceQuery,
  timelineKey,
} from './rival-parts.js'

// Left to itself PostgreSQL plans each list of pages anew, prepared or not.
const pool = new pg.Pool({ max: 10, options: '-c plan_cache_mode=force_generic_plan' })
const ajv = new Ajv({ useDefaults: true, coerceTypes: true, allowUnionTypes: true })
const app = express()
app.disable('x-powered-by')
app.disable('etag')

const FIND_KEY = {
  name: 'find_key',
  text: 'select tenant_id, scopes, expires_at, revoked_at from api_keys where key_hash = $1',
}
const FIND_PROSPECT_BY_ID = {
  name: 'find_prospect_by_id',
  text: 'select prospect_id, name from prospects where tenant_id = $1 and prospect_id = $2',
}
const FIND_PROSPECT_BY_EMAIL = {
  name: 'find_prospect_by_email',
  text: `
    select p.prospect_id, p.name from identifiers i join prospects p using (tenant_id, prospect_id)
    where i.tenant_id = $1 and i.kind = 'email' and i.hash = $2`,
}
const FIND_RECEIPT = {
  name: 'find_receipt',
  text: `
    select prospect_id, prospect_log_id, created_at, created_prospect, type, request_hash from prospect_logs
    where tenant_id = $1 and source = $2 and idempotency_key = $3`,
}
const FILL_NAME = {
  name: 'fill_name',
  text: 'update prospects set name = $3 where tenant_id = $1 and prospect_id = $2 and name is null',
}
const ADD_LOG = {
  name: 'add_log',
  text: `
    insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
      idempotency_key, request_hash, created_prospect, occurred_at, timeline_key, created_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, false, $11, $12, $11)
    on conflict do nothing
    returning prospect_log_id`,
}
const ADD_PROSPECT_AND_LOG = {
  name: 'add_prospect_and_log',
  text: `
    with identified as (
      insert into identifiers (tenant_id, kind, hash, value, prospect_id)
      select $1, 'email', $14, $13, $3 where $14::text is not null
      on conflict do nothing
      returning 1
    ), prospect as (
      insert into prospects (tenant_id, prospect_id, email, name, created_at, updated_at)
      select $1, $3, $13, $8, $11, $11 where $14::text is null or exists (select 1 from identified)
      returning tenant_id, prospect_id, created_at
    )
    insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
      idempotency_key, request_hash, created_prospect, occurred_at, timeline_key, created_at)
    select tenant_id, $2, prospect_id, $4, $5, $6::json, $7, $8, $9, $10, true, created_at, $12::bigint, created_at from prospect
    on conflict do nothing
    returning prospect_log_id`,
}
const groupList = (name, condition) => ({
  name,
  text: `
    select g.tenant_id, g.page_group_id, g.brand_id, g.name, g.title, g.page_context, g.status, g.actions,
      g.footer_links, g.scripts, g.header_action_id, g.created_at, g.updated_at, g.deleted_at,
      c.pages_count::int as pages_count
    from page_groups g join page_counts c using (tenant_id, page_group_id)
    where g.tenant_id = $1 and g.page_group_id < $2 and ${condition}
    order by g.page_group_id desc limit $3`,
})
const LIST_GROUPS = groupList('list_groups', "g.status <> 'deleted'")
const LIST_GROUPS_BY_STATUS = groupList('list_groups_by_status', 'g.status = $4')
const FIND_GROUP = {
  name: 'find_group',
  text: `
    select g.status, g.title, c.pages_count::int as pages_count
    from page_groups g join page_counts c using (tenant_id, page_group_id)
    where g.tenant_id = $1 and g.page_group_id = $2 and g.status <> 'deleted'`,
}
const LIST_PAGES = {
  name: 'list_pages',
  text: `
    select p.tenant_id, p.page_group_id, p.page_id, p.custom_name, p.computed_name, p.created_at, p.updated_at
    from pages p join page_groups g using (tenant_id, page_group_id)
    where p.tenant_id = $1 and p.page_group_id = $2 and p.page_id < $3 and g.status <> 'deleted'
    order by p.page_id desc limit $4`,
}
const FIND_PAGE = {
  name: 'find_page',
  text: `
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
    where p.tenant_id = $1 and p.page_group_id = $2 and p.page_id = $3 and g.status <> 'deleted'`,
}
const ADD_PAGE = {
  name: 'add_page',
  text: `
    insert into pages (tenant_id, page_group_id, page_id, custom_name, computed_name,
      latest_version_id, revision, created_at, updated_at)
    values ($1, $2, $3, $4, $5, $6, 1, $7, $7)`,
}
const ADD_VERSION = {
  name: 'add_version',
  text: `
    insert into page_versions (tenant_id, page_id, version_id, page_group_id, version_number, status,
      supplementary_context, computed_name, publish, attempts, claimable_at, created_at)
    values ($1, $2, $3, $4, 1, 'processing', $5, $6, true, 0, $7, $7)`,
}
const COUNT_PAGE = {
  name: 'count_page',
  text: 'update page_counts set pages_count = pages_count + 1 where tenant_id = $1 and page_group_id = $2',
}

const ask = async (statement, ...values) => (await pool.query({ ...statement, values })).rows
const askOne = async (statement, ...values) => (await ask(statement, ...values))[0]

const tenantOf = keyRing((keyHash) => askOne(FIND_KEY, keyHash))
const needs = (scope) => async (req, _res, next) => {
  req.tenantId = await tenantOf(req.headers['x-api-key'], scope)
  next()
}
const validBody = (schema) => {
  const isValid = ajv.compile(schema)
  return (req, _res, next) => {
    req.body ??= {}
    next(isValid(req.body) ? undefined : new HttpError(400, 'invalid_request'))
  }
}
const validQuery = (schema) => {
  const isValid = ajv.compile(schema)
  return (req, _res, next) => {
    // In Express 5 `req.query` is read afresh each time.
    req.checkedQuery = { ...req.query }
    next(isValid(req.checkedQuery) ? undefined : new HttpError(400, 'invalid_request'))
  }
}

app.use((req, res, next) => {
  const began = performance.now()
  const requestId = randomUUID()
  res.on('finish', () => {
    const answered = { requestId, method: req.method, route: req.route?.path, status: res.statusCode }
    log.info({ ...answered, ms: performance.now() - began }, 'answered')
  })
  next()
})
const json = express.json({ limit: '1mb' })

const findProspect = async (tenantId, prospectId, email) => {
  if (prospectId) {
    const row = await askOne(FIND_PROSPECT_BY_ID, tenantId, prospectId)
    if (row === undefined) throw new HttpError(404, 'prospect_not_found')
    return row
  }
  return email === null ? undefined : askOne(FIND_PROSPECT_BY_EMAIL, tenantId, email.hash)
}

const findReceipt = async (tenantId, { source, idempotencyKey }, requestHash) => {
  const row = await askOne(FIND_RECEIPT, tenantId, source, idempotencyKey)
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
  const { source, type, name = null, idempotencyKey = null } = body
  const email = matchableEmail(body.email)
  const payload = JSON.stringify(body.payload)
  const requestHash = idempotencyKey === null ? null : requestHashOf(body)
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const found = await findProspect(tenantId, body.prospectId, email)
    const createdProspect = found === undefined
    const prospectId = found?.prospect_id ?? newId('prospect')
    const prospectLogId = newId('prospectlog')
    const createdAt = new Date()
    if (found && found.name === null && name !== null) await ask(FILL_NAME, tenantId, prospectId, name)
    const log = [tenantId, prospectLogId, prospectId, source, type, payload, body.email ?? null, name]
    const rows = createdProspect
      ? await ask(
          ADD_PROSPECT_AND_LOG,
          ...log,
          idempotencyKey,
          requestHash,
          createdAt,
          timelineKey(prospectId, createdAt),
          email?.email ?? null,
          email?.hash ?? null,
        )
      : await ask(ADD_LOG, ...log, idempotencyKey, requestHash, createdAt, timelineKey(prospectId, createdAt))
    if (rows.length > 0)
      return { prospectId, prospectLogId, createdAt: createdAt.toISOString(), createdProspect, source, type }
    const first = idempotencyKey === null ? undefined : await findReceipt(tenantId, body, requestHash)
    if (first) return first
  }
  throw new HttpError(503, 'unavailable')
}

app.post(
  '/v0/prospect_logs',
  needs('prospect_logs:write'),
  json,
  validBody(newProspectLog),
  async (req, res) => {
    res.status(201).json(await logActivity(req.tenantId, req.body))
  },
)

app.post(
  '/v0/prospect_logs/batch',
  needs('prospect_logs:write'),
  express.json({ limit: BATCH_BYTES_MAX }),
  validBody(newBatch),
  async (req, res) => {
    const askBy = (text, values) =>
      ask({ name: text === ADD_BATCH ? 'add_batch' : 'find_by_emails', text }, ...values)
    res.status(201).json(await logBatch(askBy, req.tenantId, req.body.items))
  },
)

app.get('/v0/page_groups', needs('page_groups:read'), validQuery(groupQuery), async (req, res) => {
  const { cursor, limit, status } = req.checkedQuery
  const values = [req.tenantId, afterOf(cursor), limit + 1]
  const rows = status
    ? await ask(LIST_GROUPS_BY_STATUS, ...values, status)
    : await ask(LIST_GROUPS, ...values)
  res.json({ ...sliceOf(rows, limit, (row) => row.page_group_id, pageGroupOf), limit })
})

/** Refuses a group that is missing or deleted; answers it. */
const findGroup = async (tenantId, pageGroupId) => {
  const group = await askOne(FIND_GROUP, tenantId, pageGroupId)
  if (group === undefined) throw new HttpError(404, 'page_group_not_found')
  return group
}

app.get(
  '/v0/page_groups/:pageGroupId/pages',
  needs('pages:read'),
  validQuery(sliceQuery),
  async (req, res) => {
    const { cursor, limit } = req.checkedQuery
    const { pageGroupId } = req.params
    const rows = await ask(LIST_PAGES, req.tenantId, pageGroupId, afterOf(cursor), limit + 1)
    if (rows.length === 0) await findGroup(req.tenantId, pageGroupId)
    res.json(sliceOf(rows, limit, (row) => row.page_id, pageOf))
  },
)

app.get('/v0/page_groups/:pageGroupId/pages/:pageId', needs('pages:read'), async (req, res) => {
  const row = await askOne(FIND_PAGE, req.tenantId, req.params.pageGroupId, req.params.pageId)
  if (row === undefined) throw new HttpError(404, 'page_not_found')
  res.json(pageWithVersionOf(row))
})

const inTransaction = async (work) => {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await work(client)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

app.post(
  '/v0/page_groups/:pageGroupId/pages',
  needs('pages:write'),
  json,
  validBody(newPage),
  async (req, res) => {
    const { tenantId, body } = req
    const { pageGroupId } = req.params
    const group = await findGroup(tenantId, pageGroupId)
    if (group.status !== 'active') throw new HttpError(409, 'page_group_not_active')
    const { supplementaryContext = null, customName = null } = body
    const computedName = firstWords(supplementaryContext, group.title, group.pages_count + 1)
    const [pageId, versionId, createdAt] = [newId('page'), newId('pageversion'), new Date()]
    const page = [tenantId, pageGroupId, pageId, customName, computedName]
    const version = [tenantId, pageId, versionId, pageGroupId, supplementaryContext, computedName, createdAt]
    // The count comes last, so that its row is locked briefly.
    await inTransaction(async (client) => {
      await client.query({ ...ADD_PAGE, values: [...page, versionId, createdAt] })
      await client.query({ ...ADD_VERSION, values: version })
      await client.query({ ...COUNT_PAGE, values: [tenantId, pageGroupId] })
    })
    const created = {
      pageId,
      pageGroupId,
      tenantId,
      createdAt: createdAt.toISOString(),
      status: 'processing',
    }
    res.status(201).json(created)
  },
)

app.get('/healthz', (_req, res) => {
  res.json({ status: 'ok' })
})

app.use((error, _req, res, _next) => {
  if (error.status === undefined) log.error({ err: error }, 'a fault')
  res.status(error.status ?? 500).json({ code: error.message })
})

app.listen(Number(process.env.PORT), '127.0.0.1')
process.once('SIGTERM', () => process.exit(0))
