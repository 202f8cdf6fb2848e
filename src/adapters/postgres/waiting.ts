import { idsSince } from '../../core/engine/id-times.ts'
import type { Queue, Store } from '../../core/ports/store.ts'
import { withActions } from './schedules.ts'
import type { Query } from './sql.ts'

/**
 * One statement for all queues. Each is looked at along the index of what waits in it, whose first entry is enough. Of
 * the schedules only those count that are due soon. Of the tenants whose activities are counted, those that have more of
 * them, or are counted into the future, because a clock was set back.
 */
export const postgresWaiting =
  (query: Query): NonNullable<Store['waiting']> =>
  async ({ now, until }) => {
    const rows = await query()<{ queue: Queue }>`
      select q.queue from (values
        ('versions', exists (select 1 from page_versions v where v.status = 'processing')),
        ('schedules', exists (${withActions('', until, 1)})),
        ('events', exists (select 1 from events e where e.sequence is null)),
        ('deliveries', exists (select 1 from webhook_deliveries d where d.status = 'pending')
          or exists (select 1 from webhook_endpoints v where v.status = 'deleted')),
        ('erasures', exists (select 1 from erasures e where e.status = 'processing')),
        ('merges', exists (select 1 from merges m where m.status = 'processing')),
        ('removals', exists (select 1 from tenants t where t.deleted_at is not null)),
        ('counts', exists (
          select 1 from counted_tenants v
          where v.closed_to > ${idsSince('prospectlog', now)} or (
            select true from prospect_logs l
            where l.tenant_id = v.tenant_id and l.prospect_log_id > v.position
            limit 1
          )
        ))
      ) as q (queue, is_waiting)
      where q.is_waiting`
    return rows.map(({ queue }) => queue)
  }
