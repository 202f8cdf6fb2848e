import { createHmac } from 'node:crypto'
import { pointerTree } from '../../json/find-in-json.ts'
import { type Challenge, isPointer, isSignatureReply } from '../../shapes/hook-rules.ts'
import type { Delivery } from './delivery.ts'
import type { SecretKey } from './hook-secret.ts'
import { placesIn } from './map-delivery.ts'
import { documentOf } from './read-body.ts'

/** The answer to a vendor that asks whether an address is ready. */
export type ChallengeAnswer = {
  readonly challenge: string
  readonly contentType: 'text/plain' | 'application/json'
}

/** A challenge is printable and no markup, so that it is safe to send back. */
const PRINTABLE = /^[ -;=?-~]{1,1000}$/
/** A challenge that is signed. A vendor's body is never such a text, so the signature is none of a body. */
const SIGNABLE = /^[\w-]{1,128}$/
/** Larger bodies are no challenges. */
const BODY_BYTES_MAX = 4_096

/**
 * Whether a body could be a challenge that anyone had signed here: then its signature proves nothing. It may be empty,
 * because a template may put a text before it.
 */
export const isLikeChallenge = (body: Uint8Array): boolean =>
  body.length === 0 || (body.length <= 128 && SIGNABLE.test(Buffer.from(body).toString('latin1')))

export const signsChallenges = (challenge: Challenge | null): boolean =>
  challenge !== null && challenge.reply !== 'text' && Object.values(challenge.reply).some(isSignatureReply)

/** Answers the challenge in a request; null if it has none. `keyOf` returns the secret that a reply is signed with. */
export const answererOf = ({ from, reply, hookIdAt }: Challenge, hookId: string) => {
  const replies = reply === 'text' ? [] : Object.entries(reply)
  const isSigned = replies.some(([, part]) => isSignatureReply(part))
  const isChallenge = isSigned ? SIGNABLE : PRINTABLE
  const places = [from, hookIdAt ?? from, ...replies.map(([, part]) => part)]
  const pointers = places.filter(isPointer)
  const tree = pointerTree(pointers)
  const name = (from.split(/[/:]/).at(-1) ?? '').replaceAll('~1', '/').replaceAll('~0', '~')
  /** Whether a request may have the place. Few have, and the others are not read here. */
  const mayHave = ({ body, query = '' }: Delivery): boolean => {
    // Anyone may send one, before anything is verified: no long body is read for it.
    if (pointers.length > 0 && body.length > BODY_BYTES_MAX) return false
    if (isPointer(from)) return Buffer.from(body).includes(name)
    return !from.startsWith('query:') || query !== ''
  }

  return (delivery: Delivery, keyOf: () => SecretKey): ChallengeAnswer | null => {
    if (!mayHave(delivery)) return null
    const document = pointers.length === 0 ? null : documentOf(delivery, null, () => {})
    const read = placesIn(delivery, document, tree)
    const textAt = (place: string) => read(place).find((text) => isChallenge.test(text))
    const challenge = textAt(from)
    if (challenge === undefined) return null
    if (hookIdAt !== undefined && !read(hookIdAt).includes(hookId)) return null
    if (reply === 'text') return { challenge, contentType: 'text/plain' }
    const members = replies.map(([member, part]) => {
      if (!isSignatureReply(part)) return [member, textAt(part) ?? null] as const
      const encoding = part.endsWith('hex') ? 'hex' : 'base64'
      return [member, createHmac('sha256', keyOf()).update(challenge).digest(encoding)] as const
    })
    return { challenge: JSON.stringify(Object.fromEntries(members)), contentType: 'application/json' }
  }
}
