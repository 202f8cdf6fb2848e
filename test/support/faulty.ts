import type { DatabaseKind } from './program.ts'

/** Makes the next write of an activity from the source `faulty` a fault of the database that names the row. */
export const FAULTS: Readonly<Record<DatabaseKind['name'], string>> = {
  postgres: `alter table prospect_logs add check (source <> 'faulty')`,
  sqlite: `create trigger faulty before insert on prospect_logs when new.source = 'faulty'
    begin select raise(abort, 'no such thing'); end`,
}
