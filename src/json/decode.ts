// The coding of texts that were meant for a URL or a web page.

/** Names of the characters that delimit variables of templates, stand in addresses, or are invisible. */
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ensp: ' ',
  emsp: ' ',
  shy: '\u00ad',
  zwnj: '\u200c',
  zwj: '\u200d',
  lcub: '{',
  lbrace: '{',
  rcub: '}',
  rbrace: '}',
  lsqb: '[',
  lbrack: '[',
  rsqb: ']',
  rbrack: ']',
  lpar: '(',
  rpar: ')',
  laquo: '«',
  raquo: '»',
  dollar: '$',
  percnt: '%',
  num: '#',
  ast: '*',
  midast: '*',
  verbar: '|',
  vert: '|',
  commat: '@',
  lowbar: '_',
  hyphen: '-',
  dash: '-',
  period: '.',
  colon: ':',
  semi: ';',
  comma: ',',
  sol: '/',
  bsol: '\\',
  plus: '+',
  equals: '=',
  quest: '?',
  excl: '!',
  newline: '\n',
  tab: '\t',
}
const REFERENCE = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,7}));/gi

/** The text without its character references, such as `&nbsp;` and `&#123;`. Unknown ones stay. */
export const decodeHtml = (text: string): string =>
  text.replace(REFERENCE, (reference, decimal, hex, name) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? reference
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10_ffff ? String.fromCodePoint(code) : reference
  })

/** The text before percent-encoding, or the same text if it is malformed. */
export const decodePercent = (text: string): string => {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
