import type { RawJson } from '../shapes/json.ts'

/**
 * One text for all spellings of one JSON value: members in order of name, no blanks, strings escaped one way,
 * numbers as exact decimals (`1`, `1.0` and `10e-1` are one number; 9007199254740993 and …992 are two).
 * The text must be known to be well-formed JSON, and not to nest deeper than a call may; throws where it ends too early.
 *
 * Read by hand, because `JSON.parse` tells how a number was spelled only to a function called for every value, which
 * takes a large payload many times as long.
 */
export const canonicalJson = ({ rawJson: text }: RawJson): string => {
  let at = 0

  const skipBlanks = () => {
    while (text.charCodeAt(at) <= 0x20) at++
    if (at >= text.length) throw endsTooEarly()
  }
  const value = (): string => {
    skipBlanks()
    const char = text.charCodeAt(at)
    if (char === QUOTE) return string()
    if (char === OPEN_OBJECT) return object()
    if (char === OPEN_ARRAY) return array()
    return scalar()
  }

  const string = (): string => {
    const begin = at
    let isEscaped = false
    for (at++; text.charCodeAt(at) !== QUOTE; at++)
      if (text.charCodeAt(at) === BACKSLASH) {
        isEscaped = true
        at++
      } else if (at >= text.length) throw endsTooEarly()
    const source = text.slice(begin, ++at)
    return isEscaped ? JSON.stringify(JSON.parse(source)) : source
  }

  /** Of members with the same name the last one counts, as in `JSON.parse`. */
  const object = (): string => {
    const members = new Map<string, string>()
    at++
    for (skipBlanks(); text.charCodeAt(at) !== CLOSE_OBJECT; skipBlanks()) {
      if (text.charCodeAt(at) === COMMA) at++
      skipBlanks()
      const name = string()
      skipBlanks()
      at++
      members.set(name, value())
    }
    at++
    let written = ''
    for (const name of [...members.keys()].sort()) written += `${written && ','}${name}:${members.get(name)}`
    return `{${written}}`
  }

  const array = (): string => {
    let written = ''
    at++
    for (skipBlanks(); text.charCodeAt(at) !== CLOSE_ARRAY; skipBlanks()) {
      if (text.charCodeAt(at) === COMMA) at++
      written += `${written && ','}${value()}`
    }
    at++
    return `[${written}]`
  }

  /** A number, `true`, `false` or `null`. */
  const scalar = (): string => {
    const begin = at
    let isDigits = true
    for (let char = text.charCodeAt(at); at < text.length && !isEnd(char); char = text.charCodeAt(++at))
      isDigits &&= char >= ZERO && char <= NINE
    if (at === begin) throw new SyntaxError('A text of JSON lacks a value.')
    const source = text.slice(begin, at)
    // Most numbers are like 42; the rest takes longer.
    if (isDigits && source.charCodeAt(0) !== ZERO && text.charCodeAt(at - 1) !== ZERO) return `${source}e0`
    return source.charCodeAt(0) > NINE ? source : canonicalNumeral(source)
  }

  return value()
}

const endsTooEarly = () => new SyntaxError('A text of JSON ends too early.')

// The codes of characters: a look at one of them makes no text.
const [QUOTE, BACKSLASH, COMMA, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x30, 0x39]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
const isEnd = (char: number): boolean =>
  char <= 0x20 || char === COMMA || char === CLOSE_OBJECT || char === CLOSE_ARRAY

const canonicalNumeral = (numeral: string): string => {
  const [, sign, whole, fraction = '', minus = '', exponent = '0'] = NUMERAL.exec(numeral) as unknown as [
    string,
    string,
    string,
    string?,
    string?,
    string?,
  ]
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end-- // a pattern such as /0+$/ takes quadratic time on long runs of zeros
  const significant = digits.slice(0, end)
  if (significant === '') return '0'
  // No double has so many digits in its exponent; such numerals are only equal when spelled alike.
  if (exponent.length > 15) return numeral
  return `${sign}${significant}e${Number(minus + exponent) - fraction.length + digits.length - end}`
}

/** Zeros before an exponent mean nothing, and may be many. */
const NUMERAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE](-)?\+?0*(\d+))?$/
