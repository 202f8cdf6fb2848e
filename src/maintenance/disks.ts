import { existsSync } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileAt } from '../adapters/sqlite/place.ts'
import type { Config } from '../config/config.ts'

/** The disk of a folder: what this user may still write there, and its whole size. */
export type Disk = {
  readonly holds: 'database' | 'backups'
  readonly folder: string
  readonly freeBytes: number
  readonly bytes: number
}

/** The disks of an embedded database and of `BACKUP_DIR`: one, if both are on the same. The machine of PostgreSQL is not seen. */
export const disksOf = async ({
  database,
  backupDir,
}: Pick<Config, 'database' | 'backupDir'>): Promise<readonly Disk[]> => {
  if (database.kind !== 'sqlite') return []
  const folder = nearestFolder(fileAt(database.path))
  const ofDatabase = await diskAt(folder, 'database')
  if (backupDir === null || !existsSync(backupDir)) return [ofDatabase]
  const [one, other] = await Promise.all([stat(folder), stat(backupDir)])
  return one.dev === other.dev ? [ofDatabase] : [ofDatabase, await diskAt(backupDir, 'backups')]
}

const diskAt = async (folder: string, holds: Disk['holds']): Promise<Disk> => {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { holds, folder, freeBytes: bavail * bsize, bytes: blocks * bsize }
}

/** The folder of the file, or the nearest one above it that exists. */
export const nearestFolder = (path: string): string => {
  const folder = dirname(path)
  return existsSync(folder) ? folder : nearestFolder(folder)
}
