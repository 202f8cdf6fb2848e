import { domainToASCII } from 'node:url'
import { orNull } from '../engine/outcome.ts'

/** Characters of an address that identifies a person. */
export const ADDRESS_LENGTH_MAX = 1_000
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu
/** `Ada <ada@example.com>`. */
const IN_BRACKETS = /^[^<>]*<([^<>]*)>$/
const MAILTO = /^mailto:([^?]*)(?:\?.*)?$/s
/**
 * Blanks, characters that stand in no address, and leftovers of templates such as `{{first}}@example.com`. Also more combining
 * marks in a row than any language uses (Unicode's Stream-Safe Text Format): NFC sorts those in quadratic time.
 */
const NOT_IN_ADDRESS = /[\s\p{Cc}<>()[\],;:\\"]|\{\{|[$#]\{|\*\||%[^%@]*%|^%.*%$|\p{M}{31}/u
const IS_ASCII = /^[ -~]*$/
/** Also after its conversion: some signs are letters in brackets. */
const DOMAIN = /^[a-z\d][\w-]*(?:\.[\w-]+)*$/

/** The one address in a trimmed text in lower case, however it is written: normalized, with its domain in ASCII. Null if there is none. */
export const addressIn = (lower: string): string | null => {
  // Invisible characters may come on top.
  if (lower.length > 4 * ADDRESS_LENGTH_MAX) return null
  const inner = lower.replace(INVISIBLE, '').trim().replace(IN_BRACKETS, '$1').trim()
  const address = inner.replace(MAILTO, (_, encoded) => orNull(() => decodeURIComponent(encoded)) ?? encoded)
  if (NOT_IN_ADDRESS.test(address)) return null
  const [local = '', domain = '', ...more] = address.toLowerCase().normalize('NFC').split('@')
  const ascii = IS_ASCII.test(domain) ? domain : domainToASCII(domain)
  // Without the dot of the root, or of the end of a sentence.
  const host = ascii.replace(/\.+$/, '')
  const email = `${local}@${host}`
  const isAddress = more.length === 0 && local !== '' && DOMAIN.test(host)
  return isAddress && [...email].length <= ADDRESS_LENGTH_MAX ? email : null
}
