import { type PageGroupDeps, type PageGroupWrite, updatePageGroup } from './update-page-group.ts'

/** Deletes a page group: callers find neither it nor its pages. Refuses `page_group_not_found`, `precondition_failed`. */
export const deletePageGroup =
  (deps: PageGroupDeps) =>
  async (key: PageGroupWrite): Promise<void> => {
    await updatePageGroup(deps)({ ...key, status: 'deleted' })
  }
