import { stat } from 'node:fs/promises'
import type { DatabaseSizes } from '../../core/ports/store.ts'
import { fileAt } from './place.ts'

/** The sizes of an embedded database's file and of its journal. */
export const fileSizes = async (path: string): Promise<DatabaseSizes> => {
  const place = fileAt(path)
  const { size } = await stat(place)
  // The journal is missing while no process has the file open.
  const journal = await stat(`${place}-wal`).catch(() => null)
  return { databaseBytes: size, journalBytes: journal?.size ?? 0 }
}
