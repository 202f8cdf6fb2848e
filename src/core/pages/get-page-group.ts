import type { ForReaders } from '../../shapes/input.ts'
import type { PageGroup } from '../../shapes/page-group.ts'
import { pageGroupNotFound } from '../engine/failures.ts'
import type { Revised } from '../engine/result.ts'
import type { FoundPageGroup, PageGroupKey, StoredPageGroup } from '../ports/page-groups.ts'
import type { Needs } from '../ports/store.ts'

/** A page group, and its revision. */
export type ReadPageGroup = Revised<PageGroup>
/** `seesDeleted`: the last event of a page group is its deletion. */
type PageGroupDeps = Pick<Needs<'pageGroups'>, 'store'> & { readonly seesDeleted?: boolean }

/** Reads one page group. `publishedOnly`: one that is not active is missing. Refuses `page_group_not_found`. */
export const getPageGroup =
  (deps: PageGroupDeps) =>
  async (key: PageGroupKey & ForReaders): Promise<ReadPageGroup> => {
    const group = await existingPageGroup(deps, key)
    const { revision } = group
    if (!key.publishedOnly) return { value: pageGroupOf(group), revision }
    return group.status === 'active' ? { value: readersGroupOf(group), revision } : pageGroupNotFound()
  }

/** Refuses `page_group_not_found`. */
export const existingPageGroup = async (
  { store, seesDeleted = false }: PageGroupDeps,
  { tenantId, pageGroupId }: PageGroupKey,
): Promise<FoundPageGroup> => {
  const found = await store.pageGroups.find({ tenantId, pageGroupId })
  return found === null || (found.status === 'deleted' && !seesDeleted) ? pageGroupNotFound() : found
}

/** Field by field, so that no other field is shown; a copy by `...` takes three times as long. */
export const pageGroupOf = (group: StoredPageGroup): StoredPageGroup => ({
  pageGroupId: group.pageGroupId,
  tenantId: group.tenantId,
  brandId: group.brandId,
  name: group.name,
  title: group.title,
  pageContext: group.pageContext,
  status: group.status,
  pagesCount: group.pagesCount,
  actions: group.actions,
  footerLinks: group.footerLinks,
  scripts: group.scripts,
  createdAt: group.createdAt,
  updatedAt: group.updatedAt,
  deletedAt: group.deletedAt,
  headerActionId: group.headerActionId,
})
/** What readers see of a group. The count would show how many pages are not published. */
export const readersGroupOf = (group: StoredPageGroup): PageGroup => ({
  ...pageGroupOf(group),
  pageContext: null,
  pagesCount: null,
})
