import type { Moments } from '../../core/ports/store.ts'
import { columns, type Query } from './sql.ts'

const MOMENT = columns('moment', 'number int, micros bigint, xid bigint')

/**
 * A moment is a time of the database and the id of the transaction that asked for it. It is past if all of these hold:
 * - No session of this database is in a transaction that began before, as far as the role may see that. A session that
 *   is between two statements and has only read does not count: its next statement sees what the moment saw.
 * - No transaction with an earlier id still runs. A role that may not see when another role's transaction began sees at
 *   least its id, which a transaction has from its first write on.
 * - No earlier transaction is prepared.
 * A text that is no moment of this database is past. So is one with an id in the future: it was restored from another
 * database.
 */
export const postgresMoments = (query: Query): Moments => ({
  now: async () => {
    const [moment] = await query()<{ text: string }>`
      select (extract(epoch from clock_timestamp()) * 1000000)::bigint || ' ' || pg_current_xact_id() as text`
    return moment?.text ?? ''
  },

  arePast: async (moments) => {
    if (moments.length === 0) return []
    const numbered = moments.map((moment, number) => {
      const [, micros = null, xid = null] = /^(\d+) (\d+)$/.exec(moment) ?? []
      return { number, micros, xid }
    })
    const rows = await query()<{ isPast: boolean }>`
      select moment.micros is null or moment.xid >= oldest.next_xid or (
          moment.xid <= oldest.xid
          and moment.micros < coalesce(extract(epoch from least(oldest.running, oldest.prepared)) * 1000000, 'infinity')
        ) as is_past
      from ${MOMENT.from(numbered)}
        cross join (
          select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xid,
            pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next_xid, (
              select min(a.xact_start) from pg_stat_activity a
              where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
                and (a.backend_xmin is not null or a.backend_xid is not null)
            ) as running, (
              select min(x.prepared) from pg_prepared_xacts x where x.database = current_database()
            ) as prepared
        ) oldest
      order by moment.number`
    return rows.map(({ isPast }) => isPast)
  },
})
