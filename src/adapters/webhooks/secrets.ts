import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { SecretsKeys } from '../../config/secrets-keys.ts'
import { orNull } from '../../core/engine/or-null.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import { SECRET_PREFIX } from './signature.ts'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
/** Prefix of an encrypted secret: an iv, a tag and the ciphertext in base64 follow. */
const SEALED_PREFIX = 'v1:'
const PLAIN_PREFIX = 'plain:'

/** Encrypts signing secrets before they are stored, if there is a key, of 32 bytes. The previous key only decrypts. */
export const createSecrets = (key: Buffer | null, previousKey: Buffer | null = null): Secrets => {
  const keys: SecretsKeys = { newest: key, older: previousKey === null ? [] : [previousKey] }
  return createSecretsWith(() => keys)
}

/**
 * Secrets under keys that may be replaced. `keysNow` is called before a secret is sealed, and if no known key opens one:
 * another process may have sealed it with a newer key.
 */
export const createSecretsWith = (keysNow: () => SecretsKeys): Secrets => {
  let keys = keysNow()
  const seal = (secret: string): string => {
    keys = keysNow()
    const key = keys.newest
    if (key === null) return PLAIN_PREFIX + Buffer.from(secret).toString('base64')
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(CIPHER, key, iv)
    const sealed = [cipher.update(secret), cipher.final()]
    return SEALED_PREFIX + Buffer.concat([iv, cipher.getAuthTag(), ...sealed]).toString('base64')
  }
  const open = (sealed: string): string | null => {
    const secret = openWithAny(keys, sealed)
    if (secret !== null) return secret
    const knownKeys = keys
    keys = keysNow()
    return keys === knownKeys ? null : openWithAny(keys, sealed)
  }
  return {
    seal,
    issue: () => {
      const secret = SECRET_PREFIX + randomBytes(32).toString('base64')
      return { secret, sealed: seal(secret) }
    },
    open,
    reseal: (sealed) => {
      const isPlain = sealed.startsWith(PLAIN_PREFIX)
      keys = keysNow()
      const usesNewestKey = isPlain ? keys.newest === null : openWith(keys.newest, sealed) !== null
      if (usesNewestKey) return sealed
      const secret = open(sealed)
      return secret && seal(secret)
    },
  }
}

const openWithAny = ({ newest, older }: SecretsKeys, sealed: string): string | null => {
  for (const key of [newest, ...older]) {
    const secret = openWith(key, sealed)
    if (secret !== null) return secret
  }
  return null
}

/** Null if the secret is encrypted with another key, or is no sealed secret. */
const openWith = (key: Buffer | null, sealed: string): string | null => {
  if (sealed.startsWith(PLAIN_PREFIX))
    return Buffer.from(sealed.slice(PLAIN_PREFIX.length), 'base64').toString()
  if (key === null || !sealed.startsWith(SEALED_PREFIX)) return null
  const bytes = Buffer.from(sealed.slice(SEALED_PREFIX.length), 'base64')
  return orNull(() => decrypted(key, bytes))
}

/** Throws if the key is another one. */
const decrypted = (key: Buffer, bytes: Buffer): string => {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
}
