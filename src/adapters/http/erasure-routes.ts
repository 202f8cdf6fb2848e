import { Erasure, ErasureSlice, NewErasure } from '../../shapes/erasure.ts'
import { SliceQuery } from '../../shapes/slice.ts'
import { type Route, route } from './route.ts'

export const erasureRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v0/erasures',
    operationId: 'eraseProspect',
    summary: 'Erase a person',
    scope: 'prospects:erase',
    body: NewErasure,
    answer: Erasure,
    status: 202,
    problems: ['prospect_not_found', 'prospect_erased'],
    run: async ({ eraseProspect }, { tenantId, body }) => ({
      body: await eraseProspect({ ...body, tenantId }),
    }),
  }),
  route({
    method: 'GET',
    path: '/v0/erasures',
    operationId: 'listErasures',
    summary: 'List erasures, newest first',
    scope: 'prospects:erase',
    query: SliceQuery,
    answer: ErasureSlice,
    status: 200,
    problems: ['invalid_cursor'],
    run: async ({ listErasures }, { tenantId, query }) => ({
      body: await listErasures({ ...query, tenantId }),
    }),
  }),
  route({
    method: 'GET',
    path: '/v0/erasures/{erasure_id}',
    operationId: 'getErasure',
    summary: 'Read an erasure',
    scope: 'prospects:erase',
    answer: Erasure,
    status: 200,
    problems: ['erasure_not_found'],
    run: async ({ getErasure }, { tenantId, params }) => ({
      body: await getErasure({ tenantId, erasureId: params['erasure_id'] ?? '' }),
    }),
  }),
]
