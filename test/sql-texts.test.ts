// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is looked at here is source
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type Literal, literalsIn } from './support/literals.ts'

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const sources = globSync('**/*.ts', { cwd: SRC })
  .sort()
  .map((file) => ({ file, source: readFileSync(join(SRC, file), 'utf8') }))

/** Where a text of SQL is not a constant, and why it may be so. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'adapters/postgres/migrate.ts: sql.unsafe(text)': 'a migration, from sql/, which comes with the program',
  'adapters/sqlite/store.ts: database.exec(sql)': 'a migration, from sql/, which comes with the program',
  'adapters/sqlite/move-from.ts: file.prepare(COUNT[table])': 'one of the constants in that file',
  'adapters/sqlite/move-from.ts: file.prepare(READ[table])': 'one of the constants in that file',
  'adapters/sqlite/open.ts: ${busyMsMax}':
    'a pragma takes no parameters; a setting, checked to be a whole number',
  'adapters/sqlite/open.ts: file.exec(sql)':
    'hands on what the callers of `exec` give, which are looked at here',
  'adapters/sqlite/open.ts: file.prepare(sql)': 'hands on what callers give, who are looked at here',
  'adapters/sqlite/open.ts: prepared(sql)': 'hands on what callers give, who are looked at here',
}

const LOOKS_LIKE_SQL =
  /^\s*(select\s|insert into|update \S+ set|delete from|with \w+ as|create (table|index|unique|trigger)|drop |alter |truncate |pragma |begin|commit|rollback|listen |notify )/i
const isSql = ({ text, isTagged }: Literal): boolean => isTagged || LOOKS_LIKE_SQL.test(text)
const isConstant = (name: string, source: string): boolean =>
  /^[A-Z][A-Z_]*$/.test(name) && new RegExp(`^const ${name} =\\s*['"\`]`, 'm').test(source)

/** What is put together otherwise than by parameters, as pieces of source. */
const faultsIn = (file: string, source: string): string[] => {
  const postgres = file.startsWith('adapters/postgres/')
  const sqlite = file.startsWith('adapters/sqlite/')
  const texts = literalsIn(source).filter(isSql)
  const faults: string[] = []
  for (const text of texts) {
    const { isTagged, before, after, expressions } = text
    const shown = `${text.text.trim().slice(0, 40)}`
    if (!postgres && !sqlite) faults.push(`SQL outside of a store: ${shown}`)
    if (/[^+]\+=?$/.test(before) || /^(\+[^+]|\.(concat|replace|replaceAll)\()/.test(after))
      faults.push(`put together: ${shown}`)
    // Behind the tag everything is a parameter, or a text that was tagged itself.
    if (isTagged) continue
    if (postgres) faults.push(`without the tag: ${shown}`)
    for (const expression of expressions)
      if (!isConstant(expression, source)) faults.push(`\${${expression}}`)
  }
  // Whatever else would make SQL of a text.
  for (const [call] of source.matchAll(/\b\w+\.(unsafe|file)\([^)]*\)|\bsql\((?!\))[^)]*\)/g))
    if (postgres || call.startsWith('sql')) faults.push(call)
  if (sqlite)
    for (const [call, , given = ''] of source.matchAll(
      /\b(?:(?:database|file)\.(get|all|run|exec|prepare)(?:<[^(]*>)?|prepared)\(\s*([\w$]+|['"`])[^,)]*\)?/g,
    ))
      if (!/['"`]/.test(given) && !isConstant(given, source) && !isLocalText(given, source))
        faults.push(call.replaceAll(/<[^(]*>|\s+/g, ''))
  return faults.filter((fault) => EXCEPTIONS[`${file}: ${fault}`] === undefined)
}

/** A name for a text just before it is used. */
const isLocalText = (name: string, source: string): boolean =>
  new RegExp(`^\\s+const ${name} = ['"]`, 'm').test(source)

t.test('texts of SQL are constants, and what comes from outside is a parameter', async (t) => {
  const inStores = sources.filter(({ file }) => /^adapters\/(postgres|sqlite)\//.test(file))
  const counted = inStores.flatMap(({ source }) => literalsIn(source).filter(isSql)).length
  t.ok(counted > 60, `${counted} texts`)
  for (const { file, source } of sources) t.strictSame(faultsIn(file, source), [], file)
})

t.test('there is no exception more than is needed', async (t) => {
  for (const exception of Object.keys(EXCEPTIONS)) {
    const [file = '', piece = ''] = exception.split(': ')
    const { source = '' } = sources.find((one) => one.file === file) ?? {}
    t.ok(source.replaceAll(/\s+/g, ' ').includes(piece), exception)
  }
})

t.test('the guard sees what it guards against', async (t) => {
  const wrong: readonly (readonly [file: string, source: string])[] = [
    ['adapters/postgres/x.ts', 'ask((sql) => sql.unsafe(`select 1 where a = ${a}`))'],
    ['adapters/postgres/x.ts', 'ask((sql) => sql.unsafe(text))'],
    ['adapters/postgres/x.ts', "ask((sql) => sql.file('a.sql'))"],
    ['adapters/postgres/x.ts', 'ask((sql) => sql`select ${sql(column)} from pages`)'],
    ['adapters/postgres/x.ts', 'const text = `select ${a} from pages`'],
    ['adapters/postgres/x.ts', "const text = 'select 1 from pages where id = ' + id"],
    ['adapters/postgres/x.ts', 'ask((sql) => sql`select ${inner(`delete from ${table}`)}`)'],
    ['adapters/sqlite/x.ts', 'database.get(`select 1 from pages where page_id = ${pageId}`)'],
    ['adapters/sqlite/x.ts', 'database.get(`select 1 from ${PAGES}`)'],
    ['adapters/sqlite/x.ts', 'const PAGES = table()\ndatabase.get(`select 1 from ${PAGES}`)'],
    ['adapters/sqlite/x.ts', 'database.run(text, tenantId)'],
    ['adapters/sqlite/x.ts', 'database.all<Row>(text, tenantId)'],
    ['adapters/sqlite/x.ts', "database.all('select 1 where a = ' + a)"],
    ['adapters/sqlite/x.ts', "database.all('select 1 where a = x'.replace('x', a))"],
    ['core/x.ts', "const text = 'select 1 from pages'"],
  ]
  for (const [file, source] of wrong) t.ok(faultsIn(file, source).length > 0, source)
  const right: typeof wrong = [
    ['adapters/postgres/x.ts', 'ask((sql) => sql<Row[]>`select ${columns(sql)} from pages where a = ${a}`)'],
    ['adapters/postgres/x.ts', "// it's `select ${x}`\nconst quote = /[\"'`]/g\nconst word = 'selected'"],
    [
      'adapters/sqlite/x.ts',
      'const PAGES = `\n  select 1`\nconst ONE = `${PAGES} where a = ?`\ndatabase.get(ONE, a)',
    ],
    ['adapters/sqlite/x.ts', "database.run('update pages set a = ? where b = ?', a, b)"],
  ]
  for (const [file, source] of right) t.strictSame(faultsIn(file, source), [], source)
})
