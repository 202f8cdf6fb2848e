import { domainToASCII } from 'node:url'
import { decodeHtml, decodePercent } from '../../json/decode.ts'
import { isNobodysAddress, isPlaceholder } from './placeholders.ts'

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
/** `Ada <ada@example.com>`, even if the end was cut off. */
const IN_BRACKETS = /^[^<>]*<([^<>]*)>?$/
/** `E-Mail: ada@example.com`. Without a blank only a known label: `user:word@host` is no address. */
const LABEL =
  /^(?!mailto:)(?:[\p{L}\p{M}\d ._/-]{1,64}:\s+|[\p{L}\p{M} ._-]{0,32}(?:mail|correo|почта|邮箱|郵箱|邮件|郵件|メール|메일)[\p{L}\p{M} ._-]{0,32}:|(?:smtp|sip|acct|xmpp|to|from|cc|bcc):)(?!\/\/)/u
const MAILTO = /^mailto:(?:\/\/)?([^?]*)(?:\?.*)?$/s
/** `"ada"@example.com`. */
const QUOTED = /(?<![^\s<:])(["'])([^"'@\s]{1,64})\1@/
/** The first of several addresses, with a name before it. Not a part of `%a@b,c@d%`. */
const FIRST = /^(?!%)[^@]*@[^@\s,;|<>/\\():&+"']+>?(?=[\s,;|<>/\\():&+"'][^@]*@)/
/** Where a variable such as `##EMAIL##` begins. */
const PUNCTUATION = /^(?!_)[\p{P}\p{S}]/u
/** Letters of full width, as Chinese and Japanese keyboards write them. */
const FULL_WIDTH = /[\uff01-\uff5e]/g
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
 * The address in a trimmed text, however it is written: in lower case, normalized, its domain in ASCII. The first if there are
 * several. Null if there is none, or if it is nobody's.
 */
export const addressIn = (lower: string): string | null => {
  // Leaves room for invisible characters.
  if (lower.length > 4 * ADDRESS_LENGTH_MAX) return null
  const text = decoded(lower)
  const only = onlyAddressIn(text)
  const [first] = only === null ? (FIRST.exec(text) ?? []) : []
  const email = first === undefined ? only : onlyAddressIn(first)
  if (email === null) return null
  const at = email.indexOf('@')
  return isNobodysAddress(email.slice(0, at), email.slice(at + 1)) ? null : email
}

/** Removes the coding of HTML and, if it hides the @, of URLs. Letters of full width become plain ones. */
const decoded = (lower: string): string => {
  const text = decodeHtml(lower).replace(FULL_WIDTH, plainLetter).toLowerCase()
  return text.includes('@') ? text : decodePercent(text).toLowerCase().trim()
}
const plainLetter = (letter: string): string => String.fromCharCode(letter.charCodeAt(0) - 0xfee0)

const onlyAddressIn = (text: string): string | null => {
  const withoutQuotes = text.replace(QUOTED, '$2@')
  const withoutComment = bare(withoutQuotes).replace(COMMENT, '')
  const withoutName = bare(withoutComment.replace(IN_BRACKETS, '$1'))
  const withoutLabel = bare(withoutName.replace(LABEL, ''))
  const withoutMailto = withoutLabel.replace(MAILTO, (_, encoded) => decodePercent(encoded))
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
  const isAddress = more.length === 0 && local !== '' && DOMAIN.test(host) && !isDump(local, host)
  return isAddress && [...email].length <= ADDRESS_LENGTH_MAX ? email : null
}

/** Whether it is a variable of a template with a domain, or an object as `com.acme.User@6d06d69c`. */
const isDump = (local: string, host: string): boolean =>
  (PUNCTUATION.test(local) && isPlaceholder(local)) ||
  (!host.includes('.') && isPlaceholder(`${local}@${host}`))

/** Keeps joiners where a domain may have them. */
const asciiOf = (domain: string): string =>
  domainToASCII(domain) || domainToASCII(domain.replace(JOINERS, ''))

const bare = (text: string): string => text.replace(INVISIBLE, '').replace(AROUND, '')
