import { at, identifiersOf } from '../rows.ts'
import type { PortVerbs } from './verb.ts'

export const placeholders = {
  list: {
    serves: 'commands',
    ask: ({ placeholders }, { tenantId }) => placeholders.list(tenantId),
    toStrangers: [],
  },
  add: {
    serves: 'commands',
    ask: ({ placeholders }, { tenantId }, { prospect }) => {
      const { prospectId, updatedAt } = prospect
      const [entry] = identifiersOf({ ...prospect, tenantId, externalId: null })
      const { kind, hash, value } = entry ?? { hash: '', value: '' }
      const joined = { prospectId, updatedAt, changesAt: at(9) }
      return placeholders.add(
        { tenantId, kind: kind === 'email' ? kind : 'emailDomain', hash, value },
        joined,
        at(0),
      )
    },
    toStrangers: 'overtaken',
  },
  remove: {
    serves: 'commands',
    ask: ({ placeholders }, { tenantId }, { placeholder }) =>
      placeholders.remove({ ...placeholder, tenantId }),
    toStrangers: false,
  },
  releaseSome: {
    serves: 'commands',
    ask: ({ placeholders }, { tenantId }) =>
      placeholders.releaseSome({ tenantId, domain: 'example.com', afterHash: '', max: 10, now: at(9) }),
    toStrangers: { prospectIds: [], lastHash: null },
  },
} satisfies PortVerbs<'placeholders'>
