import { createSecretKey, hash, timingSafeEqual } from 'node:crypto'
import type { NewHook } from '../../shapes/hook.ts'
import { type Hmac, isByToken } from '../../shapes/hook-rules.ts'
import { refuse } from '../engine/failures.ts'
import { newHookToken } from '../tenants/api-key-text.ts'
import type { HookTools } from './hook-tools.ts'
import { PRESET_ROWS } from './presets.ts'

const BASE64 = /^[\w+/-]{2,}={0,2}$/
const HEX = /^(?:[0-9a-f]{2})+$/i
const OTHER_SECRET =
  'must be base64, alone or after whsec_; if the vendor signs with this text as it is, use hmac with the secretEncoding utf8'

/** A new secret or token of a hook: `sealed` is its stored form. `token` is missing if vendors sign. */
type IssuedSecret = { readonly sealed: string; readonly token: string | undefined }

/** The stored form of the secret that was sent, or of a new token. Refuses `invalid_request`. */
export const issueSecret = ({ secrets, publicUrl }: HookTools, verify: NewHook['verify']): IssuedSecret => {
  const hmac = verify.hmac ?? (verify.preset && PRESET_ROWS[verify.preset].hmac)
  if (hmac?.template.includes('{url}') && publicUrl === null)
    refuseVerification('signs the public URL of this service: set PUBLIC_URL', '/verify')
  if (isByToken(verify)) {
    const token = newHookToken()
    return { sealed: hashOfToken(token), token }
  }
  const { secret = '' } = verify
  if (hmac?.secretEncoding === 'base64') requireBase64(secret)
  if (hmac?.secretEncoding === 'hex' && !HEX.test(secret))
    refuseVerification('must be hexadecimal: pairs of 0-9 and a-f', '/verify/secret')
  return { sealed: secrets.seal(secret), token: undefined }
}

/** Refuses `invalid_request`. */
const requireBase64 = (secret: string): void => {
  const { encoded, hasForeignPrefix } = keyTextOf(secret)
  if (hasForeignPrefix) refuseVerification(OTHER_SECRET, '/verify/secret')
  if (!BASE64.test(encoded))
    refuseVerification('must be base64, with or without whsec_ before it', '/verify/secret')
}

/** A secret without what vendors show before its base64, and whether it has a prefix that belongs to another scheme. */
const keyTextOf = (secret: string) => {
  const encoded = secret.replace(/^(v1,)?whsec_/, '')
  const hasUnknownPrefix = encoded === secret && /^([a-z]{2,}|[A-Z]{2,})_/.test(secret)
  return { encoded, hasForeignPrefix: hasUnknownPrefix || encoded.includes(',') }
}

/** The key of an HMAC. */
export type SecretKey = ReturnType<typeof createSecretKey>
export const secretKeyOf = (secret: string, encoding: Hmac['secretEncoding']): SecretKey =>
  encoding === 'base64'
    ? createSecretKey(keyTextOf(secret).encoded, 'base64')
    : createSecretKey(secret, encoding)

/** Compares in constant time. */
export const isEqual = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && timingSafeEqual(a, b)

export const hashOfToken = (token: string): string => hash('sha256', token, 'base64url')

export const refuseVerification = (detail: string, pointer: string): never =>
  refuse('invalid_request', 'The verification settings are invalid.', { errors: [{ detail, pointer }] })
