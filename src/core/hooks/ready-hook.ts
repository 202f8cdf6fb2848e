import { placesIn } from '../../shapes/hook-rules.ts'
import type { NewActivity } from '../activities/new-log.ts'
import { unavailable } from '../engine/failures.ts'
import { keyOf, sha256 } from '../engine/keys.ts'
import { memoized } from '../engine/memoized.ts'
import { LONG_TEXT } from '../engine/parse-input.ts'
import { validSecrets } from '../engine/sealed-secrets.ts'
import { atOnce } from '../engine/share-loop.ts'
import type { TenantState } from '../ports/api-keys.ts'
import type { StoredHook } from '../ports/hooks.ts'
import { identifiersOf, isIdentified, normalizedTexts } from '../prospects/identifiers.ts'
import { answererOf, type ChallengeAnswer, isLikeChallenge, signsChallenges } from './challenge.ts'
import { type Delivery, headerIn, hopsIn } from './delivery.ts'
import { fieldsAsAttributes } from './fields-as-attributes.ts'
import { rulesOf } from './hook-rules.ts'
import { hashOfToken, isEqual, secretKeyOf } from './hook-secret.ts'
import type { HookTools } from './hook-tools.ts'
import { type MappedActivity, mapperOf } from './map-delivery.ts'
import { documentOf, type Inflated, inflated, queryAsBody, type Warn } from './read-body.ts'
import { trapOf } from './trap.ts'
import { MISMATCH, verifierOf } from './verify.ts'

/** A hook, ready to receive deliveries. */
export type ReadyHook = ReturnType<typeof readyHook>

/** A hook's functions, made once from its stored row. */
export const readyHook = (
  stored: StoredHook & Partial<TenantState>,
  { secrets, shareLoop = atOnce }: HookTools,
) => {
  const { tenantId, hookId, source, isSuspended = false } = stored
  const { hmac, map, isKeyByHand, each, headerPrefixes, unidentified, ...others } = rulesOf(stored)
  const { redirectTo, origins, trap, challenge, probe, answer, pingType, attributesMode } = others
  const verify = hmac && verifierOf(hmac)
  const isTrapped = trap === null ? null : trapOf(trap)
  const open = memoized((sealed: string) => ({ secret: secrets.open(sealed) }))
  /** Where a person should be named; empty if activities without one are as they should be. */
  const personPlaces = unidentified === 'new' ? [...(map.email ?? []), ...(map.externalId ?? [])] : []
  const readsQuery = placesIn(map).some(([, places]) => /(^| \+ )query:/m.test(places.join('\n')))
  /** A query that is not part of the signed text is not enough to make an activity. */
  const coversQuery = !hmac || hmac.template.includes('{url}')
  const isForBrowsers = redirectTo !== null || trap !== null || origins.length > 0
  const defaultType = isForBrowsers ? 'form_submitted' : 'webhook'
  const answerChallenge = challenge && answererOf(challenge, hookId)
  const answerProbe = probe && answererOf(probe, hookId)
  const isOracle = signsChallenges(challenge)
  const signingKey = () => {
    const { secret } = open(stored.secret)
    return secret === null ? undecryptable() : secretKeyOf(secret, hmac?.secretEncoding ?? 'utf8')
  }
  const fieldsIn = others.fieldsAsAttributes ? fieldsAsAttributes(map, trap) : null
  const mapped = mapperOf(map, each, { tenantId, defaultType, fieldsIn, shareLoop })
  /** With the names of headers that the preset expects. */
  const renamed = (delivery: Delivery): Delivery => {
    const [to = '', from = ''] = headerPrefixes ?? []
    if (from === '' || headerIn(delivery, hmac?.header ?? '')) return delivery
    const others = Object.entries(delivery.headers).filter(([name]) => name.startsWith(from))
    const headers = others.map(([name, value]) => [to + name.slice(from.length), value])
    return { ...delivery, headers: { ...delivery.headers, ...Object.fromEntries(headers) } }
  }
  const hasSharedProspect = unidentified === 'shared'
  /** Without an identity it belongs to the one prospect of the hook, or to a new one. */
  const identified = (activity: MappedActivity): MappedActivity & Pick<NewActivity, 'isShared'> =>
    hasSharedProspect && !isIdentified(identifiersOf(activity))
      ? ofSharedProspect(activity, hookId)
      : activity
  /**
   * A key that was mapped by hand belongs to the hook, the type and the person: it may be the id of an object, or a number
   * that other senders count, too. The vendor's id of an event stands alone, so that a retry may be written again.
   */
  const keyed = (
    activity: ReturnType<typeof identified>,
  ): typeof activity & { readonly keyScope?: string } => {
    if (activity.idempotencyKey === undefined || !isKeyByHand) return activity
    const { email, externalId } = identifiersOf(activity)
    const scope = [hookId, activity.type, email?.hash, externalId?.hash]
    return { ...activity, keyScope: sha256(keyOf(...scope.map((text) => text ?? ''))) }
  }
  const refusalOf = (
    verify: ReturnType<typeof verifierOf>,
    sent: Delivery,
    delivery: () => Inflated,
    nowMs: number,
  ): string | null => {
    // A previous secret may have been encrypted with a key that is lost.
    const opened = validSecrets(stored, nowMs).map((sealed) => open(sealed).secret)
    const valid = opened.filter((secret) => secret !== null)
    if (valid.length === 0) return undecryptable()
    if (isOracle && isLikeChallenge(sent.body)) return LIKE_CHALLENGE
    const refusal = verify(sent, valid, nowMs)
    // Most vendors sign what they send, some the body before it is compressed.
    if (refusal !== MISMATCH || delivery() === sent) return refusal
    const { unread } = delivery()
    if (unread) return `${refusal} The body could not be inflated: ${unread}.`
    return isOracle && isLikeChallenge(delivery().body) ? LIKE_CHALLENGE : verify(delivery(), valid, nowMs)
  }
  return {
    tenantId,
    hookId,
    isSuspended,
    hasSharedProspect,
    origins,
    /** As it can be sent in a header. */
    redirectTo: redirectTo === null ? null : new URL(redirectTo).href,
    answer,
    hasToken: !hmac,
    /** Whether a request may be a delivery: any POST, and a GET with a query if the address has a token. */
    isDelivery: ({ method, query = '' }: Pick<Delivery, 'method' | 'query'>): boolean =>
      method === 'POST' || (method === 'GET' && query !== '' && !hmac),
    isForBrowsers,
    /** Whether the token is valid. A hook with signatures has no token. */
    isAddressedBy: (token: string | undefined, nowMs: number): boolean => {
      if (hmac || token === undefined) return Boolean(hmac) && token === undefined
      const tokenHash = Buffer.from(hashOfToken(token))
      return validSecrets(stored, nowMs).some((hash) => isEqual(Buffer.from(hash), tokenHash))
    },
    /**
     * Verifies a delivery. Returns why it is refused, for people, or null; and the delivery that the other functions take.
     * Nothing is inflated before its signature may be right.
     */
    opened: (received: Delivery, nowMs: number) => {
      const sent = renamed(received)
      let plain: Inflated | undefined
      const delivery = () => {
        plain ??= inflated(sent)
        return plain
      }
      const refusal = verify ? refusalOf(verify, sent, delivery, nowMs) : null
      return { refusal, delivery: () => (coversQuery ? queryAsBody(delivery()) : delivery()) }
    },
    /** The answer to a request that only checks the address, if the vendor leaves this one unsigned or signs it. */
    challengeIn: (delivery: Delivery, when: 'unverified' | 'verified'): ChallengeAnswer | null => {
      const isNow = (challenge?.verified === true) === (when === 'verified')
      const asked = isNow ? answerChallenge?.(delivery, signingKey) : null
      const probed = when === 'unverified' ? answerProbe?.(delivery, signingKey) : null
      return asked ?? probed ?? null
    },
    /** Null if the trap is filled. A long delivery waits for its turn before each step: reading and mapping are work, too. */
    activitiesIn: async (delivery: Inflated, nowMs: number, warn: Warn) => {
      const isLong = delivery.body.length > LONG_TEXT
      if (isLong) await shareLoop(tenantId, true)
      const whole = documentOf(delivery, each, warn)
      if (isTrapped !== null) {
        if (isLong) await shareLoop(tenantId, true)
        if (isTrapped(whole)) return null
      }
      if (isLong) {
        await shareLoop(tenantId, true)
        // Written here, it is not part of the next piece.
        whole.payload()
        await shareLoop(tenantId, true)
      }
      const sender = {
        tenantId,
        apiKeyId: null,
        source,
        isVerified: true,
        hops: hopsIn(delivery),
        attributesMode,
      } as const
      if (delivery.query && !delivery.isQuery && !readsQuery)
        warn('was sent with a query, which no place reads')
      const all = await mapped(delivery, nowMs, warn, whole)
      const activities = pingType === undefined ? all : all.filter(({ type }) => type !== pingType)
      if (personPlaces.length > 0) warnOfUnidentified(activities, personPlaces, warn)
      return activities.map((activity) => ({ ...keyed(identified(activity)), ...sender }))
    },
  }
}
const undecryptable = (): never => {
  throw unavailable('The secret of this hook cannot be decrypted.', new Error(NO_KEY))
}
const LIKE_CHALLENGE =
  'A body of letters and digits alone cannot be verified: replies to challenges are signed like it.'
const NO_KEY = 'The secret of a hook cannot be decrypted: is SECRETS_KEY the key that encrypted it?'

/** An activity that belongs to the one prospect of its hook. */
export const ofSharedProspect = <Activity extends object>(activity: Activity, hookId: string) => ({
  ...activity,
  externalId: hookId,
  isShared: true as const,
})

/** Whether no person is named; a hook may have one person for all such activities. */
export const isUnidentified = (activity: MappedActivity & { readonly isShared?: true }): boolean => {
  const { email, externalId } = normalizedTexts(activity)
  return activity.isShared === true || (email === null && externalId === null)
}

/** The words by which `status` knows the warning. */
export const IDENTIFIES_NO_ONE = 'identifies no one'
/** Warns of activities without a person, although places are mapped: usually a place is wrong, or the form has changed. */
const warnOfUnidentified = (
  activities: readonly MappedActivity[],
  places: readonly string[],
  warn: Warn,
): void => {
  const count = activities.filter(isUnidentified).length
  if (count === 0) return
  const which = activities.length === 1 ? '' : ` in ${count} of its ${activities.length} elements`
  const named = places.slice(0, PLACES_NAMED_MAX).join(', ')
  const more = places.length > PLACES_NAMED_MAX ? ' and other places' : ''
  warn(`${IDENTIFIES_NO_ONE}${which}: there is no usable email or ID at ${named}${more}`)
}
const PLACES_NAMED_MAX = 5
