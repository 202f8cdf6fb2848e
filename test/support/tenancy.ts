/** Whether a statement can run where tables are distributed by tenant, and reaches nobody else's rows. */

/** On every machine: tenants, the keys, which are found by their hash, and the list of migrations. */
export const EVERYWHERE = ['tenants', 'api_keys', 'schema_migrations']

/** Anything else may be volatile. A name with the bracket close to it is a call; `any` and `in` are not. */
const FUNCTIONS = new Set(['unnest', 'coalesce', 'nullif', 'array_to_string', 'any', 'sum', 'octet_length'])
/** A claim serves no caller. */
const CLAIM = /^with recursive waiting /

/** What is wrong with it, in words. */
export const tenancyFaults = (text: string, tables: readonly string[]): string[] => {
  const sql = text.trim().replaceAll(/\s+/g, ' ')
  const named = sql.match(new RegExp(`\\b(${tables.join('|')})\\b`, 'g'))?.length ?? 0
  // A signal, say.
  if (named === 0) return []
  if (CLAIM.test(sql)) return []
  const faults: string[] = []
  if (/ for (no key |key )?(update|share)| skip locked/.test(sql)) faults.push('locks rows by hand')
  if (/ or /.test(sql)) faults.push('says or, behind which a tenant need not hold')
  if (/\bcurrent_(timestamp|date|time)\b|\blocaltime/.test(sql)) faults.push('asks the clock')
  for (const [, name = ''] of sql.matchAll(/([a-z_]\w*)\(/g))
    if (!FUNCTIONS.has(name)) faults.push(`calls ${name}`)
  const scopes = scopesOf(sql)
  const seen = scopes.flatMap((scope) => referencesIn(scope, tables))
  if (named !== seen.length)
    faults.push(`names tables ${named} times, of which ${seen.length} are understood`)
  for (const reference of seen) faults.push(...faultsOf(reference))
  return faults
}

/** A select, or one side of a union, without the brackets in it; brackets are left as `()`. */
type Scope = { readonly text: string; readonly outer: Scope | null }
type Reference = {
  readonly verb: string
  readonly table: string
  readonly alias: string
  readonly scope: Scope
}

const scopesOf = (sql: string, outer: Scope | null = null): Scope[] => {
  let depth = 0
  let flat = ''
  let inner = ''
  const inners: { readonly text: string; readonly part: number }[] = []
  let part = 0
  for (const mark of sql) {
    if (mark === ')') depth--
    if (mark === ')' && depth === 0) {
      if (/^ ?(with|select|insert|update) /.test(inner)) inners.push({ text: inner, part })
      else flat += inner
      inner = ''
    }
    if (depth === 0) flat += mark
    else inner += mark
    if (mark === '(') depth++
    if (flat.endsWith(' union all ')) {
      part++
      flat = `${flat.slice(0, -' union all '.length)}\n`
    }
  }
  const parts = flat.split('\n').map((text) => ({ text: text.trim(), outer }))
  return [...parts, ...inners.flatMap(({ text, part }) => scopesOf(text.trim(), parts[part] ?? null))]
}

const referencesIn = (scope: Scope, tables: readonly string[]): Reference[] => {
  const places = new RegExp(
    `(from|join|insert into|update|,) (${tables.join('|')})\\b(?: as)?(?: (?!set|where|on|order|left|cross|join|limit)([a-z]+))?`,
    'g',
  )
  return [...scope.text.matchAll(places)].map(([, verb = '', table = '', alias = table]) => ({
    ...{ verb, table, alias, scope },
  }))
}

const faultsOf = ({ verb, table, alias, scope }: Reference): string[] => {
  if (EVERYWHERE.includes(table)) return []
  const { text } = scope
  if (verb === 'insert into') {
    const fine = /^.*?\(tenant_id, .*?select tenant_id, .* from unnest\b/.test(text)
    const conflict = /on conflict \((\w+)/.exec(text)?.[1] ?? 'tenant_id'
    return fine && conflict === 'tenant_id' ? [] : [`inserts into ${table} not from arrays by tenant`]
  }
  const limited = / limit /.test(text)
  return isBound(alias, scope, limited)
    ? []
    : [`reads ${table} of ${limited ? 'perhaps several tenants, with a limit' : 'any tenant'}`]
}

/** Its tenant is that of a parameter, or of something else whose tenant is. */
const isBound = (
  alias: string,
  scope: Scope,
  byParameterAlone: boolean,
  asked: readonly string[] = [],
): boolean => {
  const { text, outer } = scope
  if (new RegExp(`\\b${alias}\\.tenant_id = \\$\\d+`).test(text)) return true
  if (byParameterAlone || asked.includes(alias)) return false
  const others = [...text.matchAll(new RegExp(`\\b${alias}\\.tenant_id = (\\w+)\\.tenant_id`, 'g'))]
  return others.some(
    ([, other = '']) =>
      isSource(other, scope, [...asked, alias]) || (outer !== null && isSource(other, outer, asked)),
  )
}

const isSource = (alias: string, scope: Scope, asked: readonly string[]): boolean =>
  new RegExp(`unnest\\(.*\\) as ${alias} \\((\\w+, )*tenant_id\\b`).test(scope.text) ||
  // A select in brackets, or one given a name: what it reads was looked at by itself.
  new RegExp(`\\(\\) ${alias}\\b|\\b${alias} as \\(\\)`).test(scope.text) ||
  isBound(alias, scope, false, asked)

/**
 * The same for a statement of the embedded database, whose parameters are marks: it reads or writes no table without
 * the tenant, given as a parameter, or as that of a table for which it is.
 */
export const embeddedTenancyFaults = (text: string, tables: readonly string[]): string[] => {
  const sql = text.trim().replaceAll(/\s+/g, ' ')
  const named = sql.match(new RegExp(`\\b(${tables.join('|')})\\b`, 'g'))?.length ?? 0
  const places = new RegExp(
    `\\b(from|join|update|into) (${tables.join('|')})\\b(?: as)?(?: (?!set|where|on|order|join|limit|values)([a-z]+))?`,
    'g',
  )
  const references = [...sql.matchAll(places)]
  const isBound = (alias: string): boolean => {
    if (references.length === 1 && /where tenant_id = \?/.test(sql)) return true
    if (new RegExp(`\\b${alias}\\.tenant_id = \\?`).test(sql)) return true
    const [, other] = new RegExp(`\\bon ${alias}\\.tenant_id = (\\w+)\\.tenant_id`).exec(sql) ?? []
    return other !== undefined && other !== alias && isBound(other)
  }
  const faults = references.flatMap(([, verb = '', table = '', alias = table]) => {
    if (EVERYWHERE.includes(table)) return []
    const isFine = verb === 'into' ? /\(tenant_id, .*\) values \(\?, /.test(sql) : isBound(alias)
    return isFine ? [] : [`${table} of any tenant`]
  })
  if (named !== references.length)
    faults.push(`names tables ${named} times, of which ${references.length} are understood`)
  if (references.length > 0 && / or | union | in \(/.test(sql)) faults.push('says more than this understands')
  return faults
}
