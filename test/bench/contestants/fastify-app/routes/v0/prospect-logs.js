import { matchableEmail, newId, requestHashOf, timelineKey } from '../../../rival-parts.js'

const TRIES_MAX = 5

const FIND_BY_ID = 'select prospect_id, name from prospects where tenant_id = $1 and prospect_id = $2'
const FIND_BY_EMAIL = `
  select p.prospect_id, p.name from identifiers i join prospects p using (tenant_id, prospect_id)
  where i.tenant_id = $1 and i.kind = 'email' and i.hash = $2`
const FIND_RECEIPT = `
  select prospect_id, prospect_log_id, created_at, created_prospect, type, request_hash from prospect_logs
  where tenant_id = $1 and source = $2 and idempotency_key = $3`
const FILL_NAME = `
  update prospects set name = $3 where tenant_id = $1 and prospect_id = $2 and name is null`
const ADD_IDENTIFIER = `
  insert into identifiers (tenant_id, kind, hash, value, prospect_id) values ($1, 'email', $2, $3, $4)
  on conflict do nothing`
const ADD_PROSPECT = `
  insert into prospects (tenant_id, prospect_id, email, name, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)`
const ADD_LOG = `
  insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, name,
    idempotency_key, request_hash, created_prospect, occurred_at, timeline_key, created_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $12)
  on conflict do nothing`

export default async function (fastify) {
  const { pg, httpErrors } = fastify

  const findProspect = async (tenantId, prospectId, email) => {
    if (prospectId) {
      const { rows } = await pg.query(FIND_BY_ID, [tenantId, prospectId])
      if (rows.length === 0) throw httpErrors.notFound('prospect_not_found')
      return rows[0]
    }
    if (email === null) return undefined
    const { rows } = await pg.query(FIND_BY_EMAIL, [tenantId, email.hash])
    return rows[0]
  }

  const findReceipt = async (tenantId, { source, idempotencyKey }, requestHash) => {
    const { rows } = await pg.query(FIND_RECEIPT, [tenantId, source, idempotencyKey])
    const [row] = rows
    if (row === undefined) return undefined
    if (row.request_hash !== requestHash) throw httpErrors.unprocessableEntity('idempotency_key_reused')
    return {
      prospectId: row.prospect_id,
      prospectLogId: row.prospect_log_id,
      createdAt: row.created_at.toISOString(),
      createdProspect: row.created_prospect,
      source,
      type: row.type,
    }
  }

  /** Adds the prospect and its log in one transaction; false if another request was first. */
  const addBoth = (tenantId, email, prospectId, name, createdAt, log) =>
    pg.transact(async (client) => {
      if (email !== null) {
        const identified = await client.query(ADD_IDENTIFIER, [tenantId, email.hash, email.email, prospectId])
        if (identified.rowCount === 0) return false
      }
      await client.query(ADD_PROSPECT, [tenantId, prospectId, email?.email ?? null, name, createdAt])
      const logged = await client.query(ADD_LOG, log)
      if (logged.rowCount === 0) throw httpErrors.conflict('idempotency_key_in_use')
      return true
    })

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
      const log = [
        tenantId,
        prospectLogId,
        prospectId,
        source,
        type,
        payload,
        body.email ?? null,
        name,
        idempotencyKey,
        requestHash,
        createdProspect,
        createdAt,
        timelineKey(prospectId, createdAt),
      ]
      if (found && found.name === null && name !== null)
        await pg.query(FILL_NAME, [tenantId, prospectId, name])
      const isStored = createdProspect
        ? await addBoth(tenantId, email, prospectId, name, createdAt, log)
        : (await pg.query(ADD_LOG, log)).rowCount > 0
      if (isStored)
        return {
          prospectId,
          prospectLogId,
          createdAt: createdAt.toISOString(),
          createdProspect,
          source,
          type,
        }
      const first = idempotencyKey === null ? undefined : await findReceipt(tenantId, body, requestHash)
      if (first) return first
    }
    throw httpErrors.serviceUnavailable('unavailable')
  }

  fastify.post(
    '/prospect_logs',
    {
      onRequest: fastify.needs('prospect_logs:write'),
      schema: { body: { $ref: 'newProspectLog#' }, response: { 201: { $ref: 'prospectLogReceipt#' } } },
    },
    async (request, reply) => {
      reply.code(201)
      return logActivity(request.tenantId, request.body)
    },
  )
}
