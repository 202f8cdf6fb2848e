import { existsSync, statfsSync } from 'node:fs'
import { fileSizes } from '../adapters/sqlite/sizes.ts'
import type { Config } from '../config/config.ts'
import { type Check, failed, passed } from './check.ts'
import { copiesOf } from './copies.ts'

/** What an embedded database and its copies occupy, and whether the next backup fits into `BACKUP_DIR`. */
export const examineSizes = async (config: Config): Promise<readonly Check[]> => {
  const { database, backupDir } = config
  if (database.kind !== 'sqlite' || !existsSync(database.path)) return []
  const { databaseBytes, journalBytes } = await fileSizes(database.path)
  const copies = await copiesOf(config)
  const copiesBytes = copies.reduce((sum, { bytes }) => sum + bytes, 0)
  const ofCopies = copies.length === 1 ? '1 copy' : `${copies.length} copies`
  const sizes = passed(
    'sizes',
    `the database has ${databaseBytes} bytes, its journal ${journalBytes} bytes, ${ofCopies} ${copiesBytes} bytes`,
  )
  if (backupDir === null || !existsSync(backupDir)) return [sizes]
  return [sizes, backupDisk(backupDir, databaseBytes + (journalBytes ?? 0))]
}

const backupDisk = (folder: string, neededBytes: number): Check => {
  const { bavail, bsize } = statfsSync(folder)
  const detail = `${bavail * bsize} bytes free in ${folder}`
  if (bavail * bsize >= neededBytes) return passed('backup disk', detail)
  const remedy = `free some space there: the next backup needs ${neededBytes} bytes; or lower BACKUPS_KEPT and delete the oldest`
  return failed('backup disk', detail, remedy)
}
