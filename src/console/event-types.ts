import type { EventType } from '../shapes/event.ts'

/** The compiler names a type that is missing here. */
const TYPES: Readonly<Record<EventType, true>> = {
  ...{
    'prospect.created': true,
    'prospect.updated': true,
    'prospect.merged': true,
    'prospect.erased': true,
    'prospect_log.created': true,
  },
  ...{ 'page_group.created': true, 'page_group.updated': true },
  ...{ 'page.created': true, 'page.updated': true, 'page.deleted': true, 'page.unpublished': true },
  ...{ 'page_version.ready': true, 'page_version.scheduled': true },
  ...{ 'page_version.published': true, 'page_version.failed': true },
  'webhook_endpoint.disabled': true,
}
export const EVENT_TYPES = Object.keys(TYPES) as readonly EventType[]
