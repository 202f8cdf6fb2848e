import { domainToASCII } from 'node:url'
import { orNull } from '../engine/or-null.ts'
import { isPlaceholder } from './placeholders.ts'

/** Maximum characters of an address that identifies a person. */
export const ADDRESS_LENGTH_MAX = 1_000
/** A name in the DNS is shorter. */
const DOMAIN_LENGTH_MAX = 255
/** Invisible characters, except those that are letters of some domains: see `JOINERS`. */
const INVISIBLE = /(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}/gu
/** In some scripts two domains differ by one of these alone. Anywhere else they are invisible characters. */
const JOINERS = /[\u200c\u200d]/g
/** Blanks, quotes and punctuation around an address. The look behind keeps a long run that is not at the end linear. */
const AROUND =
  /^[\s"'‘’“”„«»(,;\u200c\u200d]+|(?<![\s"'‘’“”«»),;.\u200c\u200d])[\s"'‘’“”«»),;.\u200c\u200d]+$/gu
/** `ada@example.com (Ada)`, after `AROUND` is removed. */
const COMMENT = /\s\([^()]*$/
/** `Ada <ada@example.com>`. */
const IN_BRACKETS = /^[^<>]*<([^<>]*)>$/
const MAILTO = /^mailto:(?:\/\/)?([^?]*)(?:\?.*)?$/s
/**
 * Blanks, characters that stand in no address, and leftovers of templates such as `{{first}}@example.com`. Also more combining
 * marks in a row than any language uses (Unicode's Stream-Safe Text Format): NFC sorts those in quadratic time. And U+037E and
 * U+1FEF, which are a semicolon and a backtick in NFC.
 */
const NOT_IN_ADDRESS =
  /[\s\p{Cc}<>()[\],;:\\"\u037e\u1fef]|^\{.*\}@|\{\{|[$#]\{|\*\||%[^%@]*%|^%.*%$|\p{M}{31}/u
const IS_ASCII = /^[ -~]*$/
/** A name in the DNS, even after its conversion: some signs are letters in brackets. */
const DOMAIN = /^[a-z\d][\w-]*(?:\.[\w-]+)*$/

/**
 * The only address in a trimmed text, however it is written: in lower case, normalized, its domain in ASCII. Null if
 * there is none.
 */
export const addressIn = (lower: string): string | null => {
  // Leaves room for invisible characters.
  if (lower.length > 4 * ADDRESS_LENGTH_MAX) return null
  const withoutComment = bare(lower).replace(COMMENT, '')
  const withoutName = bare(withoutComment.replace(IN_BRACKETS, '$1'))
  const withoutMailto = withoutName.replace(MAILTO, (_, encoded) => decoded(encoded))
  const address = bare(withoutMailto)
  if (address.length > 2 * ADDRESS_LENGTH_MAX || NOT_IN_ADDRESS.test(address)) return null
  const [name = '', domain = '', ...more] = address.toLowerCase().normalize('NFC').split('@')
  const local = name.replace(JOINERS, '')
  // Converting a long text takes quadratic time.
  if (!IS_ASCII.test(domain) && domain.length > DOMAIN_LENGTH_MAX) return null
  const ascii = IS_ASCII.test(domain) ? domain : asciiOf(domain)
  // The dot of the root, or of the end of a sentence, is dropped.
  const host = ascii.replace(/(?<!\.)\.+$/, '')
  const email = `${local}@${host}`
  // `undefined@undefined` is not an address, but `null@example.com` is one.
  const isLeftover = isPlaceholder(local) && isPlaceholder(domain)
  const isAddress = more.length === 0 && local !== '' && DOMAIN.test(host) && !isLeftover
  return isAddress && [...email].length <= ADDRESS_LENGTH_MAX ? email : null
}

/** Keeps joiners where a domain may have them. */
const asciiOf = (domain: string): string =>
  domainToASCII(domain) || domainToASCII(domain.replace(JOINERS, ''))

/** The text before percent-encoding, or the same text if it is malformed. */
const decoded = (encoded: string): string => orNull(() => decodeURIComponent(encoded)) ?? encoded

const bare = (text: string): string => text.replace(INVISIBLE, '').replace(AROUND, '')
