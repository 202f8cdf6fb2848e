import { hash } from 'node:crypto'
import type { RawJson } from '../../shapes/json.ts'
import type { Secrets } from '../ports/secrets.ts'
import { type FailureFacts, refuse } from './failures.ts'

/** One map key for several texts. Separated by NUL, which no stored text contains. */
export const keyOf = (...texts: readonly string[]): string => texts.join('\0')

/** SHA-256 in 43 URL-safe characters. */
export const sha256 = (text: string): string => hash('sha256', text, 'base64url')

/** Marks the form of a request hash, so that the form can change without refusing replays of older requests. */
const FORM = '1:'
const REUSED = 'This idempotency key was already used with a different request.'

/** Every member of a shape by its name, even optional ones, so that none can be forgotten. */
export type Named<Shape> = { readonly [Name in keyof Required<Shape>]: Shape[Name] | undefined }

/** Two requests are the same if these fields and the text of their JSON are equal. Each of the two has its own hash. */
export const requestHashOf = (fields: object, json: RawJson = { rawJson: '' }): string =>
  `${FORM}${sha256(JSON.stringify(fields))}:${sha256(json.rawJson)}`

/** Whether two requests have the same fields, and JSON with another text. */
export const haveSameFields = (firstHash: string, secondHash: string): boolean =>
  firstHash !== secondHash && fieldsIn(firstHash) === fieldsIn(secondHash)
const fieldsIn = (requestHash: string): string => requestHash.slice(0, requestHash.lastIndexOf(':'))

/** Refuses `idempotency_key_reused` unless this repeats the first request. An erasure removes the hash of a request. */
export const requireSame = (
  first: { readonly requestHash: string | null },
  requestHash: string | null,
  facts: FailureFacts,
): void => {
  if (first.requestHash !== null && first.requestHash !== requestHash)
    refuse('idempotency_key_reused', REUSED, facts)
}

/** `requireSame` for a hash that is stored sealed. One that was sealed with a lost key is not compared. */
export const requireSameSealed = (
  first: { readonly requestHash: string | null },
  requestHash: string | null,
  secrets: Pick<Secrets, 'open'>,
  facts: FailureFacts,
): void =>
  requireSame({ requestHash: first.requestHash && secrets.open(first.requestHash) }, requestHash, facts)
