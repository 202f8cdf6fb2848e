import { Erasure, ErasureSlice, NewErasure } from '../../shapes/erasure.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import { get, post } from './operation.ts'

export const erasureOperations = {
  /** Erases a person, by prospect id, external id or email. `startBackground` of `prospect-pages/publisher` completes it. */
  eraseProspect: post('/v0/erasures', {
    summary: 'Erase a person',
    scope: 'prospects:erase',
    body: NewErasure,
    answer: Erasure,
    status: 202,
    problems: ['prospect_not_found', 'prospect_erased'],
  }),
  /** Lists the erasures of a tenant, newest first. */
  listErasures: get('/v0/erasures', {
    summary: 'List erasures, newest first',
    scope: 'prospects:erase',
    query: SliceQuery,
    answer: ErasureSlice,
  }),
  /** Reads an erasure: how far it is. */
  getErasure: get('/v0/erasures/{erasure_id}', {
    summary: 'Read an erasure',
    scope: 'prospects:erase',
    answer: Erasure,
  }),
  /** Lifts the block of an erased email and external id: the person may return. */
  unblockErasure: post('/v0/erasures/{erasure_id}/unblock', {
    summary: 'Lift the block of an erased email and external id',
    scope: 'prospects:erase',
    answer: Erasure,
  }),
}
