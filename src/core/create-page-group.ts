import type { PageGroup } from '../shapes/page-group.ts'
import { brandsOf } from './create-tenant.ts'
import { refuse } from './failures.ts'
import { pageGroupOf } from './list-page-groups.ts'
import type { StoredPageGroup } from './ports/page-groups.ts'
import type { Needs, Store } from './ports/store.ts'
import { isoTime } from './times.ts'

/** The fields of a page group that a person sets. A field left out keeps its value, or a new group's default. */
export type PageGroupFields = Partial<
  Omit<StoredPageGroup, 'tenantId' | 'pageGroupId' | 'pagesCount' | 'createdAt' | 'updatedAt' | 'deletedAt'>
>
/** A page group to create. Only its tenant, name and title are required. */
export type NewPageGroup = PageGroupFields & Pick<StoredPageGroup, 'tenantId' | 'name' | 'title'>

const EMPTY = { rawJson: '[]' }

/** Creates a page group, by default in the tenant's first brand. Refuses `not_found`: the tenant or the brand. Fields are not checked. */
export const createPageGroup =
  ({ store, clock, newId }: Needs<'pageGroups' | 'tenants'>) =>
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
      actions: wanted.actions ?? EMPTY,
      footerLinks: wanted.footerLinks ?? EMPTY,
      scripts: wanted.scripts ?? EMPTY,
      headerActionId: wanted.headerActionId ?? null,
      createdAt: now,
      updatedAt: now,
      deletedAt: status === 'deleted' ? now : null,
    }
    await store.pageGroups.add(group)
    return pageGroupOf(group)
  }

/** The brand with this id, or the tenant's first. */
export const brandFor = async (store: Pick<Store, 'tenants'>, tenantId: string, brandId?: string) => {
  const brands = await brandsOf(store, tenantId)
  const brand = brandId === undefined ? brands[0] : brands.find((known) => known === brandId)
  return brand ?? refuse('not_found', 'This tenant has no brand with this id.')
}
