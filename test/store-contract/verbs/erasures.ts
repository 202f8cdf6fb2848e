import { erasureChangesOf } from '../people.ts'
import { at, foundProspect, newId, someErasure } from '../rows.ts'
import { type PortVerbs, SHORT_CLAIM, SLICE } from './verb.ts'

export const erasures = {
  find: {
    serves: 'callers',
    ask: ({ erasures }, { tenantId }, { erasure }) =>
      erasures.find({ tenantId, erasureId: erasure.erasureId }),
    toStrangers: null,
  },
  blockedBy: {
    serves: 'publisher',
    ask: ({ erasures }, { tenantId }, { erasure: { erasureId } }) =>
      erasures.blockedBy(tenantId, [erasureId]),
    toStrangers: [],
  },
  list: {
    serves: 'callers',
    ask: ({ erasures }, { tenantId }) => erasures.list({ tenantId, ...SLICE }),
    toStrangers: [],
  },
  record: {
    serves: 'callers',
    ask: ({ erasures }, { tenantId }, { prospect }) => {
      const erased = { ...foundProspect(prospect), tenantId }
      const erasure = someErasure(tenantId, { prospectId: prospect.prospectId })
      return erasures.record(erasureChangesOf([erased], erasure))
    },
    toStrangers: 'overtaken',
  },
  claim: {
    serves: 'publisher',
    ask: ({ erasures }) => erasures.claim(SHORT_CLAIM),
    noTenant: 'the eraser works for all tenants in turn; each claim names its tenant',
  },
  deleteLogs: {
    serves: 'publisher',
    ask: ({ erasures }, { tenantId }, { erasure, prospect: { prospectId } }) =>
      erasures.deleteLogs({ ...erasure, tenantId, prospectId }, 10),
    toStrangers: 0,
  },
  namesAfter: {
    serves: 'publisher',
    ask: ({ erasures }, { tenantId }) => erasures.namesAfter(tenantId, '', 10),
    toStrangers: [],
  },
  settle: {
    serves: 'publisher',
    ask: async ({ erasures }, { tenantId }, { erasure, log }) => {
      const secondPass = { ...erasure, tenantId, pass: 2, position: '', claimableAt: at(0) } as const
      const logsWithNames = [log.prospectLogId]
      await erasures.settle(tenantId, [secondPass], logsWithNames)
      return erasures.settle(tenantId, [{ ...secondPass, status: 'completed', completedAt: at(3) }])
    },
    toStrangers: undefined,
  },
  purgeDeleted: {
    serves: 'publisher',
    ask: ({ erasures }) => erasures.purgeDeleted(at(0)),
    noTenant: 'it concerns what the rows of all tenants left on disk',
  },
  extend: {
    serves: 'callers',
    ask: ({ erasures }, { tenantId }, { erasure: { erasureId } }) =>
      erasures.extend({ tenantId, erasureId }, at(99)),
    toStrangers: undefined,
  },
  unblock: {
    serves: 'callers',
    ask: ({ erasures }, { tenantId }, { erasure: { erasureId } }) =>
      erasures.unblock({ tenantId, erasureId }, at(1)),
    toStrangers: undefined,
  },
  backlog: {
    serves: 'publisher',
    ask: ({ erasures }) => erasures.backlog(100),
    noTenant: 'it counts for the metrics',
  },
  expire: {
    serves: 'callers',
    ask: ({ erasures }, { tenantId }) =>
      erasures.expire({ tenantId, now: at(5), beforeLogId: newId('prospectlog'), max: 1 }),
    toStrangers: false,
  },
  lastServed: {
    serves: 'publisher',
    ask: ({ erasures }) => erasures.lastServed(),
    noTenant: 'it concerns the clock of the whole database',
  },
  saveClock: {
    serves: 'publisher',
    ask: ({ erasures }) => erasures.saveClock({ servedAt: at(0), pausedAt: null }),
    noTenant: 'it concerns the clock of the whole database',
  },
} satisfies PortVerbs<'erasures'>
