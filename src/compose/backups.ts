import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Background, workInBackground } from '../adapters/background-work.ts'
import type { Job } from '../adapters/job-runner.ts'
import type { Log } from '../adapters/log.ts'
import { backupMetrics } from '../adapters/metrics/backup-metrics.ts'
import type { Config } from '../config/config.ts'
import { orNull } from '../core/engine/or-null.ts'
import type { Store } from '../core/ports/store.ts'
import { backUpBeforeMigration } from '../maintenance/backup.ts'
import { isBackupDue, lastBackupMs } from '../maintenance/backup-folder.ts'
import type { Telemetry } from './telemetry.ts'

const POLL_MS = 60_000
/** A failed attempt may have copied for minutes. */
const RETRY_MS = 600_000

export const backUpFirst =
  (path: string, { backupBeforeMigration }: Config, log: Log) =>
  (): void => {
    if (!backupBeforeMigration) return
    const { file, bytes } = backUpBeforeMigration(resolve(path))
    log.info({ file, bytes }, 'backed up before migrating')
  }

/** The time of the last backup. An unreadable folder counts as empty. */
const lastMs = (config: Config): number | null =>
  config.backupDir === null ? null : (orNull(() => lastBackupMs(config, Date.now())) ?? 0)

type Runtime = Pick<Telemetry, 'metrics'> & { readonly store: Store; readonly log: Log }
/** Makes a backup when one is due, in a separate process so that requests do not wait for it. */
export const createBackups = (config: Config, { store, log, metrics }: Runtime): Background => {
  if (metrics) backupMetrics(metrics.instruments, () => lastMs(config))
  const command = [...process.execArgv, process.argv[1] ?? '', 'backup', '--if-due']
  /** Monotonic: unaffected by clock changes. */
  let restsUntilMs = 0
  const step = async (stop: AbortSignal): Promise<false> => {
    const nowMs = Date.now()
    if (stop.aborted || performance.now() < restsUntilMs) return false
    try {
      if (!isBackupDue(config, nowMs)) return false
      restsUntilMs = performance.now() + RETRY_MS
      const { stdout } = await promisify(execFile)(process.execPath, command, { signal: stop })
      const answer = JSON.parse(stdout)
      // Another process may have been faster.
      if ('file' in answer) log.info(answer, 'backed up')
    } catch (error) {
      const { message, stderr } = error as Error & { stderr: string }
      const reason = orNull(() => JSON.parse(stderr).detail) ?? message
      if (!stop.aborted) log.error({ reason }, 'The backup failed.')
    }
    return false
  }
  const job: Job = { pollMs: POLL_MS, restMs: 0, createStep: () => step }
  return workInBackground({ store }, config.backupDir === null ? [] : [job])
}
