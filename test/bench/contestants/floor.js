// The floor: what the work itself costs. Bare node:http and postgres.js look a key up in a Map, parse the body, gather what
// arrives together into one statement, and answer. Nothing is validated, limited, logged, traced or published, and keys and
// known emails are in memory from the start.
import { createServer } from 'node:http'
import postgres from 'postgres'
import { monotonicFactory } from 'ulid'
import { sha256, timelineKey } from './rival-parts.js'

const ulid = monotonicFactory()
const newId = (prefix) => `${prefix}_${ulid().toLowerCase()}`
const sql = postgres({ max: 2, connection: { plan_cache_mode: 'force_generic_plan' } })
const LISTS_IN_FLIGHT = 2

const keys = new Map()
for (const row of await sql`select key_hash, tenant_id from api_keys`) keys.set(row.key_hash, row.tenant_id)
const known = new Map()
for (const row of await sql`select tenant_id, email, prospect_id from prospects where email is not null limit 100000`)
  known.set(`${row.tenant_id} ${row.email}`, row.prospect_id)

/** Runs what waits as one list as soon as fewer than two lists are in flight. */
const gather = (run) => {
  let waiting = []
  let inFlight = 0
  const start = () => {
    if (waiting.length === 0 || inFlight === LISTS_IN_FLIGHT) return
    const list = waiting
    waiting = []
    inFlight++
    run(list).then(
      () => {
        inFlight--
        start()
      },
      () => process.exit(1),
    )
  }
  return (one) => {
    waiting.push(one)
    start()
  }
}

const COLUMNS = ['id', 'prospect', 'source', 'type', 'payload', 'email', 'timeline']
const ADD_LOGS = `
  insert into prospect_logs (tenant_id, prospect_log_id, prospect_id, source, type, payload, email, timeline_key,
    created_prospect, occurred_at, created_at)
  select l.*, false, $9::timestamptz, $9::timestamptz from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
    $6::text[]::json[], $7::text[], $8::bigint[]) l`
const log = gather(async (calls) => {
  const now = new Date()
  const logs = calls.flatMap(({ tenantId, items }) =>
    items.map((item) => {
      const prospect = known.get(`${tenantId} ${item.email}`) ?? newId('prospect')
      const timeline = timelineKey(prospect, now)
      return {
        ...item,
        tenantId,
        prospect,
        id: newId('prospectlog'),
        timeline,
        payload: JSON.stringify(item.payload),
      }
    }),
  )
  const arrays = ['tenantId', ...COLUMNS].map((name) => logs.map((row) => row[name]))
  await sql.unsafe(ADD_LOGS, [...arrays, now], { prepare: true })
  const createdAt = now.toISOString()
  let next = 0
  for (const { items, answer, isBatch } of calls) {
    const receipts = items.map(() => {
      const { id, prospect, source, type } = logs[next++]
      return { prospectId: prospect, prospectLogId: id, createdAt, createdProspect: false, source, type }
    })
    if (!isBatch) answer(201, receipts[0])
    else
      answer(201, {
        items: receipts.map((prospectLog) => ({ status: 201, prospectLog })),
        accepted: receipts.length,
      })
  }
})

const FIND_PAGES = `
  select p.*, v.version_number, v.status, v.published_at, v.supplementary_context
  from unnest($1::text[], $2::text[], $3::text[]) w (tenant_id, page_group_id, page_id)
    left join pages p on p.tenant_id = w.tenant_id and p.page_group_id = w.page_group_id and p.page_id = w.page_id
    left join page_versions v on v.tenant_id = p.tenant_id and v.page_id = p.page_id and v.version_id = p.latest_version_id`
const readPage = gather(async (calls) => {
  const wanted = ['tenantId', 'group', 'page'].map((name) => calls.map((call) => call[name]))
  const rows = await sql.unsafe(FIND_PAGES, wanted, { prepare: true })
  const pages = new Map(rows.map((row) => [row.page_id, row]))
  for (const { page, answer } of calls) {
    const { tenant_id: tenantId, ...row } = pages.get(page)
    answer(200, { tenantId, ...row })
  }
})

const server = createServer((req, res) => {
  const answer = (status, body) => {
    const text = JSON.stringify(body)
    res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    res.end(text)
  }
  const { url } = req
  if (url === '/healthz') return answer(200, {})
  const tenantId = keys.get(sha256(req.headers['x-api-key'] ?? ''))
  if (tenantId === undefined) return answer(401, {})
  const [, , , group, , page] = url.split('/')
  if (page !== undefined) return readPage({ tenantId, group, page, answer })
  const chunks = []
  req.on('data', (chunk) => chunks.push(chunk))
  req.on('end', () => {
    const body = JSON.parse(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
    const isBatch = body.items !== undefined
    log({ tenantId, items: isBatch ? body.items : [body], isBatch, answer })
  })
})
server.keepAliveTimeout = 65_000
server.listen(Number(process.env.PORT), '127.0.0.1')
process.once('SIGTERM', () => process.exit(0))
