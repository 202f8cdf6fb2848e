import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Config } from '../config/config.ts'
import { orNull } from '../core/engine/or-null.ts'
import { isoTime } from '../core/engine/times.ts'
import { commandFailure, lastBackupMs } from './backup-folder.ts'
import { type Check, failed, passed } from './check.ts'

/** Whether the scheduled backups of an embedded database are made in time, and passed on. */
export const lateBackups = (config: Config, nowMs: number): readonly Check[] => {
  const { database, backupDir, backupEvery } = config
  const lastMs = orNull(() => lastBackupMs(config, nowMs) ?? -1)
  if (lastMs === null)
    return [
      failed(
        'backups',
        `${backupDir} cannot be read`,
        'see BACKUP_DIR: it must be a folder that this user can read and write',
      ),
    ]
  if (lastMs === -1 || backupDir === null || database.kind !== 'sqlite') return []
  const failure = commandFailure(join(backupDir, basename(database.path)))
  if (existsSync(failure))
    return [failed('backups', readFileSync(failure, 'utf8'), 'correct it, then run prospect-pages backup')]
  const newest = lastMs === 0 ? `${backupDir} has no backup` : `the newest is from ${isoTime(lastMs)}`
  if (nowMs - lastMs <= 2 * backupEvery) return [passed('backups', newest)]
  return [failed('backups', newest, 'see the log of the server, or run prospect-pages backup')]
}
