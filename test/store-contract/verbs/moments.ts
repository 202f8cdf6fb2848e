import type { PortVerbs } from './verb.ts'

export const moments = {
  now: {
    serves: 'publisher',
    ask: ({ moments }) => moments.now(),
    noTenant: 'it concerns the writes of all tenants',
  },
  arePast: {
    serves: 'publisher',
    ask: async ({ moments }) => moments.arePast([await moments.now()]),
    noTenant: 'it concerns the writes of all tenants',
  },
} satisfies PortVerbs<'moments'>
