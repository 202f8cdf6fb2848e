import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const open = new Set<string>()
process.once('exit', () => open.forEach(removeFolder))

/** A new folder, removed with this process at the latest. */
export const newFolder = (name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), `prospect-pages-${name}-`))
  open.add(folder)
  return folder
}

export const removeFolder = (folder: string): void => {
  open.delete(folder)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** The free space in the folder of the databases. */
export const freeGib = (): number => {
  const { bavail, bsize } = statfsSync(tmpdir())
  return (bavail * bsize) / 2 ** 30
}
