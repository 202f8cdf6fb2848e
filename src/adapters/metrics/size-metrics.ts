import type { DatabaseSizes } from '../../core/ports/store.ts'
import { cachedRead } from './cached-read.ts'
import type { Gauge, Instruments } from './instruments.ts'

const FRESH_MS = 60_000
const LATE = 'Read at most once a minute.'

type Disk = { readonly holds: string; readonly freeBytes: number; readonly bytes: number }
/** What is read for the gauges. What cannot be seen or read is null. */
export type Sizes = {
  readonly database: DatabaseSizes | null
  readonly backupsBytes: number | null
  readonly disks: readonly Disk[]
}

/** Sizes of the database and its copies, and of the disks that they lie on. What is not known is missing. */
export const sizeMetrics = ({ gauge }: Instruments, read: () => Promise<Sizes>): void => {
  const sizes = cachedRead(read, FRESH_MS)
  const add = (name: string, help: string, bytesOf: (sizes: Sizes) => number | null | undefined) => {
    const collect = async (gauge: Gauge) => {
      const known = await sizes()
      const bytes = known && bytesOf(known)
      if (typeof bytes === 'number') gauge.set(bytes)
    }
    gauge(name, `${help} ${LATE}`, collect)
  }
  const addOfDisks = (name: string, help: string, bytesOf: (disk: Disk) => number) => {
    const collect = async (gauge: Gauge) => {
      for (const disk of (await sizes())?.disks ?? []) gauge.set(bytesOf(disk), { disk: disk.holds })
    }
    gauge(name, `${help} ${LATE}`, collect)
  }

  add('database_bytes', 'Size of the database.', ({ database }) => database?.databaseBytes)
  add(
    'database_journal_bytes',
    'Size of the journal of the embedded database (-wal), or of the write-ahead log of PostgreSQL; missing if the role may not see it.',
    ({ database }) => database?.journalBytes,
  )
  add(
    'backups_bytes',
    'Size of the backups in BACKUP_DIR and of the copies that migrate and restore kept beside the database.',
    ({ backupsBytes }) => backupsBytes,
  )
  addOfDisks(
    'disk_free_bytes',
    'Free bytes of the disk of the embedded database, and of that of BACKUP_DIR if it is another.',
    ({ freeBytes }) => freeBytes,
  )
  addOfDisks('disk_bytes', 'Size of these disks.', ({ bytes }) => bytes)
}
