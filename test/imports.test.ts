import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const files = globSync('**/*.ts', { cwd: SRC }).map((file) => ({
  file,
  text: readFileSync(join(SRC, file), 'utf8'),
}))

/** Which files may import what at run time; the first rule that matches a file counts. */
const RULES: readonly (readonly [files: RegExp, mayImport: RegExp])[] = [
  [/^shapes\//, /^(shapes\/|valibot$)/],
  [/^core\//, /^(core\/|node:)/],
  [/^adapters\/http\/docs\//, /^(adapters\/http\/|node:)/],
  [/^adapters\/http\//, /^(core\/|shapes\/|adapters\/http\/(?!docs\/)|node:|valibot$)/],
  [/^adapters\/postgres\//, /^(core\/|shapes\/|adapters\/(postgres\/|[^/]+\.ts$)|node:|postgres$)/],
  [/^adapters\/sqlite\//, /^(core\/|shapes\/|adapters\/(sqlite\/|[^/]+\.ts$)|node:)/],
  [/^adapters\/memory\//, /^(core\/|shapes\/|adapters\/(memory\/|[^/]+\.ts$)|node:)/],
  [/^adapters\/naming\//, /^(core\/|shapes\/|adapters\/naming\/|node:)/],
  [/^adapters\/metrics\//, /^(adapters\/metrics\/|prom-client$)/],
  [/^adapters\/tracing\//, /^(node:|@opentelemetry\/api$)/],
  [/^adapters\/ids\.ts$/, /^(core\/|node:|ulid$)/],
  [/^adapters\/log\.ts$/, /^(core\/|node:|pino$)/],
  [/^adapters\/(doctor|move)\.ts$/, /^(adapters\/|core\/|config\.ts$)/],
  [
    /^cli\/(backup|doctor|move)\.ts$/,
    /^(cli\/|adapters\/(doctor|move|sqlite\/backup)\.ts$|(config|settings|setting-values)\.ts$)/,
  ],
  [/^adapters\/[^/]+\.ts$/, /^(core\/|shapes\/|node:)/],
  [/^compose(-tools)?\.ts$/, /./],
  [/^observe\.ts$/, /^(adapters\/(http|metrics|naming|tracing)\/|core\/)/],
  [/^config\.ts$/, /^(core\/|settings\.ts$)/],
  [/^settings\.ts$/, /^$/],
  [
    /^cli\//,
    /^(cli\/|compose(-tools)?\.ts$|observe\.ts$|config\.ts$|settings\.ts$|core\/|shapes\/|adapters\/log\.ts$|node:)/,
  ],
  // Shared by the service and the entries below.
  [/^use-cases\.ts$/, /^core\//],
  [/^compose-callers\.ts$/, /^(core\/|adapters\/http\/wrong-keys\.ts$)/],
  [/^compose-publisher\.ts$/, /^(core\/|adapters\/publisher\.ts$|use-cases\.ts$)/],
  // The entries of the package, one file each.
  [/^index\.ts$/, /^(core\/|shapes\/|adapters\/memory\/store\.ts$|adapters\/ids\.ts$)/],
  [
    /^http\.ts$/,
    /^(core\/|adapters\/http\/|adapters\/ids\.ts$|compose-callers\.ts$|config\.ts$|use-cases\.ts$|node:)/,
  ],
  [/^(postgres|sqlite)\.ts$/, /^(adapters\/(postgres|sqlite)\/|adapters\/read-migrations\.ts$)/],
  [/^(memory|naming)\.ts$/, /^adapters\/(memory|naming)\//],
  [/^publisher\.ts$/, /^compose-publisher\.ts$/],
]

/** What a file imports at run time: paths within src, or names of packages. Imports of types do not count. */
const importsOf = (file: string, text: string): string[] => {
  const statements = text.matchAll(/^(?:import|export)\s+(?!type\b)([^'"`;=]*?\bfrom\s+)?['"]([^'"]+)['"]/gm)
  const onDemand = text.matchAll(/\bimport\(\s*()['"]([^'"]+)['"]/g)
  return [...statements, ...onDemand].flatMap(([, names = '', from = '']) => {
    const inBraces = /^\{([^}]*)\}/.exec(names)?.[1]
    const typesAlone = inBraces?.split(',').every((name) => name.trim() === '' || /^type\s/.test(name.trim()))
    if (typesAlone) return []
    return from.startsWith('.') ? [relative(SRC, join(SRC, dirname(file), from))] : [from]
  })
}

t.test('imports go in one direction only', async (t) => {
  for (const { file, text } of files) {
    const mayImport = RULES.find(([which]) => which.test(file))?.[1]
    const wrong = importsOf(file, text).filter((from) => !mayImport?.test(from))
    t.strictSame(wrong, [], file)
  }
})

/** The packages that a file of src imports, directly or through other files. */
const packagesOf = (file: string, seen = new Set<string>()): string[] => {
  if (seen.has(file)) return []
  seen.add(file)
  const text = files.find((one) => one.file === file)?.text ?? ''
  return importsOf(file, text).flatMap((from) =>
    /\.(ts|json)$/.test(from) ? packagesOf(from, seen) : from.startsWith('node:') ? [] : [from],
  )
}

t.test('an entry of the package brings only the packages that it needs', async (t) => {
  const packages = (file: string) => [...new Set(packagesOf(file))].sort()
  t.strictSame(packages('index.ts'), ['ulid', 'valibot'])
  t.strictSame(packages('http.ts'), ['ulid', 'valibot'])
  t.strictSame(packages('postgres.ts'), ['postgres'])
  for (const file of ['sqlite.ts', 'memory.ts', 'naming.ts', 'publisher.ts'])
    t.strictSame(packages(file), [], file)
})

t.test('type imports do not count, every other form does', async (t) => {
  const text = `import type { A } from './a.ts'\nimport { type B, c } from '../shapes/b.ts'\nimport { type D } from 'd'
import {\n  e,\n} from './e.ts'\nimport 'f'\nexport * from 'g'\nexport type * from 'h'\nawait import('./i.ts')\n`
  t.strictSame(importsOf('core/x.ts', text), ['shapes/b.ts', 'core/e.ts', 'f', 'g', 'core/i.ts'])
})

t.test(
  'no transaction is run by the PostgreSQL driver, which can throw where nobody catches it',
  async (t) => {
    t.strictSame(
      files.filter(({ text }) => text.includes('sql.begin')).map(({ file }) => file),
      [],
    )
  },
)

/** Files over 200 lines, and why. */
const LONG: Readonly<Record<string, string>> = {
  'core/ports/none.ts': '',
}

t.test('no file exceeds 200 lines', async (t) => {
  const long = files.filter(({ text }) => text.split('\n').length - 1 > 200).map(({ file }) => file)
  t.strictSame(long.sort(), Object.keys(LONG).sort())
})
