import { at, keyFields, newId, somePage, someVersion } from '../rows.ts'
import { type PortVerbs, SLICE } from './verb.ts'

export const pages = {
  recall: {
    serves: 'callers',
    ask: ({ pages }, { tenantId }, { page: { pageGroupId, idempotencyKey, slug } }) =>
      pages.recall({
        tenantId,
        pageGroupId,
        idempotencyKey: String(idempotencyKey),
        slug: String(slug),
        wasOvertaken: false,
      }),
    toStrangers: { group: null, page: null, slugOwnerId: null },
  },
  record: {
    serves: 'callers',
    ask: ({ pages }, { tenantId }, { group }) => pages.record(somePage({ ...group, tenantId })),
    toStrangers: 'overtaken',
  },
  list: {
    serves: 'callers',
    ask: ({ pages }, { tenantId }, { group: { pageGroupId } }) =>
      pages.list({ tenantId, pageGroupId, ...SLICE }),
    toStrangers: null,
  },
  listPublished: {
    serves: 'callers',
    ask: ({ pages }, { tenantId }) =>
      pages.listPublished({ tenantId, publishedAfter: null, before: null, limit: 100 }),
    toStrangers: [],
  },
  find: {
    serves: 'callers',
    ask: ({ pages }, { tenantId }, { page: { pageGroupId, pageId } }) =>
      pages.find({ tenantId, pageGroupId, pageId }),
    toStrangers: 'page_group_not_found',
  },
  findSlug: {
    serves: 'callers',
    ask: ({ pages }, { tenantId }, { page: { pageGroupId, slug } }) =>
      pages.findSlug({ tenantId, pageGroupId, slug: String(slug) }),
    toStrangers: null,
  },
  change: {
    serves: 'callers',
    ask: ({ pages }, { tenantId }, { page }) => {
      const { pageGroupId, pageId, versionId, computedName } = page
      return pages.change({
        tenantId,
        pageGroupId,
        pageId,
        computedName,
        slug: null,
        customName: 'Theirs',
        revision: 2,
        publishedVersionId: versionId,
        automaticAfter: null,
        unpublishAt: at(9),
        updatedAt: at(9),
        added: someVersion(keyFields('two')),
        dropped: null,
        publishes: true,
        schedule: {
          versionId: newId('pageversion'),
          publishAt: at(9),
          unpublishAt: null,
          scheduleNote: null,
        },
      })
    },
    toStrangers: 'overtaken',
  },
  remove: {
    serves: 'callers',
    ask: ({ pages }, { tenantId }, { page: { pageGroupId, pageId } }) =>
      pages.remove({ tenantId, pageGroupId, pageId, revision: 2 }),
    toStrangers: 'overtaken',
  },
} satisfies PortVerbs<'pages'>
