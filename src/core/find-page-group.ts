import type { PageGroup } from '../shapes/page-group.ts'
import { pageGroupNotFound } from './failures.ts'
import { pageGroupOf } from './list-page-groups.ts'
import type { Needs } from './ports/store.ts'

/** A page group by its id alone, even a deleted one. Refuses `page_group_not_found`. */
export const findPageGroup =
  ({ store }: Pick<Needs<'pageGroups'>, 'store'>) =>
  async (pageGroupId: string): Promise<PageGroup> =>
    pageGroupOf((await store.pageGroups.find(pageGroupId)) ?? pageGroupNotFound())
