import { refuse } from './failures.ts'
import type { StoredPage } from './ports.ts'

/** The custom name if it is set and not blank, else the computed name (specification 2.5). */
export const effectiveName = ({ customName, computedName }: StoredPage): string =>
  customName === null || customName.trim() === '' ? computedName : customName

export const pageGroupNotFound = (): never =>
  refuse('page_group_not_found', 'There is no page group with this id.')
