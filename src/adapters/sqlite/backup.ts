import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import * as sqlite from 'node:sqlite'
import { lastMigration, openReadOnly } from './read-only.ts'

export type BackedUp = { readonly file: string; readonly bytes: number; readonly migration: number }

type Online = typeof sqlite.backup
/** As many at a time; memory holds no more of them than that. */
const PAGES_AT_ONCE = 1_000

/**
 * Copies the embedded database as it is at this moment, while others read and write it: each write that was acknowledged
 * before is in the copy. The copy is one file, checked, flushed to disk, readable by its owner alone, and gets its name
 * when it is whole. Refuses where a file of that name is there, and a source that is not a database of this program.
 */
export const backUp = async (
  path: string,
  file: string,
  online: Online | null = sqlite.backup ?? null,
): Promise<BackedUp> => {
  refuseExisting(file)
  const unfinished = `${file}.unfinished-${randomUUID()}`
  const source = openReadOnly(path)
  try {
    const migration = lastMigration(source)
    if (migration === 0) throw new Error(`${path} is not a database of this program.`)
    // Made here, so that nobody else can read it at any time.
    closeSync(openSync(unfinished, 'wx', 0o600))
    await copy(source, unfinished, online)
    settle(unfinished, migration)
    const { size: bytes } = statSync(unfinished)
    giveName(unfinished, file)
    return { file, bytes, migration }
  } finally {
    source.close()
    for (const end of ['', '-journal', '-wal', '-shm']) rmSync(unfinished + end, { force: true })
  }
}

const refuseExisting = (file: string): void => {
  if (existsSync(file)) throw new Error(`${file} is there already; a backup overwrites nothing.`)
}

/**
 * SQLite's online backup starts anew whenever somebody writes, unless the source is held at one moment, by a transaction
 * that reads. Node 22.13 to 22.15 lack it; there the same is written by `vacuum into`.
 */
const copy = async (source: sqlite.DatabaseSync, to: string, online: Online | null): Promise<void> => {
  if (online === null) {
    source.prepare('vacuum into ?').run(to)
    return
  }
  source.exec('begin')
  source.prepare('select count(*) from sqlite_schema').get()
  await online(source, to, { rate: PAGES_AT_ONCE })
  source.exec('rollback')
}

/** Makes one file of it, without the journal beside it that the source has, and looks at every page. */
const settle = (unfinished: string, migration: number): void => {
  const made = new sqlite.DatabaseSync(unfinished)
  try {
    made.exec('pragma journal_mode = delete')
    const faults = made.prepare('pragma quick_check(1)').all()
    const [fault] = faults.map((row) => String(row['quick_check']))
    if (fault !== 'ok') throw new Error(`The database is damaged, and was not backed up: ${fault}`)
    if (lastMigration(made) !== migration)
      throw new Error('The copy is not whole: somebody else wrote to it.')
  } finally {
    made.close()
  }
  chmodSync(unfinished, 0o600)
  flush(unfinished)
}

/** A link never takes the place of a file that came meanwhile; some file systems have none. */
const giveName = (unfinished: string, file: string): void => {
  try {
    linkSync(unfinished, file)
  } catch {
    refuseExisting(file)
    renameSync(unfinished, file)
  }
  flush(dirname(file))
}

const flush = (path: string): void => {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}
