import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { sha256 } from '../engine/keys.ts'

/**
 * An API key is `pp_`, 30 random characters and 6 characters of their CRC-32, all base62. Secret scanners recognize it,
 * and a typing mistake is refused without a database lookup.
 */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const PREFIX = 'pp_'
const RANDOM_LENGTH = 30
const CHECK_LENGTH = 6
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECK_LENGTH}}$`)
/** How much of a key is stored in plain text, so that a person recognizes it. */
const START_LENGTH = PREFIX.length + 5

export const newApiKeyText = (prefix = PREFIX): string => {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  return prefix + random + checkOf(random)
}
/** The secret part of the address of a hook without signatures. */
export const newHookToken = (): string => newApiKeyText('pph_')

export const isApiKeyText = (text: string): boolean =>
  FORM.test(text) && text.endsWith(checkOf(text.slice(PREFIX.length, -CHECK_LENGTH)))

const HASHES_MAX = 1_000
const hashes = new Map<string, string>()
/** Null for a text that is not an API key. Some keys are kept in memory with their hashes: each request asks. */
export const apiKeyHashOf = (text: string): string | null => {
  if (hashes.has(text) || !isApiKeyText(text)) return hashes.get(text) ?? null
  if (hashes.size >= HASHES_MAX) hashes.clear()
  hashes.set(text, sha256(text))
  return apiKeyHashOf(text)
}

export const apiKeyStart = (text: string): string => text.slice(0, START_LENGTH)

const checkOf = (random: string): string => {
  let rest = crc32(random)
  let check = ''
  for (let i = 0; i < CHECK_LENGTH; i++) {
    check = ALPHABET[rest % ALPHABET.length] + check
    rest = Math.floor(rest / ALPHABET.length)
  }
  return check
}
