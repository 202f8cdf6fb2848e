import type { VersionStatus } from '../../shapes/page.ts'

/**
 * The events of a version's life: its publisher finishes it, or a person publishes or unschedules it. A version stays
 * `published` when another one is published or the page is unpublished. A version that was published before it was
 * scheduled is `published` again once it is unscheduled.
 */
const NEXT = {
  processing: {
    finish: 'published',
    finishUnpublished: 'ready',
    fail: 'failed',
    publish: null,
    unschedule: null,
  },
  ready: { publish: 'published', unschedule: 'ready' },
  scheduled: { publish: 'published', unschedule: 'ready' },
  published: { publish: 'published', unschedule: 'published' },
  failed: { publish: null, unschedule: 'failed' },
} as const

/** The status of a version after an event; null if that cannot happen to it now. */
export const statusAfter = <Status extends VersionStatus, Event extends keyof (typeof NEXT)[Status]>(
  status: Status,
  event: Event,
): (typeof NEXT)[Status][Event] => NEXT[status][event]

/** The status that callers see: a version stored as `ready` or `published` is `scheduled` if it has a `publishAt`. */
export const shownStatus = (kept: VersionStatus, publishAt: string | null): VersionStatus =>
  publishAt !== null && (kept === 'ready' || kept === 'published') ? 'scheduled' : kept
