import { unavailable } from '../engine/failures.ts'
import { memoized } from '../engine/keys.ts'
import { LONG_TEXT } from '../engine/parse-input.ts'
import { validSecrets } from '../engine/sealed-secrets.ts'
import { shareLoop } from '../engine/share-loop.ts'
import type { OfTenant } from '../ports/api-keys.ts'
import type { StoredHook } from '../ports/hooks.ts'
import { type HookTools, hashOfToken, rulesOf } from './hooks.ts'
import { mapperOf } from './map-delivery.ts'
import { type Delivery, hopsIn, isEqual, verifierOf } from './verify.ts'

/** A challenge that is safe to return to a vendor. */
const CHALLENGE = /^[\w.~-]{1,255}$/

/** A hook that was found, ready for deliveries. */
export type ReadyHook = ReturnType<typeof readyHook>

/** A hook's functions, made once from its stored row. */
export const readyHook = (stored: StoredHook & Partial<OfTenant>, { secrets }: HookTools) => {
  const { tenantId, hookId, source, isSuspended = false } = stored
  const { hmac, map, isKeyOfType, each, handshake } = rulesOf(stored)
  const verify = hmac && verifierOf(hmac)
  const open = memoized((sealed: string) => ({ secret: secrets.open(sealed) }))
  const mapped = mapperOf(map, each, tenantId, isKeyOfType)
  return {
    tenantId,
    hookId,
    isSuspended,
    /** Whether the token is valid. A hook with signatures has no token. */
    isAddressedBy: (token: string | undefined, nowMs: number): boolean => {
      if (hmac || token === undefined) return Boolean(hmac) && token === undefined
      const given = Buffer.from(hashOfToken(token))
      return validSecrets(stored, nowMs).some((hash) => isEqual(Buffer.from(hash), given))
    },
    /** Why a delivery is refused, for people; null if it is verified. */
    refusalOf: (delivery: Delivery, nowMs: number): string | null => {
      if (!verify) return null
      // A previous secret may have been encrypted with a key that is lost.
      const opened = validSecrets(stored, nowMs).map((sealed) => open(sealed).secret)
      const valid = opened.filter((secret) => secret !== null)
      if (valid.length === 0)
        throw unavailable('The secret of this hook cannot be decrypted.', new Error(NO_KEY))
      return verify(delivery, valid, nowMs)
    },
    /** An unsigned ping, with nothing to store. */
    isPing: ({ body }: Delivery): boolean =>
      handshake === 'webhook_id' && body.length < 40 && /^webhook_id=\d+$/.test(Buffer.from(body).toString()),
    /** The challenge in a request that only asks whether this address is the vendor's. */
    challengeIn: ({ body }: Delivery): string | null => {
      if (handshake !== 'url_verification' || body.length > 4_096) return null
      const { type, challenge } = jsonIn(body)
      return type === 'url_verification' && CHALLENGE.test(String(challenge)) ? String(challenge) : null
    },
    /** The body of the answer to a GET or HEAD, by which vendors check the address: Meta's challenge, else nothing. */
    answerToGet: (query: URLSearchParams): string => {
      const challenge = query.get('hub.challenge') ?? ''
      const isMeta = handshake === 'hub.challenge' && query.get('hub.verify_token') === hookId
      return isMeta && CHALLENGE.test(challenge) ? challenge : ''
    },
    /** A long delivery waits for its turn: the steps before logging are work, too. */
    activitiesIn: async (delivery: Delivery, nowMs: number) => {
      if (delivery.body.length > LONG_TEXT) await shareLoop(tenantId, true)
      const by = { tenantId, apiKeyId: null, source, isVerified: true, hops: hopsIn(delivery) } as const
      return (await mapped(delivery, nowMs)).map((activity) => ({ ...activity, ...by }))
    },
  }
}
const NO_KEY = 'The secret of a hook cannot be decrypted: is SECRETS_KEY the key that encrypted it?'

const jsonIn = (body: Uint8Array): { readonly type?: unknown; readonly challenge?: unknown } => {
  try {
    return Object(JSON.parse(Buffer.from(body).toString()))
  } catch {
    return {}
  }
}
