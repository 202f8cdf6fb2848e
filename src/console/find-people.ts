import type { Prospect } from '../shapes/prospect.ts'
import { get, path, type Slice } from './api.ts'

export const FOUND_MAX = 100

export const isPersonId = (text: string): boolean => /^prospect_[a-z0-9]{26}$/.test(text)

const EXTERNAL_ID_LENGTH_MAX = 255
type ProspectQuery = Readonly<Record<string, string | number>>
/** The queries that find one person by an email or an external id. */
const identifierQueries = (identifier: string): readonly ProspectQuery[] => {
  const byEmail = { email: identifier }
  return identifier.length > EXTERNAL_ID_LENGTH_MAX ? [byEmail] : [byEmail, { externalId: identifier }]
}

/** The queries that are tried in order. The API searches by at least two characters. */
const queriesFor = (searched: string): readonly ProspectQuery[] => {
  if (searched === '') return [{}]
  const identifiers = identifierQueries(searched)
  const isSearchable = searched.length >= 2 && searched.length <= 100
  return isSearchable ? [{ search: searched, limit: FOUND_MAX }, ...identifiers] : identifiers
}

/** People by the beginning of a name or an email, or by an id. All of them, newest first, if nothing is searched for. */
export const findPeople = async (
  searched: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Slice<Prospect>> => {
  if (isPersonId(searched)) {
    const found = await get<Prospect>(path`/prospects/${searched}`, {}, signal).catch(() => null)
    if (found !== null) return { items: [found], hasMore: false }
  }
  let slice: Slice<Prospect> = { items: [], hasMore: false }
  for (const query of queriesFor(searched)) {
    slice = await get('/prospects', { limit: 50, cursor, ...query }, signal)
    if (slice.items.length > 0) break
  }
  return slice
}
