import { type TestedDatabase, until } from '../support/program.ts'
import { PLACEHOLDER, type Traffic } from './traffic.ts'

/** A stored activity or page. `key` is its idempotency key or, for an activity without one, its type. */
type StoredWrite = { readonly key: string; readonly id: string }

/** Acknowledged writes that are not stored under the id that was returned. Cheap enough for every round. */
export const lostWrites = async (
  traffic: Pick<Traffic, 'acknowledged'>,
  database: TestedDatabase,
): Promise<string[]> => lostAmong(traffic, await storedWrites(database))

/**
 * Compares the stored rows with the traffic once every write with a key is acknowledged, and returns the faults in
 * words. There are none if
 *
 * - each acknowledged write is stored once, under the one id that was returned;
 * - nothing else is stored, except a write without a key that got no answer, and that one at most once;
 * - each page group counts its pages, each person is one prospect, and each activity belongs to its person.
 *
 * With a `tenantId`, only the rows of that tenant are compared.
 */
export const keptFaults = async (
  traffic: Traffic,
  database: TestedDatabase,
  tenantId?: string,
): Promise<string[]> => {
  const stored = await storedWrites(database, tenantId)
  return [
    ...lostAmong(traffic, stored),
    ...acknowledgementFaults(traffic),
    ...unexpectedAmong(traffic, stored),
    ...(await pageCountFaults(database, tenantId)),
    ...(await prospectCountFaults(traffic, database, tenantId)),
    ...(await ownerFaults(database, tenantId)),
  ]
}

const storedWrites = ({ rows }: TestedDatabase, tenantId?: string): Promise<StoredWrite[]> =>
  rows<StoredWrite>(`
    select coalesce(idempotency_key, type) as key, prospect_log_id as id
    from prospect_logs where ${isOfTenant('tenant_id', tenantId)}
    union all
    select idempotency_key, page_id from pages where ${isOfTenant('tenant_id', tenantId)}`)

const isOfTenant = (column: string, tenantId: string | undefined): string =>
  tenantId === undefined ? 'true' : `${column} = '${tenantId}'`

const lostAmong = (
  { acknowledged }: Pick<Traffic, 'acknowledged'>,
  stored: readonly StoredWrite[],
): string[] => {
  const isStored = new Set(stored.map(({ key, id }) => `${key} ${id}`))
  const faults: string[] = []
  for (const [key, ids] of acknowledged)
    for (const id of ids)
      if (!isStored.has(`${key} ${id}`)) faults.push(`lost: ${key}, acknowledged as ${id}`)
  return faults
}

const acknowledgementFaults = ({ acknowledged, unacknowledged }: Traffic): string[] => {
  const faults: string[] = []
  for (const key of unacknowledged.keys()) faults.push(`never acknowledged: ${key}`)
  for (const [key, ids] of acknowledged)
    if (ids.size > 1) faults.push(`acknowledged under several ids: ${key}, ${[...ids].join(', ')}`)
  return faults
}

const unexpectedAmong = ({ acknowledged, uncertain }: Traffic, stored: readonly StoredWrite[]): string[] => {
  const faults: string[] = []
  const seen = new Set<string>()
  for (const { key } of stored) {
    if (seen.has(key)) faults.push(`stored twice: ${key}`)
    if (!acknowledged.has(key) && !uncertain.has(key)) faults.push(`stored but never sent: ${key}`)
    seen.add(key)
  }
  return faults
}

const pageCountFaults = async ({ rows }: TestedDatabase, tenantId?: string): Promise<string[]> => {
  const groups = await rows<{ id: string; counted: number; stored: number }>(`
    select g.page_group_id as id,
      (select c.pages_count from page_counts c
        where c.tenant_id = g.tenant_id and c.page_group_id = g.page_group_id) as counted,
      (select count(*) from pages p
        where p.tenant_id = g.tenant_id and p.page_group_id = g.page_group_id) as stored
    from page_groups g where ${isOfTenant('g.tenant_id', tenantId)}`)
  return groups
    .filter(({ counted, stored }) => Number(counted) !== Number(stored))
    .map(({ id, counted, stored }) => `${id} has ${stored} pages but counts ${counted}`)
}

const prospectCountFaults = async (
  { persons }: Traffic,
  { rows }: TestedDatabase,
  tenantId?: string,
): Promise<string[]> => {
  const isCounted = isOfTenant('tenant_id', tenantId)
  const [counts] = await rows<{ stored: number; created: number }>(`
    select (select count(*) from prospects where ${isCounted}) as stored,
      (select count(*) from prospect_logs where ${isCounted} and created_prospect) as created`)
  const stored = Number(counts?.stored)
  const created = Number(counts?.created)
  const faults: string[] = []
  if (stored !== persons.size) faults.push(`${persons.size} persons, but ${stored} stored prospects`)
  if (created !== persons.size)
    faults.push(`${persons.size} persons, but ${created} activities that created a prospect`)
  return faults
}

/** Activities that were logged for another person than the one they name. */
const ownerFaults = async ({ rows }: TestedDatabase, tenantId?: string): Promise<string[]> => {
  const strays = await rows<{ id: string }>(`
    select l.prospect_log_id as id from prospect_logs l join prospects p
      on p.tenant_id = l.tenant_id and p.prospect_id = l.prospect_id
    where ${isOfTenant('l.tenant_id', tenantId)}
      and (l.external_id <> coalesce(p.external_id, '') or (l.email = '${PLACEHOLDER}' and not l.created_prospect))`)
  return strays.map(({ id }) => `${id} is logged for another person`)
}

/**
 * Waits, at most `waitMsMax`, until no version is processing. Then returns, in words, the pages that do not have
 * exactly one version, either published or failed.
 */
export const versionFaults = async ({ rows }: TestedDatabase, waitMsMax: number): Promise<string[]> => {
  const processing = "select version_id as id from page_versions where status = 'processing'"
  const pauseMs = 100
  await until('no version is processing', async () => (await rows(processing)).length === 0, {
    tries: Math.ceil(waitMsMax / pauseMs),
    pauseMs,
  })
  const pages = await rows<{ id: string; versions: number; settled: number }>(`
    select p.page_id as id, count(v.version_id) as versions,
      count(case when v.status = 'failed' or v.version_id = p.published_version_id then 1 end) as settled
    from pages p left join page_versions v on v.tenant_id = p.tenant_id and v.page_id = p.page_id
    group by p.page_id
    having count(v.version_id) <> 1
      or count(case when v.status = 'failed' or v.version_id = p.published_version_id then 1 end) <> 1`)
  return pages.map(({ id, versions, settled }) => `${id}: ${versions} versions, ${settled} of them settled`)
}
