import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Config } from '../config/config.ts'
import { obstructed } from '../core/engine/obstacles.ts'
import { isoTime } from '../core/engine/times.ts'
import { backUp, embeddedPath, removeBeside } from './backup.ts'

const COMMAND_MS_MAX = 60 * 60_000
/** The end of stderr that is kept: some commands report their progress all the time. */
const WORDS_MAX = 2_000

/** A time as a part of file names. */
export const fileTime = (ms: number): string => isoTime(ms).replaceAll(':', '-')
const NAMED = /\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z$/
/** The time at the end of a file's name, in milliseconds, or null. */
export const timeInName = (file: string): number | null => {
  const [time] = /\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z$/.exec(file) ?? []
  return time === undefined ? null : Date.parse(time.replace(/T(..)-(..)-/, 'T$1:$2:'))
}

/** The names of the backups of this database in `BACKUP_DIR`, newest first: they end with the times. */
const backupsIn = (folder: string, name: string): string[] => {
  const isBackup = (file: string) => file.replace(NAMED, '') === name && file !== name
  return readdirSync(folder).filter(isBackup).sort().reverse()
}

/**
 * When the newest backup in `BACKUP_DIR` was made; 0 if there is none, null without that setting. One from the future
 * was named by a wrong clock.
 */
export const lastBackupMs = ({ database, backupDir }: Config, nowMs: number): number | null => {
  if (backupDir === null || database.kind !== 'sqlite') return null
  const name = basename(database.path)
  const backups = existsSync(backupDir) ? backupsIn(backupDir, name) : []
  const newest = backups.find((file) => file <= `${name}.${fileTime(nowMs)}`)
  return newest === undefined ? 0 : (timeInName(newest) ?? 0)
}

/** A file kept until the next success, for `doctor`. */
export const commandFailure = (place: string): string => `${place}.command-failed`

/** Whether a backup is due, or the newest one must be passed on again. */
export const isBackupDue = (config: Config, nowMs: number): boolean =>
  isLate(config, nowMs) || isUnpassed(config)
const isLate = (config: Config, nowMs: number): boolean =>
  nowMs - (lastBackupMs(config, nowMs) ?? nowMs) >= config.backupEvery
const isUnpassed = ({ database, backupDir, backupCommand }: Config): boolean =>
  backupCommand !== null &&
  backupDir !== null &&
  database.kind === 'sqlite' &&
  existsSync(commandFailure(join(backupDir, basename(database.path))))

/**
 * Backs up into `BACKUP_DIR`, deletes all but the newest backups and passes the new one to `BACKUP_COMMAND`. Processes do
 * so one after another. With `onlyIfDue` it may only pass the newest on again, or return null: there is nothing to do.
 */
export const backUpIntoFolder = (config: Config, folder: string, onlyIfDue: boolean) => {
  const { database, backupsKept, backupCommand } = config
  const name = basename(embeddedPath(database, 'Back it up with pg_dump'))
  if (!existsSync(folder)) throw obstructed('no_folder', `The folder ${folder} does not exist.`)
  const place = join(folder, name)
  // The system releases this lock if the process is killed.
  const lock = new DatabaseSync(resolve(`${place}.lock`))
  try {
    lock.exec(`pragma busy_timeout = ${COMMAND_MS_MAX}; begin exclusive`)
    const nowMs = Date.now()
    if (onlyIfDue && !isLate(config, nowMs)) {
      if (backupCommand === null || !isUnpassed(config)) return null
      const file = `${place}.${fileTime(lastBackupMs(config, nowMs) ?? 0)}`
      pass(file, backupCommand, commandFailure(place))
      return { file, bytes: statSync(file).size }
    }
    removeBeside(place, /^\.\d{4}-\d\d-\d\dT.*Z\.unfinished-/)
    const copy = backUp(database, `${place}.${fileTime(Date.now())}`)
    const made = basename(copy.file)
    const all = backupsIn(folder, name)
    // A backup with a later name was named by a wrong clock: it is older.
    const others = [...all.filter((file) => file < made), ...all.filter((file) => file > made)]
    for (const file of others.slice(backupsKept - 1)) rmSync(join(folder, file))
    rmSync(commandFailure(place), { force: true })
    if (backupCommand !== null) pass(copy.file, backupCommand, commandFailure(place))
    return copy
  } finally {
    lock.close()
  }
}

const pass = (file: string, command: string, failure: string): void => {
  const limits = { timeout: COMMAND_MS_MAX, killSignal: 'SIGKILL', maxBuffer: Infinity } as const
  writeFileSync(failure, `${file} is complete, but BACKUP_COMMAND has not ended.`)
  try {
    execFileSync(command, [file], { stdio: ['ignore', 'ignore', 'pipe'], ...limits })
    rmSync(failure)
  } catch (error) {
    const { message } = error as Error
    const words = message.length > WORDS_MAX ? `…${message.slice(-WORDS_MAX)}` : message
    const detail = `${file} is complete, but BACKUP_COMMAND failed: ${words}`
    writeFileSync(failure, detail)
    throw new Error(detail)
  }
}
