import { decodeHtml, decodePercent } from './decode.ts'

/** Words that programs and spreadsheets send instead of nothing. A name may be none of them. */
const NOTHING = `null, undefined, none, nil, nan, n/a, n.a., #n/a, not set, not defined, not specified, not provided,
  not available, not applicable, no value, invalid date`

const LEFTOVER_LENGTH_MAX = 255
/** Letters of full width count as plain ones, and marks on letters count for nothing. */
const MARKS = /\p{M}/gu
const NEGLIGIBLE = /[\s_\p{Cc}\p{Default_Ignorable_Code_Point}]/gu
const AROUND = /^[\p{P}\p{S}]+|(?<![\p{P}\p{S}])[\p{P}\p{S}]+$/gu
const SEPARATORS = /[\s_|,;:+&@-]+/u
const INNER_SEPARATORS = /[./\\]+/

/** Texts that remain of a missing value: in lower case, without blanks and underscores. A GUID may stand in brackets. */
const FORMS = [
  /^[\p{P}\p{Sm}\p{Sc}\p{Sk}0]*$/su, // punctuation and zeros alone
  /^["'(]*(?:-1(?:\.0+)?|\\n|0x0+|(?:\\[ux]?0+)+|b["']{2})["')]*$/su, // numbers and escapes for nothing
  /^#[\p{L}\d/\p{P}]+[!?]$|^#(?:nv|n\/d|n\/b)$/su, // an error of a spreadsheet

  // Variables of templates.
  /^(?:\{\{|\[\[|<<|<%|<\?|\*\||\{%|\[%|%%|##)/su, // even if the end was cut off
  /\{(?![\da-f-]{32,36}\}).*\}|<%.*%>|\[\[.*\]\]|\*\|.*\|\*|\$[([].*[)\]]|%\([^()]+\)[a-z]/su,
  /^%.*%$|^\[.*\]$|^\((?![\da-f-]{32,36}\)).*\)$|^«.*»$/su,
  /^<(?![\da-f-]{32,36}>|[^@<>]+@[^@<>]+\.[^@<>]+>).*>$/su, // but not an address in brackets
  /^([%#$@*~|:!^])\1.*\1\1$/su,
  /^\$[a-z][a-z\d.>[\]'"-]*$|^\$\d$|^%(?:\d+\$)?(?:[a-z]{1,3}|@)$|^@(?:model|html)\./su,
  /^mergefield/su,
  /^(?:&(?:[a-z]+|#x?[\da-f]+);)+$/su, // characters that were coded twice
  /^[a-z.]*=(?:undefined|null|none|nan|nil)?$|^\D+[-:/|.]undefined$/su, // a part without its value

  // Objects, functions and promises, written as text.
  /\[(?:object|native|function)|=>|\)->|^[{[]["{[]|^&(?:map)?[{[]/su,
  /^(?:async)?function[\w$*]*\(|^instanceof'|^closure:|lldbexpr/su,
  /^(?:optional|some|just|ok|err|symbol|list|vector|map|set|tuple|dict\w*|object|option|result|nullable|promise|future|task|resource|stdclass|namespace)\(.*\)/su,
  /^(?:optional|map|set|vec!?|list|task|\w*array\(\d+\))\[.*\]$|^optional\.empty$|^\w*array\(\d*\)$/su,
  /^[a-z][a-z\d.]*\((["']?)(?:null|none|nan|undefined|nil|0)?\1\)$/su, // a call without a value
  /^[a-z][\w.]*[([][^()]*(?:=|:(?:nil|null|none)\b)[^()]*[)\]]$/su, // the fields of an object
  /^(?=[^@]*[.$[/])[\w.$/;[\]-]+@[\da-f]{4,8}$/su, // an object of Java by its address
  /^[a-z][\w$]*@(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{6,8}$/su,
  /^(?:class|interface)?(?:java|javax|kotlin|kotlinx|scala|clojure)\.(?:lang|util|io|time|math|sql|text|collection|core|runtime|coroutines|unit|any|string|function|option)/su,
  /^system\.(?:object|string|u?int\d*|guid|char|byte|boolean|double|single|decimal|datetime|dbnull|nullable|array|type|void|func|action|exception|lazy|tuple|valuetuple|dynamic|comobject|(?:collections|threading|linq|text|web|net|data|reflection|runtime|componentmodel|windows)\.)/su,
  /(?:hash|array|code|scalar|glob|ref)\(0x[\da-f]+\)$|^(?:table|function|userdata|thread|cdata):(?:0x|builtin)/su,
  /^#[a-z.]*[<[]|^%!|^0xc0[\da-f]{8}$|^resourceid#\d/su, // of Ruby, Elixir, Go and PHP
  /^[a-z.]*(?:(?:type|reference|syntax|range|index|key|value|name|attribute|argument|nomethod|runtime|lookup)error|exception):|^traceback\(/su,

  // Several of these in a row, and crosses in a form.
  /^(?:undefined|null|nan|none){2,}$/su,
  /^(?:x[-.*/]*){2,36}$|^x{8}-x{4}-[\dmx]x{3}-[nxy]x{3}-x{12}$/su,
]

/** A text as the table of words has it: without case, marks, blanks, `_` and `-`, and without punctuation around it. */
export const wordOf = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(MARKS, '')
    .replace(NEGLIGIBLE, '')
    .replace(AROUND, '')
    .replaceAll('-', '')

/** The words of a list with commas between them. */
export const wordsIn = (list: string): Set<string> => new Set(list.split(',').map(wordOf))

const nothing = wordsIn(NOTHING)

/**
 * Whether a text is what remains of a missing value: of a template that was not filled, of an object that was written as
 * text, or a word that says so. The coding of HTML and of URLs is removed once.
 */
export const isLeftover = (text: string, isWord = (word: string) => nothing.has(word)): boolean => {
  if (text.length > 12 * LEFTOVER_LENGTH_MAX) return false
  const plain = decodeHtml(decodePercent(text.normalize('NFKC'))).toLowerCase()
  const bare = plain.replace(NEGLIGIBLE, '')
  // Some of the patterns take quadratic time.
  if (bare.length > LEFTOVER_LENGTH_MAX) return false
  if (FORMS.some((form) => form.test(bare))) return true
  const word = wordOf(plain)
  return isWord(word) || (isTwice(word) && isWord(word.slice(word.length / 2))) || areWords(plain, isWord)
}

/** Not `Nana`. */
const isTwice = (word: string): boolean =>
  word.length >= 8 && word.slice(0, word.length / 2) === word.slice(word.length / 2)

/** Whether a text is nothing but words, such as `undefined none` and `contact.email`. */
const areWords = (plain: string, isWord: (word: string) => boolean): boolean =>
  plain
    .split(SEPARATORS)
    .filter((text) => text !== '')
    .every(
      (text) => isWord(wordOf(text)) || text.split(INNER_SEPARATORS).every((part) => isWord(wordOf(part))),
    )
