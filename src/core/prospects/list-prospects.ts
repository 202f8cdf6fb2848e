import type { ProspectQuery } from '../../shapes/prospect.ts'
import { ITEMS_MAX } from '../../shapes/slice.ts'
import { refuse } from '../engine/failures.ts'
import { sliceOf } from '../engine/slices.ts'
import { DAY_MS, isoTime } from '../engine/times.ts'
import type { FoundProspect, ProspectsQuery } from '../ports/prospects.ts'
import type { SearchIndex } from '../ports/search-index.ts'
import type { Needs, Store } from '../ports/store.ts'
import type { Scanned } from '../ports/world.ts'
import { prospectOf } from './get-prospect.ts'
import { identifiersOf } from './identifiers.ts'
import { searchKeysOf } from './search-keys.ts'
import { survivorOf } from './survivors.ts'

export type ProspectListing = ProspectQuery & { readonly tenantId: string }
type Deps = Pick<Needs<never>, 'clock'> & {
  readonly store: Pick<Store, 'prospects'> & Partial<Pick<Store, 'searchIndex'>>
}
type Listing = ProspectListing & { readonly limit: number }

/**
 * Lists a tenant's prospects, newest first. With an email or an external id: the one that has it, if any; never for a
 * blank or a placeholder. With a search: those whose email or name begins like it; their index begins with the first search
 * of a tenant, and is extended in the background. Refuses `invalid_cursor`, and `invalid_request` for two of these at once.
 */
export const listProspects = ({ store, clock }: Deps) => {
  const withSurvivors = async (rows: readonly FoundProspect[]) => {
    const survivors = await Promise.all(rows.map((row) => survivorOf(store.prospects, row)))
    return survivors.filter((row): row is FoundProspect => row?.erasedAt === null)
  }
  const search = async ({ tenantId, limit, search = '' }: Listing): Promise<Scanned<FoundProspect>> => {
    if (store.searchIndex !== undefined) await noteSearch(store.searchIndex, tenantId, clock())
    const found = await store.prospects.search({ tenantId, limit, ...searchKeysOf(search) })
    // Two merged prospects may have the same survivor, which is as old as itself.
    const byId = new Map((await withSurvivors(found)).map((row) => [row.prospectId, row]))
    const newestFirst = [...byId.values()].sort((a, b) => (a.prospectId < b.prospectId ? 1 : -1))
    return { rows: newestFirst, resume: null }
  }
  const list = sliceOf({
    nameOf: (listing: Listing) => {
      if (listing.search !== undefined) return searchOf(listing)
      const identifier = identifierIn(listing)
      return identifier === null ? 'prospects' : `prospects?${identifier.kind}=${identifier.hash}`
    },
    find: async (query) => {
      if (query.search !== undefined) return search(query)
      const { rows, resume } = await store.prospects.list({ ...query, identifier: identifierIn(query) })
      return { rows: await withSurvivors(rows), resume }
    },
    positionOf: ({ prospectId }) => prospectId,
    itemOf: prospectOf,
  })
  return async (listing: ProspectListing) => {
    if (listing.search === undefined) return list({ ...listing, limit: listing.limit ?? LIMIT })
    // Attributes can be so long that not all fit.
    const { value } = await list({ ...listing, limit: listing.limit ?? ITEMS_MAX })
    return { value: { items: value.items, hasMore: false } }
  }
}

const LIMIT = 20

/** Notes once a day that a tenant is searched. */
const noteSearch = async (searchIndex: SearchIndex, tenantId: string, nowMs: number): Promise<void> => {
  const found = await searchIndex.find(tenantId)
  if (found === null || nowMs - Date.parse(found.searchedAt) > DAY_MS)
    await searchIndex.markSearched(tenantId, isoTime(nowMs))
}

/** A search is one slice. */
const searchOf = (listing: ProspectListing): string => {
  const other = (['email', 'externalId', 'cursor'] as const).find((name) => listing[name] !== undefined)
  if (other !== undefined)
    refuse('invalid_request', 'A search is one slice, by nothing else.', {
      errors: [{ detail: 'must not be given with search', parameter: other }],
    })
  return 'prospects?search'
}

/** Equals no hash: a text that identifies no one finds no one. */
const NO_HASH = 'none'
/** The identifier that a listing names its one prospect by; null if it lists all. */
const identifierIn = ({ email, externalId }: ProspectListing): ProspectsQuery['identifier'] => {
  if (email !== undefined && externalId !== undefined)
    refuse('invalid_request', 'Prospects are found by email or by external id.', {
      errors: [{ detail: 'must not be given with email', parameter: 'externalId' }],
    })
  const matchable = identifiersOf({ email, externalId })
  if (email !== undefined) return { kind: 'email', hash: matchable.email?.hash ?? NO_HASH }
  if (externalId !== undefined) return { kind: 'externalId', hash: matchable.externalId?.hash ?? NO_HASH }
  return null
}
