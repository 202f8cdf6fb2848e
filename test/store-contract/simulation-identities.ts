import type { FoundProspect, Identifier, NewIdentifier, Store } from 'prospect-pages/store'
import { ok, same } from './assertions.ts'
import { identifiersNow } from './rows.ts'

/** Cases of an erasure that must occur for the simulation to prove anything. */
export const ERASURE_CASES = {
  former: 'erase the corrected: of one with former identifiers',
  formerOfMerged: 'erase the corrected: of one into which one with former identifiers was merged',
  stays: 'erase the corrected: of one whose former identifier leads to another one',
  again: 'erase the corrected: of one whose former identifier was blocked already',
  kept: 'erase the corrected: of one who kept a former identifier',
} as const

/** What a prospect had: an identifier that was added to it, or to one that was merged into it. */
type Had = { readonly identifier: NewIdentifier; readonly isOfMerged: boolean }

/**
 * A store that notes every identifier that a prospect ever had, apart from how the store does it. After each erasure, all
 * of them must be blocked, except for those that lead to another person, and nothing else.
 */
export const identities = (store: Store) => {
  /** By tenant and prospect, then by kind and hash. */
  const had = new Map<string, Map<string, Had>>()
  const added: NewIdentifier[] = []
  const cases = new Set<string>()
  const hadBy = ({ tenantId, prospectId }: { readonly tenantId: string; readonly prospectId: string }) => {
    const key = `${tenantId} ${prospectId}`
    const known = had.get(key) ?? new Map<string, Had>()
    had.set(key, known)
    return known
  }
  const note = (identifier: NewIdentifier) => {
    hadBy(identifier).set(nameOf(identifier), { identifier, isOfMerged: false })
    added.push(identifier)
  }
  const recallOf = async (identifiers: readonly Identifier[]) => {
    const found = await identifiersNow(store.activities, identifiers)
    return new Map(found.map((identifier) => [nameOf(identifier), identifier]))
  }

  const record: Store['activities']['record'] = async (change, events) => {
    const outcome = await store.activities.record(change, events)
    if (outcome === 'recorded') change.identifiers.forEach(note)
    return outcome
  }
  const correct: Store['prospects']['correct'] = async (correction, events) => {
    const outcome = await store.prospects.correct(correction, events)
    if (outcome !== 'recorded') return outcome
    correction.added.forEach(note)
    for (const identifier of correction.forgotten) hadBy(identifier).delete(nameOf(identifier))
    return outcome
  }
  const merge: Store['merges']['record'] = async (changes, events) => {
    const outcome = await store.merges.record(changes, events)
    const { merged, survivor } = changes
    if (outcome === 'recorded')
      for (const [name, { identifier }] of hadBy(merged.before))
        if (!hadBy(survivor.before).has(name))
          hadBy(survivor.before).set(name, { identifier, isOfMerged: true })
    return outcome
  }
  const erase: Store['erasures']['record'] = async (changes, events) => {
    const [person] = changes.prospects
    const all = person === undefined ? [] : [...hadBy(person).values()]
    const before = await recallOf(all.map(({ identifier }) => identifier))
    const outcome = await store.erasures.record(changes, events)
    if (outcome !== 'recorded' || person === undefined) return outcome
    const after = await recallOf(all.map(({ identifier }) => identifier))
    const erasureId = changes.erasures[0]?.erasureId ?? ''
    const owners = new Set<string>()
    for (const { identifier, isOfMerged } of all) {
      const name = nameOf(identifier)
      const was = before.get(name)
      const is = after.get(name)
      ok(is, `${name} of an erased person is neither blocked nor of another one`)
      // It is a placeholder of the tenant.
      if (is.prospectId === null && is.blockedUntil === null) continue
      const isFormer = was?.prospectId !== person.prospectId
      if (!isFormer && !isOfMerged && person[identifier.kind] !== identifier.value)
        cases.add(ERASURE_CASES.kept)
      if (isFormer) cases.add(isOfMerged ? ERASURE_CASES.formerOfMerged : ERASURE_CASES.former)
      if (is.prospectId !== null) {
        cases.add(ERASURE_CASES.stays)
        same(was?.prospectId, is.prospectId)
        ok(!changes.prospects.some(({ prospectId }) => prospectId === is.prospectId))
        const owner = await store.prospects.find({ ...identifier, prospectId: is.prospectId })
        ok(owner && isLiving(owner), `${name} leads to one who is gone`)
        owners.add(is.prospectId)
        continue
      }
      if (was?.erasureId) cases.add(ERASURE_CASES.again)
      same(is.erasureId, erasureId)
      ok(String(is.blockedUntil) >= changes.until, `${name} is not blocked long enough`)
    }
    const { tenantId } = changes
    const erasure = await store.erasures.find({ tenantId, erasureId })
    same(erasure?.stillLeadsTo, [...owners].sort().reverse().slice(0, 20))
    const names = new Set(all.map(({ identifier }) => nameOf(identifier)))
    for (const blocked of await store.erasures.blockedBy(tenantId, [erasureId]))
      ok(names.has(nameOf(blocked)), `${nameOf(blocked)} was blocked, but the person never had it`)
    return outcome
  }
  return {
    store: {
      ...store,
      activities: { ...store.activities, record },
      prospects: { ...store.prospects, correct },
      merges: { ...store.merges, record: merge },
      erasures: { ...store.erasures, record: erase },
    },
    added,
    cases,
  }
}

const nameOf = ({ tenantId, kind, hash }: Identifier) => `${tenantId} ${kind} ${hash}`
const isLiving = ({ erasedAt, mergedInto }: FoundProspect) => erasedAt === null && mergedInto === null
