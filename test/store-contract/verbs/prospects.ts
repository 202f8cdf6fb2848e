import type { NewIdentifier } from 'prospect-pages/store'
import { correctionOf } from '../people.ts'
import { at, foundProspect, identifiersOf, readEach } from '../rows.ts'
import { NOTHING, type PortVerbs, SLICE } from './verb.ts'

export const prospects = {
  find: {
    serves: 'callers',
    ask: ({ prospects }, { tenantId }, { prospect: { prospectId } }) =>
      prospects.find({ tenantId, prospectId }),
    toStrangers: null,
  },
  list: {
    serves: 'callers',
    ask: ({ prospects }, { tenantId }, { prospect }) => {
      const identifiers = [null, ...identifiersOf(prospect)]
      return readEach(
        prospects.list,
        identifiers.map((identifier) => ({ tenantId, identifier, ...SLICE })),
      )
    },
    toStrangers: [NOTHING, NOTHING, NOTHING],
  },
  search: {
    serves: 'callers',
    ask: ({ prospects }, { tenantId }, { prospect: { email } }) =>
      prospects.search({ tenantId, emailStart: email ?? '', nameStart: '', limit: 100 }),
    toStrangers: [],
  },
  listOldest: {
    serves: 'commands',
    ask: ({ prospects }, { tenantId }) => prospects.listOldest({ tenantId, afterId: '', limit: 100 }),
    toStrangers: [],
  },
  findWithMerged: {
    serves: 'callers',
    ask: ({ prospects }, { tenantId }, { prospect: { prospectId } }) =>
      prospects.findWithMerged({ tenantId, prospectId }),
    toStrangers: [],
  },
  identifiers: {
    serves: 'callers',
    ask: ({ prospects }, { tenantId }, { prospect: { prospectId } }) =>
      prospects.identifiers({ tenantId, prospectId }),
    toStrangers: [],
  },
  formerOwners: {
    serves: 'callers',
    ask: async ({ prospects }, { tenantId }, { prospect }) => {
      const [identifier] = identifiersOf(prospect) as [NewIdentifier]
      return prospects.formerOwners({ ...identifier, tenantId, limit: 20 })
    },
    toStrangers: [],
  },
  correct: {
    serves: 'callers',
    ask: ({ prospects }, { tenantId }, { prospect }) => {
      const before = { ...foundProspect(prospect), tenantId }
      const values = { email: 'theirs@example.com', name: 'Theirs', updatedAt: at(9) }
      return prospects.correct(correctionOf(before, values))
    },
    toStrangers: 'overtaken',
  },
} satisfies PortVerbs<'prospects'>
