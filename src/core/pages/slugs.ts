import { refuse } from '../engine/failures.ts'
import type { PageKey } from '../ports/pages.ts'
import type { Needs } from '../ports/store.ts'

const PREFIX = 'slug:'

/** Whether a page is named as `slug:spring-sale` instead of by its id. */
export const isNamedBySlug = ({ pageId }: PageKey): boolean => pageId.startsWith(PREFIX)

/** The page that has this slug, by its id. A slug that no page has names none. */
export const pageNamedBySlug = async ({ pages }: Needs<'pages'>['store'], key: PageKey): Promise<PageKey> => {
  const pageId = await pages.findSlug({ ...key, slug: key.pageId.slice(PREFIX.length) })
  return pageId === null ? key : { ...key, pageId }
}

/** Refuses `slug_taken` if another page has the slug. `ownerId`: the page that has it. */
export const requireFreeSlug = (ownerId: string | null, pageId?: string): void => {
  if (ownerId !== null && ownerId !== pageId)
    refuse('slug_taken', 'Another page of the group has this slug.', { pageId: ownerId })
}
