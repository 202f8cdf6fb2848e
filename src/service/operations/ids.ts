import type { ProblemCode } from '../../core/engine/failures.ts'
import * as example from './examples.ts'

type IdInPath = {
  readonly description: string
  readonly example: string
  /** The problems of every operation that has this id in its path. */
  readonly problems: readonly ProblemCode[]
}

/** The ids that stand in paths. */
export const IDS: Readonly<Record<string, IdInPath>> = {
  prospect_id: {
    description: 'The id of the prospect.',
    example: example.PROSPECT_ID,
    problems: ['prospect_not_found', 'prospect_erased'],
  },
  prospect_log_id: {
    description: 'The id of the activity.',
    example: example.LOG_ID,
    problems: ['prospect_log_not_found'],
  },
  page_group_id: {
    description: 'The id of the page group.',
    example: example.GROUP_ID,
    problems: ['page_group_not_found'],
  },
  page_id: {
    description: 'The id of the page.',
    example: example.PAGE_ID,
    problems: ['page_not_found'],
  },
  version_id: {
    description: 'The id of the version.',
    example: example.VERSION_ID,
    problems: ['version_not_found'],
  },
  erasure_id: {
    description: 'The id of the erasure.',
    example: example.ERASURE_ID,
    problems: ['erasure_not_found'],
  },
  // An event and its deliveries are two resources.
  event_id: { description: 'The id of the event.', example: example.EVENT_ID, problems: [] },
  webhook_endpoint_id: {
    description: 'The id of the webhook endpoint.',
    example: example.ENDPOINT_ID,
    problems: ['webhook_endpoint_not_found'],
  },
  hook_id: { description: 'The id of the hook.', example: example.HOOK_ID, problems: ['hook_not_found'] },
}
