import type { ProspectQuery } from '../../shapes/prospect.ts'
import { DomainFailure, refuse } from '../engine/failures.ts'
import { slicesOf } from '../engine/slices.ts'
import type { FoundProspect } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import type { Scanned } from '../ports/world.ts'
import { prospectOf } from './get-prospect.ts'
import { matchableEmail, matchableExternalId } from './identifiers.ts'
import { survivorsOf } from './survivors.ts'

/** Which slice of the prospects of a tenant to list. */
export type ProspectListing = ProspectQuery & { readonly tenantId: string }

/**
 * Lists tenants' prospects, newest first, many lists at once. With an email or an external id: the one that has it, if any; a
 * blank one or a placeholder matches nobody. Refuses, per list: `invalid_cursor`, and `invalid_request` for both at once.
 */
export const listProspects = ({ store }: Pick<Needs<'prospects'>, 'store'>) => {
  const withSurvivors = async (list: Scanned<FoundProspect>) => {
    const rows = await survivorsOf(store.prospects, list.rows)
    return { ...list, rows: rows.filter((row) => row?.erasedAt === null) as FoundProspect[] }
  }
  return slicesOf({
    nameOf: (listing: ProspectListing) => {
      const { emailHash, externalIdHash } = hashesOf(listing)
      return `prospects?${emailHash ?? ''}${externalIdHash === null ? '' : `&${externalIdHash}`}`
    },
    find: async (wants) => {
      const found = await store.prospects.list(wants.map((want) => ({ ...want, ...hashesOf(want) })))
      return Promise.all(found.map((list) => (list instanceof DomainFailure ? list : withSurvivors(list))))
    },
    positionOf: ({ prospectId }) => prospectId,
    itemOf: prospectOf,
  })
}

const hashesOf = ({ email, externalId }: ProspectListing) => {
  if (email !== undefined && externalId !== undefined)
    refuse('invalid_request', 'Prospects are found by email or by external id.', {
      errors: [{ detail: 'must not be given with email', parameter: 'externalId' }],
    })
  return {
    emailHash: email === undefined ? null : (matchableEmail(email)?.emailHash ?? 'nobody'),
    externalIdHash:
      externalId === undefined ? null : (matchableExternalId(externalId)?.externalIdHash ?? 'nobody'),
  }
}
