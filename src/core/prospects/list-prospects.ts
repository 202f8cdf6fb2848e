import type { ProspectQuery } from '../../shapes/prospect.ts'
import { slicesOf } from '../engine/slices.ts'
import type { Needs } from '../ports/store.ts'
import { matchableEmail } from './emails.ts'
import { prospectOf } from './get-prospect.ts'

/** Which slice of the prospects of a tenant to list. */
export type ProspectListing = ProspectQuery & { readonly tenantId: string }

/**
 * Lists tenants' prospects, newest first, many lists at once. With an email: the one that has it, if any; a blank one or a
 * placeholder matches nobody. Refuses, per list: `invalid_cursor`.
 */
export const listProspects = ({ store }: Pick<Needs<'prospects'>, 'store'>) =>
  slicesOf({
    nameOf: (listing: ProspectListing) => `prospects?${emailHashOf(listing) ?? ''}`,
    find: (wants) => store.prospects.list(wants.map((want) => ({ ...want, emailHash: emailHashOf(want) }))),
    positionOf: ({ prospectId }) => prospectId,
    itemOf: prospectOf,
  })

const emailHashOf = ({ email }: ProspectListing): string | null =>
  email === undefined ? null : (matchableEmail(email)?.emailHash ?? 'nobody')
