import type { Ask } from './connect.ts'

export type Value = string | number | boolean | null
type Part = Value | Fragment
/** A piece of a statement, with its parameters. */
export type Fragment = { readonly texts: readonly string[]; readonly parts: readonly Part[] }

/** A fragment belongs to no connection, so a constant one is made once; the driver would make each piece a promise. */
export const sql = (texts: readonly string[], ...parts: readonly Part[]): Fragment => ({ texts, parts })
export const nothing = sql``
/** Joins these fragments with a separator. */
export const joined = (fragments: readonly Fragment[], between: Fragment): Fragment =>
  fragments.reduce((all, one) => sql`${all}${between}${one}`)

/** Sends one statement for a tenant, or for none; prepared if it is short and the driver may. */
export type Query = (
  tenantId?: string | null,
) => <Row extends object>(texts: readonly string[], ...parts: readonly Part[]) => Promise<readonly Row[]>

export const queryOver =
  (ask: Ask): Query =>
  (tenantId = null) =>
  (texts, ...parts) => {
    const parameters: Value[] = []
    const text = textOf({ texts, parts }, parameters)
    return ask((sql) => sql.unsafe(text, parameters, { prepare: text.length < 10_000 }), tenantId)
  }

/** Adds the parameters to those of the statement. */
const textOf = ({ texts, parts }: Fragment, parameters: Value[]): string => {
  let text = texts[0] ?? ''
  let i = 0
  for (const part of parts) {
    text += typeof part === 'object' && part !== null ? textOf(part, parameters) : `$${parameters.push(part)}`
    text += texts[++i]
  }
  return text
}
