import type { Random } from './random.ts'
import { AWKWARD_TEXTS, LISTED } from './rows.ts'
import { idOf } from './setting.ts'
import {
  callsInTurn,
  cursorFrom,
  KEYS,
  type MakeStep,
  manyCalls,
  maybe,
  PAYLOADS,
  prospectFrom,
  RECENT,
  remember,
  type Seen,
  seenOrUnknown,
} from './simulation-calls.ts'

const EMAILS = [
  // Few, so that people share them and come back.
  ...['a@x', 'b@x', 'c@x', 'd@x', 'e@x', 'f@x', LISTED],
  // Written in another way, or with letters that change when they are folded.
  ...[' A@X ', 'A <a@x>', 'mailto:b@x', 'c@x\u200b', 'É@x', 'e\u0301@x', 'İ@x', 'ß@x', 'SS@x'],
  ...['i@münchen.example', 'i@xn--mnchen-3ya.example'],
  // No emails.
  ...['', 'N/A', '[object Object]', '{{a@x}}', 'Berlin'],
  // As long as an email may be, and longer.
  ...[`${'l'.repeat(990)}@x`, `${'long'.repeat(2_500)}@x`],
  ...AWKWARD_TEXTS,
]
const EXTERNAL_IDS = [
  ...['1', ' 1', '0', 'crm 1', 'a@x', 'A@x'],
  // No ids.
  ...[' ', 'N/A', '[object Object]', '*|ID|*'],
  ...AWKWARD_TEXTS.filter((text) => text !== ''),
]
const ATTRIBUTES = [
  ...[
    '{}',
    '{"a":"1"}',
    '{"a":"2","b":2.0}',
    '{"b":null,"c":" "}',
    '{"__proto__":12345678901234567890,"a.b/c":true}',
  ],
  `{${Array.from({ length: 50 }, (_, i) => `"${i}":${i}`)}}`,
]
const NAMES = ['Ada', 'Grace', 'NULL', '\\']
const TIMES = ['1970-01-01T00:00:00.000Z', '2026-01-01T23:00:00.000Z', '2999-12-31T23:59:59.999Z']
export const SOURCES = ['crm', 'shop', 'NULL', '😀']
export const LOG_TYPES = ['webhook', 'form', '"']

/** An identifier that a prospect has or had, as a caller names it. */
const namedFrom = (chance: Random, seen: Seen): { tenantId: string; email?: string; externalId?: string } => {
  const identifiers = chance.onceIn(2) ? seen.identifiers : seen.identifiers.slice(-RECENT * 8)
  if (identifiers.length === 0) return { tenantId: chance.oneOf(seen.tenants), email: emailFrom(chance) }
  const { tenantId, kind, value } = chance.oneOf(identifiers)
  return kind === 'email' ? { tenantId, email: value } : { tenantId, externalId: value }
}

const emailFrom = (chance: Random): string =>
  chance.onceIn(3) ? `p${chance.below(300)}@x` : chance.oneOf(EMAILS)

const externalIdFrom = (chance: Random): string =>
  chance.onceIn(2) ? `x${chance.below(100)}` : chance.oneOf(EXTERNAL_IDS)

const attributesFrom = (chance: Random) =>
  chance.onceIn(3) && {
    attributes: { rawJson: chance.oneOf(ATTRIBUTES) },
    attributesMode: chance.oneOf(['fill', 'overwrite'] as const),
  }

export const logActivities: MakeStep = (chance, seen) =>
  manyCalls('log activities', chance, 'logProspectActivity', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    source: chance.oneOf(SOURCES),
    type: chance.oneOf(LOG_TYPES),
    payload: { rawJson: chance.oneOf(PAYLOADS) },
    email: chance.onceIn(3) ? undefined : emailFrom(chance),
    externalId: chance.onceIn(3) ? externalIdFrom(chance) : undefined,
    name: maybe(chance, () => chance.oneOf(NAMES)),
    // Few enough that some come again, for another request.
    idempotencyKey: chance.onceIn(3) ? `${chance.oneOf(KEYS)}${chance.below(100)}` : undefined,
    occurredAt: chance.onceIn(4) ? chance.oneOf(TIMES) : undefined,
    ...attributesFrom(chance),
    ...(chance.onceIn(4) && prospectFrom(chance, seen)),
  }))

/** People who come back, by what identified them before. */
export const logReturning: MakeStep = (chance, seen) =>
  manyCalls('log returning', chance, 'logProspectActivity', seen, () => ({
    source: chance.oneOf(SOURCES),
    type: chance.oneOf(LOG_TYPES),
    payload: { rawJson: chance.oneOf(PAYLOADS) },
    ...namedFrom(chance, seen),
  }))

export const createProspects: MakeStep = (chance, seen) =>
  manyCalls('create prospects', chance, 'createProspect', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    email: maybe(chance, () => emailFrom(chance)),
    externalId: maybe(chance, () => externalIdFrom(chance)),
    name: maybe(chance, () => chance.oneOf(NAMES)),
    ...attributesFrom(chance),
  }))

export const correctProspects: MakeStep = (chance, seen) =>
  callsInTurn('correct prospects', chance, 'updateProspect', seen, () => ({
    ...prospectFrom(chance, seen),
    email: maybe(chance, () => (chance.onceIn(4) ? null : emailFrom(chance))),
    externalId: maybe(chance, () => (chance.onceIn(4) ? null : externalIdFrom(chance))),
    name: maybe(chance, () => chance.oneOf([null, '', ...NAMES])),
    attributes: maybe(chance, () => ({ rawJson: chance.oneOf(ATTRIBUTES) })),
  }))

/** Takes an identifier that another prospect may have had, or the same one. */
export const takeIdentifiers: MakeStep = (chance, seen) =>
  callsInTurn('take identifiers', chance, 'updateProspect', seen, () => {
    const { prospectId } = prospectFrom(chance, seen)
    return { prospectId, ...namedFrom(chance, seen) }
  })

/** Drops an identifier that a prospect has, had, or never had, or keeps the one that it replaces. */
export const dropIdentifiers: MakeStep = (chance, seen) =>
  callsInTurn('drop identifiers', chance, 'updateProspect', seen, () => {
    const known = chance.onceIn(2) ? seen.identifiers : seen.identifiers.slice(-RECENT * 8)
    const { prospectId } = prospectFrom(chance, seen)
    const { kind, value, ...had } = known.length > 0 ? chance.oneOf(known) : NO_IDENTIFIER
    const key = {
      tenantId: had.tenantId ?? chance.oneOf(seen.tenants),
      prospectId: had.prospectId ?? prospectId,
    }
    const dropped = kind === 'email' ? { forgetEmail: value } : { forgetExternalId: value }
    const replaced = kind === 'email' ? { email: emailFrom(chance) } : { externalId: externalIdFrom(chance) }
    const kept = kind === 'email' ? { keepFormerEmail: true } : { keepFormerExternalId: true }
    return { ...key, ...chance.oneOf([dropped, { ...replaced, ...dropped }, { ...replaced, ...kept }]) }
  })
const NO_IDENTIFIER = { kind: 'email', value: 'a@x', tenantId: undefined, prospectId: undefined } as const

export const mergeProspects: MakeStep = (chance, seen) =>
  callsInTurn('merge prospects', chance, 'mergeProspect', seen, () => {
    const recent = { ...seen, prospects: seen.prospects.slice(-RECENT * 8) }
    // Most of those that are erased are older.
    const prospect = prospectFrom(chance, chance.onceIn(4) ? seen : recent)
    const into = chance.onceIn(8) ? prospect : prospectFrom(chance, recent)
    return { ...prospect, into: into.prospectId }
  })

export const moveMerged: MakeStep = () => ({
  name: 'move merged',
  run: async ({ moveMerged }) => [await moveMerged()],
})

export const claimMerges: MakeStep = () => ({
  name: 'claim merges and die',
  run: ({ claimMerges }) => claimMerges(),
})

export const readProspects: MakeStep = (chance, seen) =>
  manyCalls('read prospects', chance, 'getProspect', seen, () => prospectFrom(chance, seen))

export const listProspects: MakeStep = (chance, seen) =>
  manyCalls('list prospects', chance, 'listProspects', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    email: chance.onceIn(3) ? emailFrom(chance) : undefined,
    externalId: chance.onceIn(4) ? externalIdFrom(chance) : undefined,
    ...cursorFrom(chance, seen, 'list prospects'),
    limit: 1 + chance.below(10),
  }))

export const listConflicts: MakeStep = (chance, seen) =>
  manyCalls('list conflicts', chance, 'listProspectConflicts', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    ...cursorFrom(chance, seen, 'list conflicts'),
    limit: 1 + chance.below(10),
  }))

export const searchProspects: MakeStep = (chance, seen) =>
  manyCalls('search prospects', chance, 'listProspects', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    search: (chance.onceIn(2) ? emailFrom(chance) : 'Ada').slice(0, 1 + chance.below(6)),
    limit: 1 + chance.below(10),
  }))

const filterFrom = (chance: Random) => ({
  source: maybe(chance, () => chance.oneOf(SOURCES)),
  type: chance.onceIn(4) ? chance.oneOf(LOG_TYPES) : undefined,
  since: chance.onceIn(4) ? chance.oneOf(TIMES) : undefined,
  until: chance.onceIn(4) ? chance.oneOf(TIMES) : undefined,
})

export const readLogs: MakeStep = (chance, seen) =>
  manyCalls('read activities', chance, 'getProspectLog', seen, () =>
    seenOrUnknown(chance, seen, seen.logs, {
      ...prospectFrom(chance, seen),
      prospectLogId: idOf('prospectlog', chance.below(10_000)),
    }),
  )

export const listLogs: MakeStep = (chance, seen) =>
  manyCalls('list activities', chance, 'listProspectLogs', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    ...filterFrom(chance),
    idempotencyKey: chance.onceIn(4) ? `${chance.oneOf(KEYS)}${chance.below(100)}` : undefined,
    ...cursorFrom(chance, seen, 'list activities'),
    limit: 1 + chance.below(10),
  }))

export const listTimelines: MakeStep = (chance, seen) =>
  manyCalls('list timelines', chance, 'listTimeline', seen, () => ({
    ...prospectFrom(chance, seen),
    ...filterFrom(chance),
    ...cursorFrom(chance, seen, 'list timelines'),
    limit: 1 + chance.below(3),
  }))

export const requestErasures: MakeStep = (chance, seen) =>
  callsInTurn('request erasures', chance, 'eraseProspect', seen, () => ({
    ...personFrom(chance, seen),
    blockDays: chance.below(3),
  }))

/**
 * Someone whose email was corrected is erased: perhaps after a merge, after another person got the former email, or after
 * that was blocked. Then the person comes back by each of the emails.
 */
export const eraseCorrected: MakeStep = (chance, seen) => {
  const name = 'erase the corrected'
  const tenantId = chance.oneOf(seen.tenants)
  const newEmail = () => `s${chance.below(1e6)}@x`
  const former = newEmail()
  const present = newEmail()
  const other = newEmail()
  const isMerged = chance.onceIn(2)
  const meanwhile = chance.oneOf(['nothing', 'taken', 'blocked'])
  const isKept = chance.onceIn(3)
  const namedBy = chance.oneOf(['id', 'present', 'former'])
  const blockDays = chance.below(3)
  const activity = { tenantId, source: 'crm', type: 'webhook', payload: { rawJson: '{}' } }
  return {
    name,
    run: async ({ calls, refusal }) => {
      const answers: unknown[] = []
      /** Adds the answer, or the refusal. */
      const noted = async <Answer>(call: Promise<Answer>) => {
        const answer = await call.catch(refusal)
        answers.push(answer)
        return answer as Partial<Answer>
      }
      const { value: prospect } = await noted(calls.createProspect({ tenantId, email: former }))
      const prospectId = prospect?.prospectId ?? ''
      await noted(calls.updateProspect({ tenantId, prospectId, email: present, keepFormerEmail: isKept }))
      if (meanwhile === 'taken') await noted(calls.logProspectActivity({ ...activity, email: former }))
      if (meanwhile === 'blocked') await noted(calls.eraseProspect({ tenantId, email: former, blockDays }))
      if (isMerged) {
        const { value: survivor } = await noted(calls.createProspect({ tenantId, email: other }))
        const into = survivor?.prospectId ?? ''
        await noted(calls.mergeProspect({ tenantId, prospectId, into }))
      }
      if (namedBy === 'former') {
        const { value: erasure } = await noted(calls.eraseProspect({ tenantId, blockDays, email: former }))
        // Those who had it are erased only by their ids.
        for (const prospectId of erasure?.formerlyOf ?? [])
          await noted(calls.eraseProspect({ tenantId, blockDays, prospectId }))
      } else {
        const person = namedBy === 'id' ? { prospectId } : { email: present }
        await noted(calls.eraseProspect({ tenantId, blockDays, ...person }))
      }
      for (const email of [former, present, other])
        await noted(calls.logProspectActivity({ ...activity, email }))
      return answers
    },
    learn: (answers) => {
      for (const answer of answers) remember(name, { tenantId }, Object(answer), seen)
    },
  }
}

/** A prospect by its id, by what it has or had, or by anything. */
const personFrom = (chance: Random, seen: Seen) => {
  if (chance.onceIn(2)) return prospectFrom(chance, seen)
  if (chance.onceIn(2)) return namedFrom(chance, seen)
  return { tenantId: chance.oneOf(seen.tenants), ...nameFrom(chance) }
}

const nameFrom = (chance: Random) =>
  chance.onceIn(2) ? { email: emailFrom(chance) } : { externalId: externalIdFrom(chance) }

const erasureFrom = (chance: Random, seen: Seen) =>
  seenOrUnknown(chance, seen, seen.erasures, {
    tenantId: chance.oneOf(seen.tenants),
    erasureId: idOf('erasure', chance.below(10_000)),
  })

export const readErasures: MakeStep = (chance, seen) =>
  manyCalls('read erasures', chance, 'getErasure', seen, () => erasureFrom(chance, seen))

export const unblockErasures: MakeStep = (chance, seen) =>
  callsInTurn('unblock erasures', chance, 'unblockErasure', seen, () => erasureFrom(chance, seen))

export const listErasures: MakeStep = (chance, seen) =>
  manyCalls('list erasures', chance, 'listErasures', seen, () => ({
    tenantId: chance.oneOf(seen.tenants),
    ...cursorFrom(chance, seen, 'list erasures'),
    limit: 1 + chance.below(10),
  }))

export const erase: MakeStep = () => ({ name: 'erase', run: async ({ erase }) => [await erase()] })

export const claimErasures: MakeStep = () => ({
  name: 'claim erasures and die',
  run: ({ claimErasures }) => claimErasures(),
})

/** Logs, events and blocks expire. All events are read before, because each must be seen once. */
export const expire: MakeStep = (chance, seen) => {
  const retentionDays = chance.oneOf([null, 1, 2])
  return {
    name: 'expire',
    run: async ({ number, readFeeds, expire }) => {
      await number(1e6)
      return [await readFeeds(seen.tenants), await expire(retentionDays)]
    },
    learn: ([events]) => void seen.events.push(...(events as typeof seen.events)),
  }
}
