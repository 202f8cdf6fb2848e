import type { NewEvent } from './events.ts'
import type { PageGroupKey } from './page-groups.ts'
import type { StoredPage } from './pages.ts'
import type { Recorded, Timestamp } from './world.ts'

/** A page group to delete. */
export type NewDeletion = PageGroupKey & {
  /** The API key of the request, if there was one. */
  readonly apiKeyId: string | null
  readonly deletedAt: Timestamp
}
/** How far the pages of a deleted group are unpublished: up to this page and this event; both empty at the beginning. */
export type DeletionProgress = { readonly afterPageId: string; readonly afterEventId: string }
/** A page group that was deleted, whose published pages are unpublished one slice after another. */
export type PageGroupDeletion = PageGroupKey & DeletionProgress & Pick<NewDeletion, 'apiKeyId'>
/** A page of a deleted group. */
export type PageToUnpublish = Pick<StoredPage, 'pageId'> & { readonly isPublished: boolean }

/** The part of a store that deletes page groups. Callers find neither the group nor its pages from the first moment. */
export type Deletions = {
  /** Deletes a page group if its `updatedAt` and its revision, if given, are unchanged. Its pages wait to be unpublished. */
  begin(deletion: NewDeletion, lastUpdatedAt: Timestamp, revision?: number): Promise<Recorded>
  /** Tenants with deletions that are not completed, and that are not suspended: at most `max`, the first after this id. */
  waiting(afterTenantId: string, max: number): Promise<readonly string[]>
  /** The first of these deletions of a tenant, or null. */
  next(tenantId: string): Promise<PageGroupDeletion | null>
  /** At most `max` pages of the group, in the order of their ids: the first after those that are done. */
  pages(deletion: PageGroupDeletion, max: number): Promise<readonly PageToUnpublish[]>
  /**
   * Saves progress with the events of these pages, which are no longer published, unless someone else has made any; null: the
   * deletion is completed.
   */
  record(
    deletion: PageGroupDeletion,
    progress: DeletionProgress | null,
    events?: readonly NewEvent[],
  ): Promise<Recorded>
}
