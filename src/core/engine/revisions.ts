import { refuse } from './failures.ts'

/** The revisions of a page or page group that a change accepts. Undefined: any. */
export type IfRevision = { readonly ifRevision?: readonly number[] | undefined }

/** Refuses `precondition_failed`, with the current revision, if `ifRevision` does not contain it. */
export const requireRevision = (
  { revision }: { readonly revision: number },
  { ifRevision }: IfRevision,
): void => {
  if (ifRevision?.includes(revision) === false)
    refuse('precondition_failed', `The revision is now ${revision}.`, { revision })
}
