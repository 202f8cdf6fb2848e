import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import { sha256 } from '../engine/keys.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import type { KnownActivity } from '../ports/activities.ts'
import type { Joined, Placeholder } from '../ports/placeholders.ts'
import type { Needs } from '../ports/store.ts'
import type { Tenant } from '../ports/tenants.ts'
import type { Timestamp } from '../ports/world.ts'
import { domainOf, normalizedTexts } from '../prospects/identifiers.ts'
import { unknownTenant } from './create-tenant.ts'

/** Entries of a tenant. */
const PLACEHOLDERS_MAX = 1_000
/** Emails that are read at once. */
const EMAILS_MAX = 1_000
const JOINED_SHOWN_MAX = 100

type Deps = Pick<Needs<'tenants' | 'activities' | 'placeholders'>, 'store' | 'clock'>
/** `values`: emails, and domains such as `@example.com`. */
export type PlaceholderChanges = { readonly values: readonly string[]; readonly isRemoved: boolean }
/** A tenant with its placeholders, and the people whom these emails led to until now: the first hundred. */
export type TenantWithPlaceholders = Tenant & {
  readonly identifiesNobody: readonly string[]
  readonly joined?: readonly string[]
}

/**
 * Adds emails and domains that identify no one in a tenant, or removes them. From then on they count as placeholders. People
 * that such an email has led to stay as they are, with their activities, and are named; the email no longer leads to them.
 *
 * Refuses `not_found`; and `invalid_request`: a value that is no email and no domain or is not in the list, an email that is
 * blocked after an erasure, and more than 1,000 entries.
 */
export const updatePlaceholders =
  ({ store, clock }: Deps) =>
  async (tenantId: string, { values, isRemoved }: PlaceholderChanges): Promise<TenantWithPlaceholders> => {
    const tenant = (await store.tenants.find(tenantId)) ?? unknownTenant()
    if (tenant.deletedAt !== null) unknownTenant()
    const entries = values.map((value) => entryOf(tenantId, value))
    const known = (await store.placeholders.list(tenantId)).map(shown)
    const joined = new Set<string>()
    if (isRemoved) {
      const unlisted = entries.map(shown).find((value) => !known.includes(value))
      if (unlisted !== undefined) refuse('invalid_request', `${unlisted} is not listed.`)
      for (const entry of entries) await store.placeholders.remove(entry)
    } else {
      if (new Set([...known, ...entries.map(shown)]).size > PLACEHOLDERS_MAX)
        refuse('invalid_request', `At most ${PLACEHOLDERS_MAX} values identify no one in a tenant.`)
      for (const entry of entries) {
        const prospectIds = await addPlaceholder({ store, clock }, entry)
        for (const prospectId of prospectIds) joined.add(prospectId)
      }
    }
    const identifiesNobody = (await store.placeholders.list(tenantId)).map(shown).sort()
    const named = { ...tenant, identifiesNobody }
    return isRemoved ? named : { ...named, joined: [...joined].slice(0, JOINED_SHOWN_MAX) }
  }

/** Adds an entry, and returns the ids of the prospects that it led to. */
const addPlaceholder = async ({ store, clock }: Deps, entry: Placeholder): Promise<readonly string[]> => {
  const { tenantId, kind, hash } = entry
  const now = isoTime(clock())
  const identifiers = kind === 'email' ? [{ tenantId, kind, hash }] : []
  const joined = await decideAndSave({
    recall: () => store.activities.recall({ tenantId, identifiers }),
    decide: (known) => {
      refuseBlocked(known, entry, now)
      const joined = joinedIn(known, now)
      return { answer: joined, change: { joined } }
    },
    record: ({ joined }) => store.placeholders.add(entry, joined, now),
  })
  if (kind === 'emailDomain') return releaseDomain({ store, clock }, entry)
  return joined === null ? [] : [joined.prospectId]
}

const refuseBlocked = ({ identifiers }: KnownActivity, entry: Placeholder, now: Timestamp): void => {
  const blockedUntil = identifiers.find((identifier) => (identifier.blockedUntil ?? '') > now)?.blockedUntil
  if (blockedUntil)
    refuse('invalid_request', `${shown(entry)} is blocked after an erasure, until ${blockedUntil}.`)
}

const joinedIn = ({ prospects }: KnownActivity, now: Timestamp): Joined | null => {
  const [prospect] = prospects
  if (prospect === undefined) return null
  const { prospectId, updatedAt } = prospect
  return { prospectId, updatedAt, changesAt: laterThan(updatedAt, now) }
}

/** Goes through the emails of a tenant. */
const releaseDomain = async ({ store, clock }: Deps, { tenantId, value: domain }: Placeholder) => {
  const prospectIds: string[] = []
  let afterHash: string | null = ''
  while (afterHash !== null) {
    const slice = { tenantId, domain, afterHash, max: EMAILS_MAX, now: isoTime(clock()) }
    const released = await store.placeholders.releaseSome(slice)
    if (prospectIds.length < JOINED_SHOWN_MAX) prospectIds.push(...released.prospectIds)
    afterHash = released.lastHash
  }
  return prospectIds
}

/** An email, or a domain behind an @. */
const entryOf = (tenantId: string, value: string): Placeholder => {
  const isDomain = value.trim().startsWith('@')
  const { email } = normalizedTexts({ email: isDomain ? `someone${value.trim()}` : value })
  if (email === null) return refuse('invalid_request', `${JSON.stringify(value)} is ${NEITHER}`)
  if (!isDomain) return { tenantId, kind: 'email', hash: sha256(email), value: email }
  const domain = domainOf(email)
  return { tenantId, kind: 'emailDomain', hash: sha256(domain), value: domain }
}
const NEITHER = 'neither an email nor a domain such as @example.com, or it identifies no one in any tenant.'

const shown = ({ kind, value }: Placeholder): string => (kind === 'email' ? value : `@${value}`)
