import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Check, Examined } from '../check.ts'
import { lastMigration, openReadOnly } from './read-only.ts'

type Wanted = {
  readonly path: string
  /** Look at every page of a large file too. */
  readonly thorough: boolean
  readonly nowMs: number
}

const FREE_BYTES_MIN = 268_435_456
/** A file of this size takes some seconds to be looked at. */
const QUICK_BYTES_MAX = 1_073_741_824
const AHEAD_MS_MAX = 5_000

/** What can be wrong with the embedded database; nothing of it is changed. */
export const examineSqlite = (wanted: Wanted): Examined => {
  const path = resolve(wanted.path)
  const places = [writable(path), disk(path)]
  if (!existsSync(path)) {
    const detail = `${path} is not there yet; serve makes it`
    return { checks: [{ name: 'database', ok: true, detail }, ...places], applied: null }
  }
  let file: DatabaseSync | undefined
  try {
    file = openReadOnly(path)
    const applied = lastMigration(file)
    const version = file.prepare('select sqlite_version() as version').get()?.['version']
    const detail = `SQLite ${version}, ${path}, ${statSync(path).size} bytes`
    const checks = [{ name: 'database', ok: true, detail }, ...places, clock(path, wanted.nowMs)]
    return { checks: [...checks, integrity(file, path, wanted.thorough)], applied }
  } catch (error) {
    const detail = `${path}: ${(error as Error).message}`
    const remedy = 'see that DATABASE_URL names the right file and that it can be read; else restore a backup'
    return { checks: [{ name: 'database', ok: false, detail, remedy }, ...places], applied: null }
  } finally {
    file?.close()
  }
}

/** SQLite writes the file and, beside it, a journal: both the file and its folder must be writable. */
const writable = (path: string): Check => {
  const name = 'write access'
  const folder = nearestFolder(path)
  const shut = [folder, ...[path, `${path}-wal`, `${path}-shm`].filter(existsSync)].filter(
    (place) => !mayWrite(place),
  )
  if (shut.length === 0) return { name, ok: true, detail: `${folder} and what is in it` }
  const remedy = 'make it belong to the user whom the service runs as'
  return { name, ok: false, detail: `this user may not write to ${shut.join(', ')}`, remedy }
}

const mayWrite = (place: string): boolean => {
  try {
    accessSync(place, constants.W_OK)
    return true
  } catch {
    return false
  }
}

const disk = (path: string): Check => {
  const { bavail, bsize } = statfsSync(nearestFolder(path))
  const check = { name: 'disk', detail: `${bavail * bsize} bytes are free` }
  return bavail * bsize >= FREE_BYTES_MIN
    ? { ...check, ok: true }
    : { ...check, ok: false, remedy: 'make room: on a full disk every write is answered 503' }
}

/** The folder of the file, or of those that would be made for it the one that is there. */
const nearestFolder = (path: string): string => {
  const folder = dirname(path)
  return existsSync(folder) ? folder : nearestFolder(folder)
}

/** It is this machine's own clock; that it was set back shows in a file that was written later than now. */
const clock = (path: string, nowMs: number): Check => {
  const written = [path, `${path}-wal`].filter(existsSync).map((one) => statSync(one).mtimeMs)
  const aheadMs = Math.round(Math.max(...written) - nowMs)
  if (aheadMs <= AHEAD_MS_MAX) return { name: 'clock', ok: true, detail: 'not behind the last write' }
  const detail = `${aheadMs} ms behind the last write to the database`
  return { name: 'clock', ok: false, detail, remedy: 'set the clock of this machine, and keep it by NTP' }
}

const integrity = (file: DatabaseSync, path: string, thorough: boolean): Check => {
  const name = 'integrity'
  if (statSync(path).size > QUICK_BYTES_MAX && !thorough)
    return { name, ok: true, detail: 'not looked at, for its size; doctor --thorough does' }
  const fault = faultIn(file)
  if (fault === null) return { name, ok: true, detail: 'every page is sound' }
  const remedy = 'stop the service, keep the file, and restore the last backup'
  return { name, ok: false, detail: fault, remedy }
}

const faultIn = (file: DatabaseSync): string | null => {
  try {
    const found = String(file.prepare('pragma quick_check(1)').get()?.['quick_check'])
    return found === 'ok' ? null : found
  } catch (error) {
    return (error as Error).message
  }
}
