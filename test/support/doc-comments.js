// Writes the descriptions of the shapes into the built declarations, where editors show them for a member of an input. The
// types of the members come from the shapes, but their descriptions are values, which the compiler does not see.
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import * as v from 'valibot'

const DIST = new URL('../../dist/', import.meta.url)
const MEMBER = /^( *)(?:export declare const |readonly )?(\w+)\??: /

/** The part of a shape, or of an object of shapes, with this name. */
const partOf = (whole, name) => {
  if (typeof whole !== 'object' || whole === null) return undefined
  return whole.entries?.[name] ?? whole[name] ?? partOf(whole.wrapped ?? whole.item, name)
}
const textOf = (shape) => {
  const text = shape && (v.getDescription(shape) ?? textOf(shape.wrapped))
  return text && typeof shape.default === 'string' ? `${text} By default \`${shape.default}\`.` : text
}

for (const file of globSync(['service/operations/*.d.ts', 'shapes/*.d.ts'], { cwd: DIST })) {
  const url = new URL(file, DIST)
  const parts = [await import(new URL(file.replace('.d.ts', '.js'), DIST).href)]
  const lines = readFileSync(url, 'utf8').split('\n')
  const documented = lines.flatMap((line) => {
    const [, indent = '', name] = MEMBER.exec(line) ?? []
    if (name === undefined) return [line]
    const level = indent.length / 4
    parts.length = level + 1
    parts.push(partOf(parts[level], name))
    const text = level > 0 && parts.at(-1)?.kind === 'schema' && textOf(parts.at(-1))
    return text ? [`${indent}/** ${text.replaceAll('*/', '* /')} */`, line] : [line]
  })
  writeFileSync(url, documented.join('\n'))
}
