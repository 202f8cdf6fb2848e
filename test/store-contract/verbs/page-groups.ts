import type { PageGroupsQuery } from 'prospect-pages/store'
import { keyFields, readEach, someEvent, someGroup } from '../rows.ts'
import { type PortVerbs, SLICE } from './verb.ts'

const STATUSES: readonly PageGroupsQuery['status'][] = [null, 'active', 'archived', 'deleted']

export const pageGroups = {
  list: {
    serves: 'callers',
    ask: ({ pageGroups }, { tenantId }) =>
      readEach(
        pageGroups.list,
        STATUSES.map((status) => ({ tenantId, status, ...SLICE })),
      ),
    toStrangers: STATUSES.map(() => []),
  },
  find: {
    serves: 'callers',
    ask: async ({ pageGroups }, { tenantId }, { group: { pageGroupId, idempotencyKey } }) => [
      await pageGroups.find({ tenantId, pageGroupId }),
      await pageGroups.find({ tenantId, idempotencyKey: String(idempotencyKey) }),
    ],
    toStrangers: [null, null],
  },
  add: {
    serves: 'callers',
    ask: ({ pageGroups }, as, { group: { idempotencyKey } }) =>
      pageGroups.add(someGroup(as, keyFields(String(idempotencyKey)))),
    toStrangers: 'recorded',
  },
  change: {
    serves: 'callers',
    ask: ({ pageGroups }, as, { group }) =>
      pageGroups.change({ ...group, ...as, title: 'Theirs' }, group.updatedAt, undefined, [
        someEvent(as.tenantId),
      ]),
    toStrangers: 'overtaken',
  },
} satisfies PortVerbs<'pageGroups'>
