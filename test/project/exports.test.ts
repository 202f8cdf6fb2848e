import { readFileSync } from 'node:fs'
import t from 'tap'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** The names that an entry exports. */
const namesIn = (entry: string): string[] =>
  [...read(`src/entry/${entry}.ts`).matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) =>
    list.split(',').flatMap((name) => /(\w+)\s*$/.exec(name)?.[1] ?? []),
  )

t.test('no name at the root of the package is a global of browsers or of Node', async (t) => {
  const names = namesIn('index')
  t.ok(names.includes('createService') && names.includes('CreatePageInput'))
  const globals = new Set(
    ['lib.dom', 'lib.es5'].flatMap((lib) =>
      [
        ...read(
          `node_modules/@typescript/typescript-${process.platform}-${process.arch}/lib/${lib}.d.ts`,
        ).matchAll(/^(?:declare var|interface|type) (\w+)/gm),
      ].map(([, name = '']) => name),
    ),
  )
  t.ok(globals.has('Event'))
  t.strictSame(
    names.filter((name) => globals.has(name) || name in globalThis),
    [],
  )
})

t.test('what a store is made of is exported beside the root', async (t) => {
  const names = namesIn('store')
  t.ok(names.includes('SmallStore') && names.includes('Activities'))
  t.strictSame(
    names.filter((name) => namesIn('index').includes(name)),
    ['DomainFailure', 'FailureFacts', 'FailureKind', 'Scope', 'Store', 'EventType', 'RawJson'],
  )
})
