import type { Config } from '../config/config.ts'
import { isoTime } from '../core/engine/times.ts'
import { type Check, passed, warned } from './check.ts'
import { copiesOf } from './copies.ts'
import type { Database } from './read-database.ts'

const NAMED_MAX = 10

/** An erasure that was not complete when a copy was made: the copy may still have what it erased. */
const countErasures = (sinceMs: number): string => `
  select count(*) as erasures from erasures
  where part_of is null and (completed_at is null or completed_at > '${isoTime(sinceMs)}')`

/**
 * Whether copies of the embedded database hold people who were erased after they were made. An erasure rewrites the
 * database, and cannot reach its copies.
 */
export const examineCopies = async (config: Config, { read }: Database): Promise<readonly Check[]> => {
  const copies = await copiesOf(config)
  if (copies.length === 0) return []
  const older: string[] = []
  for (const { file, madeAtMs } of copies) {
    const [found] = await read(countErasures(madeAtMs))
    const erasures = Number(found?.['erasures'])
    if (erasures > 0) older.push(sentence(file, madeAtMs, erasures))
  }
  if (older.length === 0) return [passed('copies', 'no copy is older than an erasure')]
  const unnamed = older.length - NAMED_MAX
  const detail = [...older.slice(0, NAMED_MAX), unnamed > 0 && `and ${unnamed} older ones`].filter(Boolean)
  return [warned('copies', detail.join('; '), remedyOf(config))]
}

const sentence = (file: string, madeAtMs: number, erasures: number): string => {
  const came = erasures === 1 ? '1 erasure' : `${erasures} erasures`
  return `${file} from ${isoTime(madeAtMs)} may hold erased people: ${came} came after it`
}

const remedyOf = ({ backupDir, backupsKept }: Config): string => {
  const scheduled =
    backupDir === null ? '' : `, or wait until ${backupsKept} newer backups replace a scheduled one`
  return `delete with rm each copy that you no longer need${scheduled}; if you restore one, erase these people again`
}
