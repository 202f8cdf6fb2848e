import type { SliceQuery } from '../../shapes/slice.ts'
import { sliceOf } from '../engine/slices.ts'
import type { Needs } from '../ports/store.ts'
import { erasureOf } from './get-erasure.ts'

export type ErasureListing = SliceQuery & { readonly tenantId: string }

/** Lists a tenant's erasures, newest first. Refuses `invalid_cursor`. */
export const listErasures = ({ store }: Pick<Needs<'erasures'>, 'store'>) =>
  sliceOf({
    nameOf: (_: ErasureListing) => 'erasures',
    find: (query) => store.erasures.list(query),
    positionOf: ({ erasureId }) => erasureId,
    itemOf: erasureOf,
  })
