import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { orNull } from '../../core/engine/or-null.ts'

export const NETWORK_RISK =
  'move it to a local disk, or use PostgreSQL: locks may fail there, which damages the file'
/** File systems that may lose locks or memory maps of SQLite, by the number that Linux gives them. */
const RISKY: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'SMB',
  4266872130: 'SMB',
  16914839: '9p',
  1702057286: 'FUSE',
  12805120: 'Ceph',
  1397113167: 'AFS',
  198183888: 'Lustre',
  2020557398: 'VirtualBox',
}
/** Why a folder, which need not exist yet, is no place for a database, or null. */
export const riskyFileSystem = (
  folder: string,
  statOf: (path: string) => { type: number } = statfsSync,
): string | null => {
  const found = orNull(() => statOf(folder))
  if (!found && folder !== dirname(folder)) return riskyFileSystem(dirname(folder), statOf)
  return RISKY[Number(found?.type) >>> 0] ?? null
}
