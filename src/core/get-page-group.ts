import type { PageGroup } from '../shapes/page-group.ts'
import { pageGroupNotFound } from './failures.ts'
import { pageGroupOf } from './list-page-groups.ts'
import type { FoundPageGroup, PageGroupRead } from './ports/page-groups.ts'
import type { Needs } from './ports/store.ts'

/** A page group, and its revision, which every visible change raises. */
export type ReadPageGroup = { readonly pageGroup: PageGroup; readonly revision: number }
/** The command line also sees deleted page groups, to restore them. */
export type PageGroupDeps = Pick<Needs<'pageGroups'>, 'store'> & { readonly seesDeleted?: boolean }

/** Reads one page group. Refuses `page_group_not_found`. */
export const getPageGroup =
  (deps: PageGroupDeps) =>
  async (want: PageGroupRead): Promise<ReadPageGroup> =>
    readPageGroupOf(await existingPageGroup(deps, want))

/** Refuses `page_group_not_found`. */
export const existingPageGroup = async (
  { store, seesDeleted = false }: PageGroupDeps,
  { tenantId, pageGroupId }: PageGroupRead,
): Promise<FoundPageGroup> => {
  const found = await store.pageGroups.find({ tenantId, pageGroupId })
  return found === null || (found.status === 'deleted' && !seesDeleted) ? pageGroupNotFound() : found
}

export const readPageGroupOf = (group: FoundPageGroup): ReadPageGroup => ({
  pageGroup: pageGroupOf(group),
  revision: group.revision,
})

/** For the command line: which tenant has this page group. Refuses `page_group_not_found`. */
export const locatePageGroup =
  ({ store }: PageGroupDeps) =>
  async (pageGroupId: string): Promise<PageGroupRead> => ({
    tenantId: (await store.pageGroups.tenantOf(pageGroupId)) ?? pageGroupNotFound(),
    pageGroupId,
  })
