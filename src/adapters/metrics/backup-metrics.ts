import type { Gauge, Instruments } from './instruments.ts'

const HELP = 'When the newest backup in BACKUP_DIR was made; 0 if there is none. Missing without BACKUP_DIR.'

export const backupMetrics = ({ gauge }: Instruments, lastBackupMs: () => number | null): void => {
  const set = (gauge: Gauge): void => {
    const ms = lastBackupMs()
    if (ms !== null) gauge.set(ms / 1_000)
  }
  gauge('last_backup_timestamp_seconds', HELP, set)
}
