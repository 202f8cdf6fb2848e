import { refuse } from './failures.ts'

/** Which revisions of a page or page group a change is for. Undefined: whatever it has. */
export type IfRevision = { readonly ifRevision?: readonly number[] | undefined }

/** Refuses `precondition_failed`, with the present revision, unless it is one of those. */
export const requireRevision = (revision: number, { ifRevision }: IfRevision): void => {
  if (ifRevision?.includes(revision) === false)
    refuse('precondition_failed', `The revision is now ${revision}.`, { revision })
}
