import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sqlFiles } from '../../src/adapters/stores/sql-files.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const NEXT = 'alter table tenants add column note text;\n'
/** The number of its migration. */
export const NEXT_NUMBER = sqlFiles('sqlite').length + 1

/** Makes a later release of the program in a folder, 0.2.0, which has one more migration. Returns the folder. */
export const makeNextRelease = (folder: string): string => {
  mkdirSync(folder, { recursive: true })
  for (const part of ['src', 'sql', 'package.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const kind of ['sqlite', 'postgres'])
    writeFileSync(join(folder, 'sql', kind, `${`${NEXT_NUMBER}`.padStart(4, '0')}_next.sql`), NEXT)
  const version = join(folder, 'src/config/version.ts')
  writeFileSync(version, readFileSync(version, 'utf8').replace(/'[\d.]+'/, "'0.2.0'"))
  return folder
}
