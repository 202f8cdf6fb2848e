import type { ClaimedVersion, NewEvent, PageKey, Settlement, VersionKey } from 'prospect-pages/store'
import type { Random } from './random.ts'
import { AWKWARD_TEXTS, at } from './rows.ts'
import { idOf } from './setting.ts'
import {
  callsInTurn,
  cursorFrom,
  KEYS,
  type MakeStep,
  manyCalls,
  maybe,
  PAYLOADS,
  parentFrom,
  parentOf,
  RECENT,
  type Seen,
} from './simulation-calls.ts'

const NAMES = ['Mine', '', ' ', ...AWKWARD_TEXTS]
const SLUGS = ['a', 'b', 'c', 'd']
const CONTEXTS = ['fail', 'a fine day', ...AWKWARD_TEXTS]
export const createPages: MakeStep = (chance, seen) =>
  manyCalls('create pages', chance, 'createPageWithVersion', seen, () => ({
    ...parentFrom(chance, seen),
    customName: maybe(chance, () => chance.oneOf(NAMES)),
    slug: chance.onceIn(4) ? chance.oneOf(SLUGS) : undefined,
    supplementaryContext: maybe(chance, () => chance.oneOf(CONTEXTS)),
    content: maybe(chance, () => ({ rawJson: chance.oneOf(PAYLOADS) })),
    publish: maybe(chance, () => chance.onceIn(2)),
    publishAt: timeFrom(chance),
    idempotencyKey: chance.onceIn(3) ? `${chance.oneOf(KEYS)}${chance.below(4)}` : undefined,
  }))

export const listGroups: MakeStep = (chance, seen) =>
  manyCalls('list page groups', chance, 'listPageGroups', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    status: chance.oneOf([undefined, undefined, 'active', 'archived', 'deleted'] as const),
    ...cursorFrom(chance, seen, 'list page groups'),
    limit: 1 + chance.below(4),
  }))

export const listPages: MakeStep = (chance, seen) =>
  manyCalls('list pages', chance, 'listPages', seen, () => ({
    ...parentFrom(chance, seen),
    ...cursorFrom(chance, seen, 'list pages'),
    limit: 1 + chance.below(10),
    publishedOnly: chance.onceIn(3),
  }))

export const listPublishedPages: MakeStep = (chance, seen) =>
  manyCalls('list published pages', chance, 'listPublishedPages', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    publishedAfter: chance.onceIn(4) ? timeFrom(chance) : undefined,
    ...cursorFrom(chance, seen, 'list published pages'),
    limit: 1 + chance.below(6),
  }))

export const readPages: MakeStep = (chance, seen) =>
  manyCalls('read pages', chance, 'getPage', seen, () => {
    if (seen.pages.length === 0 || chance.onceIn(8))
      return { ...parentFrom(chance, seen), pageId: idOf('page', chance.below(10_000)) }
    const page = chance.oneOf(seen.pages)
    if (chance.onceIn(6)) return { ...page, pageId: `slug:${chance.oneOf(SLUGS)}` }
    if (chance.onceIn(4)) return { ...page, publishedOnly: true }
    return chance.onceIn(8) ? { ...page, tenantId: chance.oneOf(seen.tenants) } : page
  })

export const createGroups: MakeStep = (chance, seen) =>
  callsInTurn('create page groups', chance, 'createPageGroup', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    name: chance.oneOf(AWKWARD_TEXTS),
    title: chance.oneOf(AWKWARD_TEXTS),
    status: chance.oneOf(['active', 'active', 'archived', 'deleted'] as const),
    actions: { rawJson: `[${chance.oneOf(PAYLOADS)}]` },
    idempotencyKey: keyFrom(chance),
  }))

export const readGroups: MakeStep = (chance, seen) =>
  callsInTurn('read page groups', chance, 'getPageGroup', seen, () => parentFrom(chance, seen))

export const updateGroups: MakeStep = (chance, seen) =>
  callsInTurn('change page groups', chance, 'updatePageGroup', seen, () => ({
    ...chance.oneOf(
      chance.onceIn(4) ? seen.groups : [...seen.groups, ...seen.pages].slice(-RECENT).map(parentOf),
    ),
    ...ifRevision(chance),
    status: chance.oneOf([
      'active',
      'active',
      'active',
      'archived',
      'archived',
      'archived',
      'deleted',
    ] as const),
    title: chance.oneOf(AWKWARD_TEXTS),
  }))

const pageFrom = (chance: Random, seen: Seen): PageKey => {
  if (seen.pages.length === 0 || chance.onceIn(10))
    return { ...parentFrom(chance, seen), pageId: idOf('page', chance.below(10_000)) }
  const page = chance.oneOf(seen.pages.slice(-RECENT))
  return chance.onceIn(20) ? { ...page, tenantId: chance.oneOf(seen.tenants) } : page
}
const versionFrom = (chance: Random, seen: Seen): VersionKey => {
  const version = chance.onceIn(10) ? undefined : seen.versions.at(-1 - chance.below(4 * RECENT))
  return version ?? { ...pageFrom(chance, seen), versionId: idOf('pageversion', chance.below(10_000)) }
}
const ifRevision = (chance: Random): { ifRevision?: readonly number[] } =>
  chance.onceIn(6) ? { ifRevision: [1, 2].map(() => 1 + chance.below(8)) } : {}
/** Now and then a time, which may be past. Some lie behind all waits of a long simulation. */
const timeFrom = (chance: Random): string | undefined =>
  chance.onceIn(3) ? at(chance.below(chance.oneOf([40, 360]) * 86_400_000)) : undefined
const keyFrom = (chance: Random, keys = KEYS): string | undefined => maybe(chance, () => chance.oneOf(keys))

export const renamePages: MakeStep = (chance, seen) =>
  callsInTurn('rename pages', chance, 'updatePage', seen, () => ({
    ...pageFrom(chance, seen),
    ...ifRevision(chance),
    customName: chance.oneOf([null, undefined, ...NAMES]),
    slug: chance.onceIn(3) ? chance.oneOf([null, ...SLUGS]) : undefined,
    unpublishAt: chance.onceIn(4) ? null : timeFrom(chance),
  }))

export const deletePages: MakeStep = (chance, seen) =>
  callsInTurn('delete pages', chance, 'deletePage', seen, () => ({
    ...pageFrom(chance, seen),
    ...ifRevision(chance),
  }))

export const createVersions: MakeStep = (chance, seen) =>
  callsInTurn('create versions', chance, 'createVersion', seen, () => ({
    ...pageFrom(chance, seen),
    supplementaryContext: maybe(chance, () => chance.oneOf([null, ...CONTEXTS])),
    content: maybe(chance, () => chance.oneOf([null, { rawJson: chance.oneOf(PAYLOADS) }])),
    publish: chance.onceIn(2),
    publishAt: timeFrom(chance),
    idempotencyKey: keyFrom(chance, KEYS.slice(0, 1)),
  }))

export const publishVersions: MakeStep = (chance, seen) =>
  callsInTurn('publish versions', chance, 'publishVersion', seen, () => ({
    ...versionFrom(chance, seen),
    ...ifRevision(chance),
    publishAt: timeFrom(chance),
    unpublishAt: timeFrom(chance),
  }))

export const unscheduleVersions: MakeStep = (chance, seen) =>
  callsInTurn('unschedule versions', chance, 'unscheduleVersion', seen, () => versionFrom(chance, seen))

export const runSchedules: MakeStep = () => ({
  name: 'run schedules',
  run: async ({ runSchedules }) => [await runSchedules()],
})

export const deleteGroups: MakeStep = (chance, seen) =>
  callsInTurn('delete page groups', chance, 'deletePageGroup', seen, () => ({
    ...chance.oneOf([...seen.groups, ...seen.pages].slice(-RECENT).map(parentOf)),
    ...ifRevision(chance),
  }))

export const unpublishDeleted: MakeStep = () => ({
  name: 'unpublish deleted',
  run: async ({ unpublishDeleted }) => [await unpublishDeleted()],
})

export const unpublishPages: MakeStep = (chance, seen) =>
  callsInTurn('unpublish pages', chance, 'unpublishPage', seen, () => ({
    ...pageFrom(chance, seen),
    ...ifRevision(chance),
  }))

export const listVersions: MakeStep = (chance, seen) =>
  manyCalls('list versions', chance, 'listVersions', seen, () => ({
    ...pageFrom(chance, seen),
    ...cursorFrom(chance, seen, 'list versions'),
    limit: 1 + chance.below(3),
  }))

export const readVersions: MakeStep = (chance, seen) =>
  manyCalls('read versions', chance, 'getVersion', seen, () => versionFrom(chance, seen))

export const publish: MakeStep = () => ({
  name: 'publish',
  run: async ({ publish }) => [await publish()],
})

export const claimVersions: MakeStep = (_chance, seen) => ({
  name: 'claim versions and die',
  run: ({ claimVersions }) => claimVersions(),
  learn: (claimed) => void seen.versionsClaimed.push(...(claimed as ClaimedVersion[])),
})

/** A publisher comes back late, when others may have claimed or published its version. */
export const settleVersionsLate: MakeStep = (chance, seen) => {
  const claimed = seen.versionsClaimed.at(-1 - chance.below(10))
  const status = chance.oneOf(['ready', 'published', 'failed', 'processing'] as const)
  const also = { reason: 'late', computedName: chance.oneOf([null, 'Late']), counts: chance.onceIn(2) }
  return {
    name: 'settle versions late',
    run: async ({ store: { versions }, newId, now }) => {
      if (claimed === undefined) return []
      const { tenantId, pageGroupId, pageId, versionId, attempt } = claimed
      const settlement: Settlement = {
        pageId,
        versionId,
        attempt,
        ...also,
        at: now(),
        claimableAt: now(),
        status,
      }
      const event: NewEvent = {
        tenantId,
        eventId: newId('event'),
        type: 'page_version.failed',
        apiKeyId: null,
        ids: { pageGroupId, pageId, versionId },
        createdAt: now(),
      }
      return versions.settle(tenantId, [settlement], status === 'processing' ? [] : [event])
    },
  }
}
