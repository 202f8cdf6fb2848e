import type { Random } from './random.ts'
import type { MakeStep, Seen, Step } from './simulation-calls.ts'
import * as pages from './simulation-pages.ts'
import * as people from './simulation-people.ts'
import * as tenants from './simulation-tenants.ts'
import * as webhooks from './simulation-webhooks.ts'

/** Which step comes next. */

const wait: MakeStep = (chance) => {
  const ms = chance.oneOf([1, 999, 1_000, 5_000, 20_000, 60_000, 61_000, 4_200_000, 90_000_000])
  return { name: 'wait', run: async ({ clock }) => [clock.advance(ms)] }
}

/** How often each step comes, among all of them. */
const SHARES: readonly (readonly [share: number, step: MakeStep])[] = [
  [26, people.logActivities],
  [5, people.logReturning],
  [4, people.createProspects],
  [6, people.correctProspects],
  [3, people.takeIdentifiers],
  [3, people.dropIdentifiers],
  [4, people.mergeProspects],
  [4, people.moveMerged],
  [1, people.claimMerges],
  [3, people.readProspects],
  [2, people.listProspects],
  [2, people.listConflicts],
  [2, people.searchProspects],
  [2, people.readLogs],
  [3, people.listLogs],
  [3, people.listTimelines],
  [4, people.requestErasures],
  [2, people.eraseCorrected],
  [2, people.readErasures],
  [2, people.listErasures],
  [1, people.unblockErasures],
  [5, people.erase],
  [2, people.claimErasures],
  [2, people.expire],
  [2, tenants.operate],
  [4, tenants.useCounts],
  [4, tenants.indexPeople],
  [1, tenants.useKeys],
  [2, tenants.useHooks],
  [18, pages.createPages],
  [8, pages.listGroups],
  [8, pages.listPages],
  [4, pages.listPublishedPages],
  [8, pages.readPages],
  [6, pages.publish],
  [3, pages.claimVersions],
  [3, pages.settleVersionsLate],
  [3, pages.createGroups],
  [2, pages.readGroups],
  [6, pages.updateGroups],
  [3, pages.renamePages],
  [2, pages.deletePages],
  [14, pages.createVersions],
  [10, pages.publishVersions],
  [2, pages.unpublishPages],
  [4, pages.unscheduleVersions],
  [6, pages.runSchedules],
  [1, pages.deleteGroups],
  [3, pages.unpublishDeleted],
  [3, pages.listVersions],
  [3, pages.readVersions],
  [6, webhooks.numberEvents],
  [2, webhooks.readFeeds],
  [3, webhooks.listEvents],
  [2, webhooks.readEvents],
  [1, webhooks.createEndpoints],
  [3, webhooks.changeEndpoints],
  [1, webhooks.deleteEndpoints],
  [2, webhooks.rotateSecrets],
  [1, webhooks.readEndpoints],
  [1, webhooks.listEndpoints],
  [2, webhooks.disableEndpoint],
  [4, webhooks.deliver],
  [3, webhooks.claimEndpoints],
  [4, webhooks.settleLate],
  [2, webhooks.listDeliveries],
  [2, webhooks.readDeliveries],
  [3, webhooks.retryDeliveries],
  [3, webhooks.replayDeliveries],
  [8, wait],
]
const STEPS_BY_SHARE = SHARES.flatMap(([share, step]) => Array<MakeStep>(share).fill(step))

const TOWARDS_SCHEDULES = [
  ...['create page groups', 'create pages', 'create versions', 'publish'],
  ...['delete pages', 'change page groups', 'wait', 'run schedules'],
]
/**
 * Rare outcomes and verbs, and the steps that lead to them: a page that has a schedule must be deleted before the schedule
 * is due, two people must be merged before the merge is claimed, someone who is being erased must be erased once more, and
 * the events after a cursor must be deleted before it is used again.
 */
const STEPS_TOWARDS: Readonly<Record<string, readonly string[]>> = {
  'schedules.due': TOWARDS_SCHEDULES,
  'schedules.end': TOWARDS_SCHEDULES,
  'claim merges and die: answered': ['create prospects', 'merge prospects'],
  'list events: cursor_expired': ['number events', 'wait', 'expire'],
  'erasures.extend': ['request erasures'],
  'erasures.unblock': ['request erasures', 'unblock erasures'],
}

/** A step by chance. If outcomes or verbs are still missing, mostly one that may bring them. */
export const nextStep = (chance: Random, seen: Seen, missing: readonly string[]): Step => {
  for (;;) {
    const step = chance.oneOf(STEPS_BY_SHARE)(chance, seen)
    const isWanted = missing.length === 0 || missing.some((outcome) => leadsTo(outcome, step))
    if (isWanted || chance.onceIn(STEPS_BY_SHARE.length)) return step
  }
}

const leadsTo = (outcome: string, step: Step): boolean =>
  outcome.startsWith(`${step.name}:`) || STEPS_TOWARDS[outcome]?.includes(step.name) === true
