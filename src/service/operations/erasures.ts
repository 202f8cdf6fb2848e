import { getErasure } from '../../core/erasures/get-erasure.ts'
import { listErasures } from '../../core/erasures/list-erasures.ts'
import { requestErasure } from '../../core/erasures/request-erasure.ts'
import { unblockErasure } from '../../core/erasures/unblock-erasure.ts'
import { Erasure, ErasureSlice, NewErasure } from '../../shapes/erasure.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import * as example from './examples.ts'
import { get, post } from './operation.ts'

export const erasureOperations = {
  /** Erases a person, by prospect id, external id or email. `startBackground` of `prospect-pages/publisher` completes it. */
  eraseProspect: post(
    '/v0/erasures',
    {
      summary: 'Erase a person',
      scope: 'prospects:erase',
      needs: ['activities', 'prospects', 'erasures', 'moments'],
      useCase: requestErasure,
      body: NewErasure,
      answer: Erasure,
      status: 202,
      problems: ['prospect_not_found', 'prospect_erased'],
    },
    {
      description:
        'Erases a person, identified by exactly one of `prospectId`, `externalId` and `email`. The prospect loses its email, external id and name at once, and new activities for it are refused (410). Its activities are deleted in the background, and activities of others with the same email or external id lose both and the name. Activities with that email or external id are refused (410) for `blockDays`. A second request while it is in progress returns the same erasure.\n\nEvery email and external id that the person had is refused, too, unless it leads to another prospect today: `stillLeadsTo` names that one. `formerlyOf` names other prospects that once had the email or the external id of the request. Neither is erased, because it may be another person: if it is the same one, erase it by its id.',
      done: 'The erasure is in progress. Read it to see when it is completed, some minutes later.',
      requests: {
        by_email: { summary: 'By email', value: { email: 'heidi@example.com' } },
        by_id: {
          summary: 'By id, with the shortest block',
          value: { prospectId: example.PROSPECT_ID, blockDays: 0 },
        },
      },
      answers: {
        processing: { summary: 'In progress', value: example.erasure },
        formerly: {
          summary: 'A former email: nobody has it, but this prospect had it',
          value: { ...example.erasure, prospectId: null, formerlyOf: [example.OTHER_PROSPECT_ID] },
        },
      },
      fault: { detail: 'is required without a prospectId or externalId', pointer: '/email' },
    },
  ),
  /** Lists the erasures of a tenant, newest first. */
  listErasures: get(
    '/v0/erasures',
    {
      summary: 'List erasures, newest first',
      scope: 'prospects:erase',
      needs: ['erasures'],
      useCase: listErasures,
      query: SliceQuery,
      answer: ErasureSlice,
    },
    {
      description:
        'Returns the erasures of the tenant, one slice at a time: ids and counts, no personal data.',
      done: 'A slice of erasures.',
      answers: { whole: { summary: 'The only slice', value: { items: [example.erased], hasMore: false } } },
    },
  ),
  /** Reads an erasure: how far it is. */
  getErasure: get(
    '/v0/erasures/{erasure_id}',
    {
      summary: 'Read an erasure',
      scope: 'prospects:erase',
      needs: ['erasures'],
      useCase: getErasure,
      answer: Erasure,
    },
    {
      description: 'Returns an erasure.',
      done: 'The erasure.',
      answers: {
        completed: { summary: 'Completed', value: example.erased },
        processing: { summary: 'In progress', value: example.erasure },
      },
    },
  ),
  /** Lifts the block of an erased email and external id: the person may return. */
  unblockErasure: post(
    '/v0/erasures/{erasure_id}/unblock',
    {
      summary: 'Lift the block of an erased email and external id',
      scope: 'prospects:erase',
      needs: ['erasures'],
      useCase: unblockErasure,
      answer: Erasure,
    },
    {
      description:
        'Lifts the block of an erased email and external id, for example after a typo: activities with them are accepted again. While the erasure is in progress, the block is needed; it ends within an hour after the erasure is completed. Repeating the call is safe.',
      done: 'The erasure.',
      answers: { lifted: { summary: 'Lifted', value: { ...example.erased, blockedUntil: null } } },
    },
  ),
}
