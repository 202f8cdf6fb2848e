/** A string or a template in a source text. */
export type Literal = {
  /** By `sql`, as the driver of PostgreSQL has it. */
  readonly isTagged: boolean
  readonly text: string
  /** What is put into it, as source. */
  readonly expressions: readonly string[]
  /** The source next to it, on either side. */
  readonly before: string
  readonly after: string
}

/** After one of these a slash begins a regular expression, and does not divide. */
const BEFORE_REGEX = /(^|[(,=:[!&|?{};>])\s*$/

/** The literals of a source text in order, those inside of templates too. Comments and regular expressions are none. */
export const literalsIn = (source: string): Literal[] => {
  const found: Literal[] = []
  let at = 0
  while (at < source.length) {
    const mark = source[at] as string
    const two = source.slice(at, at + 2)
    if (two === '//') at = endOr(source.indexOf('\n', at), source)
    else if (two === '/*') at = endOr(source.indexOf('*/', at), source) + 2
    else if (mark === '/' && BEFORE_REGEX.test(source.slice(Math.max(0, at - 40), at)))
      at = endOfRegex(source, at)
    else if (mark === "'" || mark === '"') {
      const end = endOfQuoted(source, at)
      found.push(literal(source, at, end, source.slice(at + 1, end - 1), []))
      at = end
    } else if (mark === '`') {
      const { end, text, expressions } = templateAt(source, at)
      found.push(literal(source, at, end, text, expressions), ...expressions.flatMap(literalsIn))
      at = end
    } else at++
  }
  return found
}

const endOr = (index: number, { length }: string): number => (index < 0 ? length : index)

const literal = (
  source: string,
  begin: number,
  end: number,
  text: string,
  expressions: readonly string[],
): Literal => {
  const before = source.slice(0, begin)
  const isTagged = source[begin] === '`' && /\bsql(?:<(?:(?!\bsql<)[^`])*>)?$/.test(before)
  return { isTagged, text, expressions, before: before.trimEnd(), after: source.slice(end).trimStart() }
}

const endOfQuoted = (source: string, begin: number): number => {
  let at = begin + 1
  while (at < source.length && source[at] !== source[begin]) at += source[at] === '\\' ? 2 : 1
  return at + 1
}

const endOfRegex = (source: string, begin: number): number => {
  let at = begin + 1
  for (let inClass = false; at < source.length && (inClass || source[at] !== '/'); at++) {
    if (source[at] === '\\') at++
    else if (source[at] === '[') inClass = true
    else if (source[at] === ']') inClass = false
  }
  return at + 1
}

const templateAt = (source: string, begin: number) => {
  const expressions: string[] = []
  let text = ''
  let at = begin + 1
  while (at < source.length && source[at] !== '`') {
    if (source.startsWith('${', at)) {
      const end = endOfExpression(source, at + 2)
      expressions.push(source.slice(at + 2, end))
      text += '…'
      at = end + 1
    } else {
      text += source[at]
      at += source[at] === '\\' ? 2 : 1
    }
  }
  return { end: at + 1, text, expressions }
}

const endOfExpression = (source: string, begin: number): number => {
  let at = begin
  for (let depth = 0; at < source.length && (depth > 0 || source[at] !== '}'); ) {
    const mark = source[at] as string
    if (mark === '`') at = templateAt(source, at).end
    else if (mark === "'" || mark === '"') at = endOfQuoted(source, at)
    else {
      if (mark === '{') depth++
      if (mark === '}') depth--
      at++
    }
  }
  return at
}
