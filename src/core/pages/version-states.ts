import type { VersionStatus } from '../../shapes/page.ts'

/**
 * All that can happen to a version: its publisher is done with it, or a person publishes it. `published` stays when another
 * version is published or the page is unpublished.
 */
const NEXT = {
  processing: { finish: 'published', finishUnpublished: 'ready', fail: 'failed', publish: null },
  ready: { publish: 'published' },
  published: { publish: 'published' },
  failed: { publish: null },
} as const

/** What a version becomes; null if that cannot happen to it now. */
export const statusAfter = <Status extends VersionStatus, Event extends keyof (typeof NEXT)[Status]>(
  status: Status,
  event: Event,
): (typeof NEXT)[Status][Event] => NEXT[status][event]
