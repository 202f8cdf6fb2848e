import { at } from '../rows.ts'
import { type PortVerbs, SHORT_CLAIM, SLICE } from './verb.ts'

export const versions = {
  list: {
    serves: 'callers',
    ask: ({ versions }, { tenantId }, { page: { pageGroupId, pageId } }) =>
      versions.list({ tenantId, pageGroupId, pageId, ...SLICE }),
    toStrangers: [],
  },
  find: {
    serves: 'callers',
    ask: ({ versions }, { tenantId }, { page: { pageGroupId, pageId, versionId } }) =>
      versions.find({ tenantId, pageGroupId, pageId, versionId }),
    toStrangers: null,
  },
  tally: {
    serves: 'callers',
    ask: ({ versions }, { tenantId }, { page: { pageGroupId, pageId } }) =>
      versions.tally({ tenantId, pageGroupId, pageId }),
    toStrangers: { count: 0, oldestSpare: null },
  },
  findByKey: {
    serves: 'callers',
    ask: ({ versions }, { tenantId }, { page: { pageGroupId, pageId } }) =>
      versions.findByKey({ tenantId, pageGroupId, pageId, idempotencyKey: 'one' }),
    toStrangers: null,
  },
  claim: {
    serves: 'publisher',
    ask: ({ versions }) => versions.claim(SHORT_CLAIM),
    noTenant: 'the publisher works for all tenants in turn; each claim names its tenant',
  },
  context: {
    serves: 'publisher',
    ask: ({ versions }, { tenantId }, { page }) => versions.context({ ...page, tenantId }),
    toStrangers: null,
  },
  settle: {
    serves: 'publisher',
    ask: ({ versions }, { tenantId }, { page: { pageId, versionId }, attempt }) => {
      const published = { status: 'published', at: at(4), computedName: 'Theirs' } as const
      return versions.settle(tenantId, [{ pageId, versionId, attempt, ...published }])
    },
    toStrangers: [],
  },
  backlog: {
    serves: 'publisher',
    ask: ({ versions }) => versions.backlog(100),
    noTenant: 'it counts for the metrics',
  },
} satisfies PortVerbs<'versions'>
