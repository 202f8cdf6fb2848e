import { idsSince } from '../../core/engine/id-times.ts'
import { DAY_MS, isoTime } from '../../core/engine/times.ts'
import type { Queue, Store } from '../../core/ports/store.ts'
import { boundsAt, SEARCHED_DAYS_MAX } from '../../core/prospects/index-prospects.ts'
import { withActions } from './schedules.ts'
import type { Query } from './sql.ts'

/**
 * One statement for all queues. Each is looked at along the index of what waits in it, whose first entry is enough: the
 * order makes the planner use that index, even if it believes that nearly every row waits. Of the schedules only those
 * count that are due soon. Of the tenants whose activities are counted, those that have more of them, or are counted into
 * the future, because a clock was set back. Of the tenants that are searched, those that have people to index.
 */
export const postgresWaiting =
  (query: Query): NonNullable<Store['waiting']> =>
  async ({ now, until }) => {
    const nowMs = Date.parse(now)
    const { beforeId, checkBeforeId } = boundsAt(nowMs)
    const rows = await query()<{ queue: Queue }>`
      select q.queue from (values
        ('versions', (
          select true from page_versions v where v.status = 'processing' order by v.tenant_id limit 1
        )),
        ('schedules', (
          select true from (${withActions('', until, 1)}) s limit 1
        )),
        ('deletions', (
          select true from page_group_deletions d order by d.tenant_id limit 1
        )),
        ('events', (
          select true from events e where e.sequence is null order by e.tenant_id limit 1
        )),
        ('deliveries', coalesce((
          select true from webhook_deliveries d where d.status = 'pending' order by d.tenant_id limit 1
        ), (
          select true from webhook_endpoints v where v.status = 'deleted' order by v.tenant_id limit 1
        ))),
        ('erasures', (
          select true from erasures e where e.status = 'processing' order by e.tenant_id limit 1
        )),
        ('merges', (
          select true from merges m where m.status = 'processing' order by m.tenant_id limit 1
        )),
        ('removals', (
          select true from tenants t where t.deleted_at is not null order by t.tenant_id limit 1
        )),
        ('counts', (
          select true from counted_tenants v
          where v.closed_to > ${idsSince('prospectlog', now)} or (
            select true from prospect_logs l
            where l.tenant_id = v.tenant_id and l.prospect_log_id > v.position
            order by l.prospect_log_id limit 1
          )
          limit 1
        )),
        ('search', (
          select true from searched_tenants v
          where v.searched_at >= ${isoTime(nowMs - SEARCHED_DAYS_MAX * DAY_MS)} and (v.position >= ${beforeId} or (
            select true from prospects p
            where p.tenant_id = v.tenant_id and p.prospect_id > v.position and p.prospect_id < ${beforeId}
            order by p.prospect_id limit 1
          ) or (
            select true from prospects p
            where p.tenant_id = v.tenant_id and p.prospect_id > v.checked and p.prospect_id < ${checkBeforeId}
            order by p.prospect_id limit 1
          ))
          limit 1
        ))
      ) as q (queue, is_waiting)
      where q.is_waiting`
    return rows.map(({ queue }) => queue)
  }
