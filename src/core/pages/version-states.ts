import type { VersionStatus } from '../../shapes/page.ts'

/**
 * All that can happen to a version: its publisher is done with it, or a person publishes it, now or later. `published` stays when
 * another version is published or the page is unpublished. One that was published before is so again once it is unscheduled.
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
