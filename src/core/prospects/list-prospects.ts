import type { ProspectQuery } from '../../shapes/prospect.ts'
import { DomainFailure, refuse } from '../engine/failures.ts'
import { slicesOf } from '../engine/slices.ts'
import type { FoundProspect, ProspectsWant } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import type { Scanned } from '../ports/world.ts'
import { prospectOf } from './get-prospect.ts'
import { identifiersOf } from './identifiers.ts'
import { survivorsOf } from './survivors.ts'

/** Which slice of the prospects of a tenant to list. */
export type ProspectListing = ProspectQuery & { readonly tenantId: string }

/**
 * Lists tenants' prospects, newest first, many lists at once. With an email or an external id: the one that has it, if
 * any; never for a blank or a placeholder. Refuses, per list: `invalid_cursor`, and `invalid_request` for both at once.
 */
export const listProspects = ({ store }: Pick<Needs<'prospects'>, 'store'>) => {
  const withSurvivors = async (list: Scanned<FoundProspect>) => {
    const rows = await survivorsOf(store.prospects, list.rows)
    return { ...list, rows: rows.filter((row) => row?.erasedAt === null) as FoundProspect[] }
  }
  /** Looks again by the former hash of an email that was not found. */
  const listBoth = async (wants: readonly Want[]): ReturnType<typeof store.prospects.list> => {
    const found = await store.prospects.list(wants)
    const isMissing = ({ formerEmailHash }: Want, i: number) => {
      const list = found[i]
      return formerEmailHash !== null && list && 'rows' in list && list.rows.length === 0
    }
    const missing = wants.filter(isMissing)
    if (missing.length === 0) return found
    const again = missing.map((want) => ({ ...want, emailHash: want.formerEmailHash, formerEmailHash: null }))
    const rest = (await listBoth(again)).values()
    return found.map((list, i) => (isMissing(wants[i] as Want, i) ? (rest.next().value ?? list) : list))
  }
  return slicesOf({
    nameOf: (listing: ProspectListing) => {
      const { emailHash, externalIdHash } = hashesOf(listing)
      return `prospects?${emailHash ?? ''}${externalIdHash === null ? '' : `&${externalIdHash}`}`
    },
    find: async (wants) => {
      const found = await listBoth(wants.map((want) => ({ ...want, ...hashesOf(want) })))
      return Promise.all(found.map((list) => (list instanceof DomainFailure ? list : withSurvivors(list))))
    },
    positionOf: ({ prospectId }) => prospectId,
    itemOf: prospectOf,
  })
}

type Want = ProspectsWant & { readonly formerEmailHash: string | null }

const hashesOf = ({ email, externalId }: ProspectListing) => {
  if (email !== undefined && externalId !== undefined)
    refuse('invalid_request', 'Prospects are found by email or by external id.', {
      errors: [{ detail: 'must not be given with email', parameter: 'externalId' }],
    })
  const { emailHash, formerEmailHash, externalIdHash } = identifiersOf({ email, externalId })
  return {
    emailHash: email === undefined ? null : (emailHash ?? 'nobody'),
    formerEmailHash,
    externalIdHash: externalId === undefined ? null : (externalIdHash ?? 'nobody'),
  }
}
