import { type TestedDatabase, until } from '../support/program.ts'
import { PLACEHOLDER, type Traffic } from './traffic.ts'

type Kept = { readonly key: string; readonly id: string }

const keptOf = (whose: string) => `
  select coalesce(idempotency_key, type) as key, prospect_log_id as id from prospect_logs where ${whose}
  union all select idempotency_key, page_id from pages where ${whose}`

/** Acknowledged writes that are not there under the id that was told. Cheap enough for every round. */
export const lostOf = async (
  { acknowledged }: Pick<Traffic, 'acknowledged'>,
  { rows }: TestedDatabase,
  whose = 'true',
): Promise<string[]> => {
  const kept = new Set((await rows<Kept>(keptOf(whose))).map(({ key, id }) => `${key} ${id}`))
  return [...acknowledged].flatMap(([key, ids]) =>
    [...ids].filter((id) => !kept.has(`${key} ${id}`)).map((id) => `lost: ${key}, told to be ${id}`),
  )
}

/**
 * Faults of the stored rows, in words, once every write with a key is acknowledged: each is there once, under
 * the one id that was told, and nothing else is, but a write without a key or an answer, once at most; groups count
 * their pages; each person is one prospect. With a tenant, this is asked of the rows of that tenant.
 */
export const keptFaults = async (
  traffic: Traffic,
  database: TestedDatabase,
  tenantId?: string,
): Promise<string[]> => {
  const whose = tenantId === undefined ? 'true' : `tenant_id = '${tenantId}'`
  const { acknowledged, unacknowledged, uncertain, persons } = traffic
  const { rows } = database
  const faults = await lostOf(traffic, database, whose)
  for (const key of unacknowledged.keys()) faults.push(`never acknowledged: ${key}`)
  for (const [key, ids] of acknowledged)
    if (ids.size > 1) faults.push(`told under several ids: ${key}, ${[...ids].join(', ')}`)

  const seen = new Set<string>()
  for (const { key } of await rows<Kept>(keptOf(whose))) {
    if (seen.has(key)) faults.push(`there twice: ${key}`)
    if (!acknowledged.has(key) && !uncertain.has(key)) faults.push(`nobody sent it: ${key}`)
    seen.add(key)
  }
  const counts = await rows<{ id: string; told: number; kept: number }>(`
    select g.page_group_id as id,
      (select c.pages_count from page_counts c
        where c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id) as told,
      (select count(*) from pages p
        where p.tenant_id = g.tenant_id and p.page_group_id = g.page_group_id) as kept
    from page_groups g where ${whose}`)
  for (const { id, told, kept } of counts)
    if (Number(told) !== Number(kept)) faults.push(`${id} has ${kept} pages and tells of ${told}`)

  const [prospects] = await rows<{ kept: number; created: number }>(`
    select (select count(*) from prospects where ${whose}) as kept,
      (select count(*) from prospect_logs where ${whose} and created_prospect) as created`)
  for (const [what, count] of Object.entries(prospects ?? {}))
    if (Number(count) !== persons.size) faults.push(`${persons.size} persons, prospects ${what}: ${count}`)
  const joined = await rows<{ id: string }>(`
    select l.prospect_log_id as id from prospect_logs l join prospects p
      on p.tenant_id = l.tenant_id and p.prospect_id = l.prospect_id
    where ${tenantId === undefined ? 'true' : `l.tenant_id = '${tenantId}'`}
      and (l.external_id <> coalesce(p.external_id, '') or (l.email = '${PLACEHOLDER}' and not l.created_prospect))`)
  for (const { id } of joined) faults.push(`${id} is logged for another person`)
  return faults
}

/** Faults of the versions, in words. Waits, for a bounded time, until none is in progress. */
export const versionFaults = async ({ rows }: TestedDatabase, waitMsMax: number): Promise<string[]> => {
  const WAITING = "select version_id as id from page_versions where status = 'processing'"
  await until('no version is under way', async () => (await rows(WAITING)).length === 0, {
    tries: Math.ceil(waitMsMax / 100),
    pauseMs: 100,
  })
  const odd = await rows<{ id: string; versions: number; published: number }>(`
    select p.page_id as id, count(v.version_id) as versions,
      count(case when v.status = 'failed' or v.version_id = p.published_version_id then 1 end) as published
    from pages p left join page_versions v on v.tenant_id = p.tenant_id and v.page_id = p.page_id
    group by p.page_id
    having count(v.version_id) <> 1
      or count(case when v.status = 'failed' or v.version_id = p.published_version_id then 1 end) <> 1`)
  return odd.map(({ id, versions, published }) => `${id}: ${versions} versions, ${published} of them settled`)
}
