import { mergeChangesOf } from '../people.ts'
import { at, foundProspect } from '../rows.ts'
import { type PortVerbs, SHORT_CLAIM } from './verb.ts'

export const merges = {
  record: {
    serves: 'callers',
    ask: ({ merges }, { tenantId }, { prospect, survivor }) => {
      const merged = { ...foundProspect(prospect), tenantId }
      const into = { ...foundProspect(survivor), tenantId }
      return merges.record(mergeChangesOf(merged, into))
    },
    toStrangers: 'overtaken',
  },
  claim: {
    serves: 'publisher',
    ask: ({ merges }) => merges.claim(SHORT_CLAIM),
    noTenant: 'the worker moves logs of all tenants in turn; each claim names its tenant',
  },
  moveLogs: {
    serves: 'publisher',
    ask: ({ merges }, { tenantId }, { merge }) => merges.moveLogs({ ...merge, tenantId }, 10),
    toStrangers: 0,
  },
  completed: {
    serves: 'publisher',
    ask: ({ merges }, { tenantId }) => merges.completed({ tenantId, afterId: '', limit: 10 }),
    toStrangers: [],
  },
  settle: {
    serves: 'publisher',
    ask: ({ merges }, { tenantId }, { merge }) =>
      merges.settle({ ...merge, tenantId, claimableAt: at(0), completedAt: at(0) }),
    toStrangers: 'overtaken',
  },
  backlog: {
    serves: 'publisher',
    ask: ({ merges }) => merges.backlog(100),
    noTenant: 'it counts for the metrics',
  },
} satisfies PortVerbs<'merges'>
