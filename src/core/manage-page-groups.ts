import type { PageGroup } from '../shapes/page-group.ts'
import { brandsOf } from './create-tenant.ts'
import { decideAndSave } from './decide-and-save.ts'
import { refuse } from './failures.ts'
import { pageGroupOf } from './list-page-groups.ts'
import { pageGroupNotFound } from './pages.ts'
import type { Clock, NewId, Store, StoredPageGroup } from './ports.ts'
import { isoTime } from './times.ts'

type Deps = {
  readonly store: Pick<Store, 'pageGroups' | 'tenants'>
  readonly clock: Clock
  readonly newId: NewId
}

/** What a person sets of a page group. A member left out keeps its value, or gets the default of a new group. */
export type PageGroupFields = Partial<
  Pick<
    StoredPageGroup,
    | 'brandId'
    | 'name'
    | 'title'
    | 'pageContext'
    | 'status'
    | 'actions'
    | 'footerLinks'
    | 'scripts'
    | 'headerActionId'
  >
>
export type NewPageGroup = PageGroupFields & Pick<StoredPageGroup, 'tenantId' | 'name' | 'title'>

const NOTHING = { rawJson: '[]' }

/**
 * Creates a page group, in the tenant's first brand unless another is named.
 * Refuses `not_found`: the tenant, or the brand.
 */
export const createPageGroup =
  ({ store, clock, newId }: Deps) =>
  async (wanted: NewPageGroup): Promise<PageGroup> => {
    const now = isoTime(clock())
    const status = wanted.status ?? 'active'
    const group: StoredPageGroup = {
      tenantId: wanted.tenantId,
      pageGroupId: newId('pagegroup'),
      brandId: await brandFor(store, wanted.tenantId, wanted.brandId),
      name: wanted.name,
      title: wanted.title,
      pageContext: wanted.pageContext ?? null,
      status,
      pagesCount: 0,
      actions: wanted.actions ?? NOTHING,
      footerLinks: wanted.footerLinks ?? NOTHING,
      scripts: wanted.scripts ?? NOTHING,
      headerActionId: wanted.headerActionId ?? null,
      createdAt: now,
      updatedAt: now,
      deletedAt: status === 'deleted' ? now : null,
    }
    await store.pageGroups.add(group)
    return pageGroupOf(group)
  }

/**
 * Changes what is named of a page group. An archived one takes no new pages; a deleted one is gone for callers.
 * Refuses `page_group_not_found`, and `not_found`: the brand.
 */
export const updatePageGroup =
  ({ store, clock }: Omit<Deps, 'newId'>) =>
  async (pageGroupId: string, fields: PageGroupFields): Promise<PageGroup> => {
    const [changed] = await decideAndSave({
      recall: async () => {
        const group = (await store.pageGroups.find(pageGroupId)) ?? pageGroupNotFound()
        if (fields.brandId !== undefined) await brandFor(store, group.tenantId, fields.brandId)
        return group
      },
      decide: (group) => {
        // Always later, so that whoever read it before knows that it has changed.
        const now = isoTime(Math.max(clock(), Date.parse(group.updatedAt) + 1))
        const status = fields.status ?? group.status
        const deletedAt = status === 'deleted' ? (group.deletedAt ?? now) : null
        const after = { ...group, ...fields, status, updatedAt: now, deletedAt }
        return { outcomes: [after], changes: { before: group, after } }
      },
      record: ({ before, after }) => store.pageGroups.change(after, before.updatedAt),
    })
    return pageGroupOf(changed as StoredPageGroup)
  }

const brandFor = async (
  store: Pick<Store, 'tenants'>,
  tenantId: string,
  brandId: string | undefined,
): Promise<string> => {
  const brands = await brandsOf(store, tenantId)
  const brand = brandId === undefined ? brands[0] : brands.find((known) => known === brandId)
  return brand ?? refuse('not_found', 'The tenant has no brand with this id.')
}
