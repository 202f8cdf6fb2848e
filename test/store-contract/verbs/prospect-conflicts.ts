import { at } from '../rows.ts'
import type { PortVerbs } from './verb.ts'

const HOUR_MS = 3_600_000

export const prospectConflicts = {
  note: {
    serves: 'callers',
    ask: ({ prospectConflicts }, { tenantId }, { conflict }) =>
      prospectConflicts.note([{ ...conflict, tenantId, at: at(HOUR_MS) }]),
    toStrangers: undefined,
  },
  list: {
    serves: 'callers',
    ask: ({ prospectConflicts }, { tenantId }) =>
      prospectConflicts.list({ tenantId, before: null, max: 100 }),
    toStrangers: [],
  },
  removeOf: {
    serves: 'publisher',
    ask: ({ prospectConflicts }, { tenantId }, { prospect: { prospectId } }) =>
      prospectConflicts.removeOf({ tenantId, prospectId }, 100),
    toStrangers: 0,
  },
} satisfies PortVerbs<'prospectConflicts'>
