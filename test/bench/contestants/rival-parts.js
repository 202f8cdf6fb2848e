// What both rivals share, so that they differ only in their framework and driver.
import { hash } from 'node:crypto'
import pino from 'pino'
import { monotonicFactory } from 'ulid'

const ulid = monotonicFactory()
export const newId = (prefix) => `${prefix}_${ulid().toLowerCase()}`
export const sha256 = (text) => hash('sha256', text, 'base64url')

/** As prospect-pages logs: JSON lines on stderr, written behind the back of requests. */
export const log = pino({ level: 'info' }, pino.destination({ dest: 2, sync: false }))

export class HttpError extends Error {
  constructor(status, code) {
    super(code)
    this.status = status
    this.statusCode = status
  }
}

export const matchableEmail = (email) => {
  const normalised = email?.trim().toLowerCase().normalize('NFC')
  return normalised ? { email: normalised, hash: sha256(normalised) } : null
}

/** What the index of timelines holds: a few bits of the prospect, then of the time. */
export const timelineKey = (prospectId, at) => {
  let slot = 0
  for (let i = prospectId.length - 8; i < prospectId.length; i++)
    slot = (slot * 31 + prospectId.charCodeAt(i)) % 2 ** 23
  return slot * 2 ** 30 + Math.floor(at.getTime() / 4_000)
}
export const requestHashOf = ({ type, prospectId, email, name, payload }) =>
  sha256(JSON.stringify([type, prospectId, email, name, payload]))

/** The built-in name of a page. */
export const firstWords = (text, title, number) => {
  const words = (text ?? '').trim().split(/\s+/).slice(0, 8).join(' ')
  return words === '' ? `${title} ${number}` : words
}

/** A cursor is the last id shown. */
export const afterOf = (cursor) => (cursor ? Buffer.from(cursor, 'base64url').toString() : '~')
export const sliceOf = (rows, limit, idOf, itemOf) => {
  const items = rows.slice(0, limit).map(itemOf)
  if (rows.length <= limit) return { items, hasMore: false }
  return { items, hasMore: true, nextCursor: Buffer.from(idOf(rows[limit - 1])).toString('base64url') }
}

const KEY_MS_MAX = 1_000

/** Who a key belongs to, remembered for a second. `find` answers the key's row by its hash. */
export const keyRing = (find) => {
  const remembered = new Map()
  return async (apiKey, scope) => {
    if (!apiKey) throw new HttpError(401, 'missing_api_key')
    const keyHash = sha256(apiKey)
    let known = remembered.get(keyHash)
    if (known === undefined || known.until < Date.now()) {
      known = { row: find(keyHash), until: Date.now() + KEY_MS_MAX }
      remembered.set(keyHash, known)
    }
    const row = await known.row
    const isEnded =
      row && (row.revoked_at !== null || (row.expires_at !== null && row.expires_at < new Date()))
    if (!row || isEnded) throw new HttpError(401, 'invalid_api_key')
    if (!row.scopes.includes(scope)) throw new HttpError(403, 'insufficient_scope')
    return row.tenant_id
  }
}

const text = { type: 'string' }
const textOrNull = { type: ['string', 'null'] }
const bounded = (maxLength) => ({ type: 'string', minLength: 1, maxLength })

export const newProspectLog = {
  type: 'object',
  required: ['source', 'payload'],
  properties: {
    source: bounded(100),
    type: { ...bounded(100), default: 'webhook' },
    payload: { type: 'object' },
    prospectId: { type: 'string', pattern: '^prospect_[a-z0-9]{26}$' },
    email: text,
    idempotencyKey: bounded(255),
    name: bounded(255),
  },
}
export const newPage = {
  type: 'object',
  properties: { supplementaryContext: text, customName: text },
}
const limit = { type: 'integer', minimum: 1, maximum: 100, default: 20 }
export const sliceQuery = { type: 'object', properties: { cursor: text, limit } }
export const groupQuery = {
  type: 'object',
  properties: { cursor: text, limit, status: { type: 'string', enum: ['active', 'archived', 'deleted'] } },
}

const objectOf = (properties) => ({ type: 'object', properties })
const slice = (item) => ({
  items: { type: 'array', items: item },
  hasMore: { type: 'boolean' },
  nextCursor: text,
})
const anyArray = { type: 'array', items: {} }

export const prospectLogReceipt = objectOf({
  prospectId: text,
  prospectLogId: text,
  createdAt: text,
  createdProspect: { type: 'boolean' },
  source: text,
  type: text,
})
export const pageGroupSlice = objectOf({
  ...slice(
    objectOf({
      pageGroupId: text,
      tenantId: text,
      brandId: text,
      name: text,
      title: text,
      pageContext: textOrNull,
      status: text,
      pagesCount: { type: 'integer' },
      actions: anyArray,
      footerLinks: anyArray,
      scripts: anyArray,
      createdAt: text,
      updatedAt: text,
      deletedAt: textOrNull,
      headerActionId: textOrNull,
    }),
  ),
  limit: { type: 'integer' },
})
export const pageSlice = objectOf(
  slice(
    objectOf({
      pageId: text,
      pageGroupId: text,
      tenantId: text,
      createdAt: text,
      updatedAt: text,
      effectiveName: text,
      customName: textOrNull,
      computedName: text,
    }),
  ),
)
const versionNumber = { type: 'integer' }
export const pageWithVersion = objectOf({
  pageId: text,
  pageGroupId: text,
  tenantId: text,
  createdAt: text,
  effectiveName: text,
  customName: textOrNull,
  computedName: text,
  supplementaryContext: textOrNull,
  publishedVersion: {
    type: ['object', 'null'],
    properties: { versionId: text, versionNumber, publishedAt: text },
  },
  latestVersion: objectOf({ versionId: text, versionNumber, status: text, failureReason: textOrNull }),
})
export const createdPage = objectOf({
  pageId: text,
  pageGroupId: text,
  tenantId: text,
  createdAt: text,
  status: text,
})

/* Many activities at once: one read and one write, as for one. */

export const newBatch = {
  type: 'object',
  required: ['items'],
  properties: { items: { type: 'array', minItems: 1, maxItems: 1_000, items: newProspectLog } },
}
const count = { type: 'integer' }
export const batchAnswer = objectOf({
  items: { type: 'array', items: objectOf({ status: count, prospectLog: prospectLogReceipt }) },
  accepted: count,
  refused: count,
})
export const BATCH_BYTES_MAX = 8_388_608

export const FIND_BY_EMAILS = `
  select i.hash, i.prospect_id from json_array_elements_text($2::text::json) wanted
    join identifiers i on i.tenant_id = $1 and i.kind = 'email' and i.hash = wanted`
export const ADD_BATCH = `
  with wanted as (
    select * from json_to_recordset($3::text::json) as p (id text, email text, hash text)
  ), prospect as (
    insert into prospects (tenant_id, prospect_id, email, created_at, updated_at)
    select $1, w.id, w.email, $2::timestamptz, $2::timestamptz from wanted w
  ), identified as (
    insert into identifiers (tenant_id, kind, hash, value, prospect_id)
    select $1, 'email', w.hash, w.email, w.id from wanted w where w.hash is not null
    on conflict do nothing
  )
  insert into prospect_logs (tenant_id, occurred_at, created_at, prospect_log_id, prospect_id, source, type, payload,
    email, name, idempotency_key, request_hash, created_prospect, timeline_key)
  select $1, $2::timestamptz, $2::timestamptz, l.*
  from json_to_recordset($4::text::json) as l (id text, prospect text, source text, type text, payload json, email text,
    name text, key text, hash text, created boolean, timeline bigint)
  on conflict do nothing`

/** `ask` sends a statement with its values. */
export const logBatch = async (ask, tenantId, items) => {
  const emails = items.map(({ email }) => matchableEmail(email))
  const hashes = [...new Set(emails.flatMap((email) => email?.hash ?? []))]
  const rows = await ask(FIND_BY_EMAILS, [tenantId, JSON.stringify(hashes)])
  const known = new Map(rows.map((row) => [row.hash, row.prospect_id]))
  const createdAt = new Date()
  const prospects = []
  const logs = items.map((item, i) => {
    const email = emails[i]
    const found = item.prospectId ?? known.get(email?.hash)
    const prospect = found ?? newId('prospect')
    if (found === undefined) prospects.push({ ...email, id: prospect })
    if (found === undefined && email) known.set(email.hash, prospect)
    const hash = item.idempotencyKey === undefined ? null : requestHashOf(item)
    return {
      ...{ id: newId('prospectlog'), prospect, source: item.source, type: item.type, payload: item.payload },
      ...{ email: item.email, name: item.name, key: item.idempotencyKey, hash },
      ...{ created: found === undefined, timeline: timelineKey(prospect, createdAt) },
    }
  })
  await ask(ADD_BATCH, [tenantId, createdAt, JSON.stringify(prospects), JSON.stringify(logs)])
  const receiptOf = ({ id, prospect, source, type, created }) => ({
    ...{ prospectId: prospect, prospectLogId: id, createdAt: createdAt.toISOString() },
    ...{ createdProspect: created, source, type },
  })
  const results = logs.map((log) => ({ status: 201, prospectLog: receiptOf(log) }))
  return { items: results, accepted: logs.length, refused: 0 }
}

/* Rows as both drivers answer them, as callers see them. */

const effectiveName = (row) => (row.custom_name?.trim() ? row.custom_name : row.computed_name)

export const pageGroupOf = (row) => ({
  pageGroupId: row.page_group_id,
  tenantId: row.tenant_id,
  brandId: row.brand_id,
  name: row.name,
  title: row.title,
  pageContext: row.page_context,
  status: row.status,
  pagesCount: row.pages_count,
  actions: row.actions,
  footerLinks: row.footer_links,
  scripts: row.scripts,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
  deletedAt: row.deleted_at?.toISOString() ?? null,
  headerActionId: row.header_action_id,
})

export const pageOf = (row) => ({
  pageId: row.page_id,
  pageGroupId: row.page_group_id,
  tenantId: row.tenant_id,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
  effectiveName: effectiveName(row),
  customName: row.custom_name,
  computedName: row.computed_name,
})

export const pageWithVersionOf = (row) => ({
  pageId: row.page_id,
  pageGroupId: row.page_group_id,
  tenantId: row.tenant_id,
  createdAt: row.created_at.toISOString(),
  effectiveName: effectiveName(row),
  customName: row.custom_name,
  computedName: row.computed_name,
  supplementaryContext: row.supplementary_context,
  publishedVersion:
    row.published_version_id === null
      ? null
      : {
          versionId: row.published_version_id,
          versionNumber: row.published_number,
          publishedAt: row.published_at.toISOString(),
        },
  latestVersion: {
    versionId: row.latest_version_id,
    versionNumber: row.latest_number,
    status: row.latest_status,
    failureReason: row.failure_reason,
  },
})
