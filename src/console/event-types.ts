import type { EventType } from '../shapes/event.ts'

/** Events in words. The compiler names a type that is missing here. */
const WORDS: Readonly<Record<EventType, string>> = {
  'prospect.created': 'A person was created',
  'prospect.updated': 'A person was changed',
  'prospect.merged': 'Two people were merged',
  'prospect.erased': 'A person was erased',
  'prospect_log.created': 'An activity arrived',
  'page_group.created': 'A page group was created',
  'page_group.updated': 'A page group was changed',
  'page.created': 'A page was created',
  'page.updated': 'A page was changed',
  'page.deleted': 'A page was deleted',
  'page.unpublished': 'A page was unpublished',
  'page_version.ready': 'A version is ready',
  'page_version.scheduled': 'A version was scheduled',
  'page_version.published': 'A version was published',
  'page_version.failed': 'A version failed',
  'webhook_endpoint.disabled': 'An endpoint was disabled',
}
export const EVENT_TYPES = Object.keys(WORDS) as readonly EventType[]
export const wordsOf = (type: EventType): string => WORDS[type] ?? type
