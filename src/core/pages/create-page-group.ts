import { canonical } from '../../json/canonical-json.ts'
import type { PageGroup } from '../../shapes/page-group.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import { type Named, requestHashOf, requireSame } from '../engine/keys.ts'
import type { Replayable } from '../engine/result.ts'
import { isoTime } from '../engine/times.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { FoundPageGroup, NewPageGroupRow, StoredPageGroup } from '../ports/page-groups.ts'
import type { Needs } from '../ports/store.ts'
import type { NewId, Timestamp } from '../ports/world.ts'
import { unknownTenant } from '../tenants/create-tenant.ts'
import type { ReadPageGroup } from './get-page-group.ts'

/** The fields of a page group that a person sets. A field left out keeps its value, or a new group's default. */
export type PageGroupFields = Partial<
  Omit<StoredPageGroup, 'tenantId' | 'pageGroupId' | 'pagesCount' | 'createdAt' | 'updatedAt' | 'deletedAt'>
>
/** A page group to create. Only its tenant, name and title are required. */
export type NewPageGroup = PageGroupFields &
  Pick<StoredPageGroup, 'tenantId' | 'name' | 'title'> &
  Requester & { readonly idempotencyKey?: string | undefined }

const EMPTY = { rawJson: '[]' }

/** `replayed`: the same request was already made under this idempotency key, and this is its first answer. */
export type PageGroupCreation = ReadPageGroup & Replayable<PageGroup>

/**
 * Creates a page group, by default in the tenant's first brand. Fields are not checked.
 * Refuses `not_found`: the tenant, `invalid_request`: the brand, and `idempotency_key_reused`.
 */
export const createPageGroup =
  ({ store, clock, newId }: Needs<'pageGroups' | 'tenants'>) =>
  (creation: NewPageGroup): Promise<PageGroupCreation> => {
    const { tenantId, idempotencyKey, apiKeyId } = creation
    return decideAndSave({
      recall: async () => ({
        first: idempotencyKey ? await store.pageGroups.find({ tenantId, idempotencyKey }) : null,
        brands: await store.tenants.brands(tenantId),
      }),
      decide: (known) => decide(creation, known, isoTime(clock()), newId),
      record: (row) => {
        const { pageGroupId, createdAt } = row
        const event = newEvent(newId, {
          type: 'page_group.created',
          sender: { tenantId, apiKeyId },
          ids: { pageGroupId },
          createdAt,
        })
        return store.pageGroups.add(row, [event])
      },
    })
  }

type Known = { readonly first: FoundPageGroup | null; readonly brands: readonly string[] | null }

const decide = (
  creation: NewPageGroup,
  { first, brands }: Known,
  now: Timestamp,
  newId: NewId,
): { readonly answer: PageGroupCreation; readonly change: NewPageGroupRow | null } => {
  const { idempotencyKey = null } = creation
  const requestHash = idempotencyKey === null ? null : hashOf(creation)
  if (first) {
    requireSame(first, requestHash, { pageGroupId: first.pageGroupId })
    const brandId = brandIn(brands, creation.brandId)
    // The same request makes the same group, except for its id and time: a replay returns the group as created.
    const pageGroup = newPageGroup(creation, first.pageGroupId, brandId, first.createdAt)
    return { answer: { value: pageGroup, revision: 1, replayed: true }, change: null }
  }
  const brandId = brandIn(brands, creation.brandId)
  const pageGroup = newPageGroup(creation, newId('pagegroup'), brandId, now)
  return {
    answer: { value: pageGroup, revision: 1, replayed: false },
    change: { ...pageGroup, idempotencyKey, requestHash },
  }
}

const newPageGroup = (
  creation: NewPageGroup,
  pageGroupId: string,
  brandId: string,
  now: Timestamp,
): StoredPageGroup => {
  const { status = 'active', actions = EMPTY, footerLinks = EMPTY, scripts = EMPTY } = creation
  return {
    pageGroupId,
    tenantId: creation.tenantId,
    brandId,
    name: creation.name,
    title: creation.title,
    pageContext: creation.pageContext ?? null,
    status,
    pagesCount: 0,
    actions,
    footerLinks,
    scripts,
    createdAt: now,
    updatedAt: now,
    deletedAt: status === 'deleted' ? now : null,
    headerActionId: creation.headerActionId ?? null,
  }
}

/** The request's hash, by its fields. */
const hashOf = (fields: PageGroupFields): string => {
  const { brandId, name, title, pageContext, status, headerActionId, actions, footerLinks, scripts } = fields
  const same: Named<PageGroupFields> = {
    brandId,
    name,
    title,
    pageContext,
    status,
    headerActionId,
    actions: actions && canonical(actions),
    footerLinks: footerLinks && canonical(footerLinks),
    scripts: scripts && canonical(scripts),
  }
  return requestHashOf(same)
}

/** The brand with this id, or the tenant's first. Refuses `not_found`: the tenant, and `invalid_request`. */
export const brandIn = (brands: readonly string[] | null, brandId?: string): string => {
  const known = brands ?? unknownTenant()
  const brand = brandId === undefined ? known[0] : known.find((id) => id === brandId)
  const errors = [{ detail: 'must be a brand of the tenant', pointer: '/brandId' }]
  return brand ?? refuse('invalid_request', 'This tenant has no brand with this id.', { errors })
}
