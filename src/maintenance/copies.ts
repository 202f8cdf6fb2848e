import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileAt } from '../adapters/sqlite/place.ts'
import type { Config } from '../config/config.ts'
import { timeInName } from './backup-folder.ts'

/** A whole copy of the embedded database. It contains what was written until it was made. */
export type Copy = { readonly file: string; readonly bytes: number; readonly madeAtMs: number }

/**
 * The copies that this program made: the scheduled backups in `BACKUP_DIR`, and the files that `migrate` and `restore`
 * kept beside the database. It knows nothing of a backup elsewhere. A folder that cannot be read counts as empty.
 */
export const copiesOf = async ({
  database,
  backupDir,
}: Pick<Config, 'database' | 'backupDir'>): Promise<readonly Copy[]> => {
  if (database.kind !== 'sqlite') return []
  const name = basename(database.path)
  const scheduled = backupDir === null ? [] : [{ folder: backupDir, name, isCopy: isScheduled }]
  // A migration keeps its copy beside the path of the database, `restore` beside the file that a link leads to.
  const paths = new Set([resolve(database.path), fileAt(database.path)])
  const beside = [...paths].map((path) => ({ folder: dirname(path), name: basename(path), isCopy: isKept }))
  const found = await Promise.all([...scheduled, ...beside].map(copiesIn))
  return found.flat().sort((one, other) => other.madeAtMs - one.madeAtMs)
}

const isScheduled = (ending: string): boolean => ending.startsWith('.') && timeInName(ending) !== null
/** Neither an unfinished one nor the journal of a damaged file. */
const isKept = (ending: string): boolean =>
  /^\.before-[^/]*$/.test(ending) && !/\.unfinished-|-(wal|journal)$/.test(ending)

type Place = {
  readonly folder: string
  readonly name: string
  /** Whether what follows the name of the database is the ending of a copy. */
  readonly isCopy: (ending: string) => boolean
}
const copiesIn = async ({ folder, name, isCopy }: Place): Promise<readonly Copy[]> => {
  const files = await readdir(folder).catch(() => [])
  const copies = files.filter((file) => file.startsWith(name) && isCopy(file.slice(name.length)))
  const read = copies.map(async (file): Promise<readonly Copy[]> => {
    const path = join(folder, file)
    // The oldest backups are deleted while this looks.
    const found = await stat(path).catch(() => null)
    return found === null
      ? []
      : [{ file: path, bytes: found.size, madeAtMs: timeInName(file) ?? found.mtimeMs }]
  })
  return (await Promise.all(read)).flat()
}
