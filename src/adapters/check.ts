/** One thing that `prospect-pages doctor` looked at. What is not right comes with what to do about it. */
export type Check = {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  readonly remedy?: string
}
/** `applied` is the number of the last migration, null where the database could not be asked. */
export type Examined = { readonly checks: readonly Check[]; readonly applied: number | null }

export const judgeMigrations = (applied: number, known: number): Check => {
  const name = 'migrations'
  if (applied === known) return { name, ok: true, detail: `all ${known} are applied` }
  return applied < known
    ? {
        name,
        ok: false,
        detail: `${applied} of ${known} are applied`,
        remedy: 'run prospect-pages migrate, as the owner of the tables; serve does so too where it may',
      }
    : {
        name,
        ok: false,
        detail: `the database has migration ${applied}, this program knows ${known}`,
        remedy: 'install the release that migrated it, or a newer one',
      }
}

/** Sockets and files that the process holds besides the connections of its callers. */
const FILES_BESIDES = 64

/** Whether the process may open as many files as its settings let callers and PostgreSQL connect. */
export const judgeOpenFiles = (wanted: number): Check => {
  const name = 'open files'
  const needed = wanted + FILES_BESIDES
  // A report looks up the names of all peers unless told not to.
  if (process.report) Object.assign(process.report, { excludeNetwork: true })
  const report = process.report?.getReport() as
    | { userLimits?: { open_files?: { soft?: unknown } } }
    | undefined
  const may = report?.userLimits?.open_files?.soft
  if (typeof may !== 'number' || may >= needed)
    return { name, ok: true, detail: `a process may open ${may ?? 'unknown'}, and needs at most ${needed}` }
  return {
    name,
    ok: false,
    detail: `a process may open ${may}, and CONNECTIONS_MAX and the database need up to ${needed}`,
    remedy: `let it open ${needed} (ulimit -n, LimitNOFILE=), or set CONNECTIONS_MAX lower`,
  }
}
