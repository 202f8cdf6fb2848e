import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const SRC = fileURLToPath(new URL('../../src', import.meta.url))
const files = globSync('**/*.ts', { cwd: SRC }).map((file) => ({
  file,
  text: readFileSync(join(SRC, file), 'utf8'),
}))

/** A folder imports itself and the folders after it. */
const ORDER = [
  /^(entry|cli)\//,
  /^compose\//,
  /^(service(?!\/operations)|maintenance)\//,
  /^adapters\//,
  /^config\//,
  /^service\/operations\//,
  /^core\//,
  /^shapes\//,
  /^json\//,
]
/** Adapters do not import each other; what they share lies beside them, and what the stores share in `stores/`. */
const ADAPTER = /^adapters\/(?!stores\/)([^/]+)\//
const PACKAGES: Readonly<Record<string, RegExp>> = {
  valibot: /^(shapes|adapters\/http)\//,
  // Made when the document is generated, not at run time.
  '@valibot/to-json-schema': /^adapters\/http\/openapi\//,
  postgres: /^adapters\/postgres\//,
  'prom-client': /^adapters\/metrics\//,
  pino: /^adapters\/(readable-)?log\.ts$/,
  ulid: /^adapters\/ids\.ts$/,
  '@opentelemetry/api': /^adapters\/open-telemetry\.ts$/,
  'node:http': /^adapters\/(http\/node|webhooks)\//,
  'node:sqlite': /^(adapters\/sqlite|maintenance)\//,
}

const isUpwards = (file: string, from: string): boolean => {
  const rank = (path: string) => ORDER.findIndex((folder) => folder.test(path))
  return rank(file) > rank(from)
}

const mayImport = (file: string, from: string): boolean => {
  if (from.startsWith('node:') || !/\.(ts|json)$/.test(from))
    return (PACKAGES[from] ?? (from.startsWith('node:') ? /./ : /^$/)).test(file)
  // The client is copied into other programs: it imports nothing, and nothing imports it.
  if (/^client\//.test(file) || /^client\//.test(from)) return false
  // The console runs in a browser: it shares only how exact JSON is read.
  if (/^console\//.test(file) || /^console\//.test(from))
    return /^console\//.test(file) && /^(console|json)\//.test(from)
  if (isUpwards(file, from)) return false
  const [, own] = ADAPTER.exec(file) ?? []
  const [, others] = ADAPTER.exec(from) ?? []
  // The store on a cluster takes the one on PostgreSQL, and replaces the verbs that differ.
  if (own === 'citus' && others === 'postgres') return true
  return !file.startsWith('adapters/') || others === undefined || others === own
}

/** The imports of a file at run time: paths within src, or names of packages. Imports of types do not count. */
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
    const wrong = importsOf(file, text).filter((from) => !mayImport(file, from))
    t.strictSame(wrong, [], file)
  }
})

/** The files that a file names in its imports, even those of types: a reader follows these, too. */
const filesNamedIn = (file: string, text: string): string[] =>
  [...text.matchAll(/^(?:import|export)\b[^'"`;=]*?\bfrom\s+'(\.[^']+\.ts)'/gm)].map(([, from = '']) =>
    relative(SRC, join(SRC, dirname(file), from)),
  )

t.test('types are imported in the same direction', async (t) => {
  for (const { file, text } of files) {
    const wrong = filesNamedIn(file, text).filter((from) => isUpwards(file, from))
    t.strictSame(wrong, [], file)
  }
})

t.test('files do not import each other in a circle', async (t) => {
  const importing = new Map(files.map(({ file, text }) => [file, filesNamedIn(file, text)]))
  // Whatever imports nothing that is left is in no circle.
  for (let before = -1; before !== importing.size; ) {
    before = importing.size
    for (const [file, from] of importing) if (!from.some((one) => importing.has(one))) importing.delete(file)
  }
  t.strictSame([...importing.keys()], [])
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
  t.strictSame(packages('entry/index.ts'), ['ulid', 'valibot'])
  t.strictSame(packages('entry/http.ts'), ['ulid', 'valibot'])
  t.strictSame(packages('entry/postgres.ts'), ['postgres'])
  t.strictSame(packages('entry/publisher.ts'), ['ulid'])
  for (const file of ['entry/sqlite.ts', 'entry/memory.ts', 'entry/naming.ts'])
    t.strictSame(packages(file), [], file)
})

t.test('of the imports at run time, type imports do not count, and every other form does', async (t) => {
  const text = [
    "import type { A } from '../a.ts'",
    "import { type B, c } from '../shapes/b.ts'",
    "import { type D } from 'd'",
    "import {\n  e,\n} from './e.ts'",
    "import 'f'",
    "export * from 'g'",
    "export type * from 'h'",
    "await import('./i.ts')",
  ].join('\n')
  t.strictSame(importsOf('core/x.ts', text), ['shapes/b.ts', 'core/e.ts', 'f', 'g', 'core/i.ts'])
})

t.test(
  'one file alone runs transactions by the PostgreSQL driver, which can throw where nobody catches it',
  async (t) => {
    t.strictSame(
      files.filter(({ text }) => text.includes('sql.begin')).map(({ file }) => file),
      ['adapters/citus/transaction.ts'],
    )
  },
)
