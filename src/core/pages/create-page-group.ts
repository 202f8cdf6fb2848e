import { refuse } from '../engine/failures.ts'
import { type Named, requestHashOf, requireSame } from '../engine/keys.ts'
import { isoTime } from '../engine/times.ts'
import { untilRecorded } from '../engine/until-recorded.ts'
import { newEvent } from '../events/new-event.ts'
import type { Requester } from '../ports/events.ts'
import type { StoredPageGroup } from '../ports/page-groups.ts'
import type { Needs, Store } from '../ports/store.ts'
import { brandsOf } from '../tenants/create-tenant.ts'
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
export type PageGroupCreation = ReadPageGroup & { readonly replayed: boolean }

/**
 * Creates a page group, by default in the tenant's first brand. Fields are not checked.
 * Refuses `not_found`: the tenant, `invalid_request`: the brand, and `idempotency_key_reused`.
 */
export const createPageGroup =
  ({ store, clock, newId }: Needs<'pageGroups' | 'tenants'>) =>
  ({ idempotencyKey, apiKeyId, ...wanted }: NewPageGroup): Promise<PageGroupCreation> =>
    untilRecorded(async () => {
      const { tenantId, actions = EMPTY, footerLinks = EMPTY, scripts = EMPTY } = wanted
      const requestHash = idempotencyKey === undefined ? null : hashOf(wanted)
      const first = idempotencyKey && (await store.pageGroups.find({ tenantId, idempotencyKey }))
      if (first) requireSame(first, requestHash, { pageGroupId: first.pageGroupId })
      // The same request makes the same group, except for its id and time: a replay returns the group as created.
      const now = first ? first.createdAt : isoTime(clock())
      const pageGroupId = first ? first.pageGroupId : newId('pagegroup')
      const status = wanted.status ?? 'active'
      const pageGroup: StoredPageGroup = {
        pageGroupId,
        tenantId,
        brandId: await brandFor(store, tenantId, wanted.brandId),
        name: wanted.name,
        title: wanted.title,
        pageContext: wanted.pageContext ?? null,
        status,
        pagesCount: 0,
        actions,
        footerLinks,
        scripts,
        createdAt: now,
        updatedAt: now,
        deletedAt: status === 'deleted' ? now : null,
        headerActionId: wanted.headerActionId ?? null,
      }
      if (first) return { pageGroup, revision: 1, replayed: true }
      const recorded = await store.pageGroups.add(
        { ...pageGroup, idempotencyKey: idempotencyKey ?? null, requestHash },
        [newEvent(newId, 'page_group.created', { tenantId, apiKeyId }, { pageGroupId }, now)],
      )
      return recorded === 'overtaken' ? recorded : { pageGroup, revision: 1, replayed: false }
    })

/** The request's hash, by its fields. */
const hashOf = (wanted: PageGroupFields): string => {
  const { brandId, name, title, pageContext, status, headerActionId, actions, footerLinks, scripts } = wanted
  const same: Named<PageGroupFields> = {
    brandId,
    name,
    title,
    pageContext,
    status,
    headerActionId,
    actions,
    footerLinks,
    scripts,
  }
  return requestHashOf(same)
}

/** The brand with this id, or the tenant's first. */
export const brandFor = async (store: Pick<Store, 'tenants'>, tenantId: string, brandId?: string) => {
  const brands = await brandsOf(store, tenantId)
  const brand = brandId === undefined ? brands[0] : brands.find((known) => known === brandId)
  const errors = [{ detail: 'must be a brand of the tenant', pointer: '/brandId' }]
  return brand ?? refuse('invalid_request', 'This tenant has no brand with this id.', { errors })
}
