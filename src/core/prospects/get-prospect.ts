import type { Prospect, ProspectWithIdentifiers } from '../../shapes/prospect.ts'
import { prospectErased, prospectNotFound } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import type { IdentifierKind } from '../ports/identifiers.ts'
import type { FoundProspect, ProspectIdentifier, ProspectKey } from '../ports/prospects.ts'
import type { Needs } from '../ports/store.ts'
import { findSurvivor } from './survivors.ts'

type Deps = Pick<Needs<'prospects'>, 'store'>

/**
 * Reads a prospect with every identifier that leads to it, and those that did; a merged one as its survivor. Refuses
 * `prospect_not_found`, `prospect_erased`.
 */
export const getProspect =
  ({ store }: Deps) =>
  async (key: ProspectKey): Promise<Result<ProspectWithIdentifiers>> => {
    const prospect = shownProspect(await findSurvivor(store.prospects, key))
    const identifiers = await store.prospects.identifiers(prospect)
    const emails = furtherOf(identifiers, 'email', prospect.email)
    const externalIds = furtherOf(identifiers, 'externalId', prospect.externalId)
    return {
      value: {
        ...prospect,
        otherEmails: emails.other,
        otherExternalIds: externalIds.other,
        formerEmails: emails.former,
        formerExternalIds: externalIds.former,
      },
    }
  }

/** Identifiers of one kind besides the one that the prospect is shown with, such as those of a merged prospect. */
const furtherOf = (
  identifiers: readonly ProspectIdentifier[],
  kind: IdentifierKind,
  shown: string | null,
) => {
  const ofKind = identifiers.filter((identifier) => identifier.kind === kind)
  const leading = new Set(ofKind.filter(({ isFormer }) => !isFormer).map(({ value }) => value))
  const had = new Set(ofKind.filter(({ isFormer }) => isFormer).map(({ value }) => value))
  const other = [...leading].filter((value) => value !== shown)
  const former = [...had].filter((value) => value !== shown && !leading.has(value))
  return { other, former }
}

/** Reads what a prospect is shown with everywhere; a merged one as its survivor. Refuses as `getProspect` does. */
export const readProspect =
  ({ store }: Deps) =>
  async (key: ProspectKey): Promise<Result<Prospect>> => ({
    value: shownProspect(await findSurvivor(store.prospects, key)),
  })

export const shownProspect = (found: FoundProspect | null): Prospect => prospectOf(livingProspect(found))

/** Refuses `prospect_not_found`, `prospect_erased`. */
export const livingProspect = (found: FoundProspect | null): FoundProspect => {
  if (!found) return prospectNotFound()
  return found.erasedAt === null ? found : prospectErased()
}

export const prospectOf = (prospect: FoundProspect): Prospect => ({
  prospectId: prospect.prospectId,
  tenantId: prospect.tenantId,
  email: prospect.email,
  externalId: prospect.externalId,
  name: prospect.name,
  attributes: prospect.attributes ?? NO_ATTRIBUTES,
  createdAt: prospect.createdAt,
  updatedAt: prospect.updatedAt,
})

const NO_ATTRIBUTES = { rawJson: '{}' }
