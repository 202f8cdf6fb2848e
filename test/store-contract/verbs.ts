import type { Ports } from './filled-tenant.ts'
import { activities } from './verbs/activities.ts'
import { apiKeys } from './verbs/api-keys.ts'
import { counts } from './verbs/counts.ts'
import { deletions } from './verbs/deletions.ts'
import { erasures } from './verbs/erasures.ts'
import { events } from './verbs/events.ts'
import { hooks } from './verbs/hooks.ts'
import { merges } from './verbs/merges.ts'
import { moments } from './verbs/moments.ts'
import { pageGroups } from './verbs/page-groups.ts'
import { pages } from './verbs/pages.ts'
import { placeholders } from './verbs/placeholders.ts'
import { prospectConflicts } from './verbs/prospect-conflicts.ts'
import { prospectCounts } from './verbs/prospect-counts.ts'
import { prospectLogs } from './verbs/prospect-logs.ts'
import { prospects } from './verbs/prospects.ts'
import { schedules } from './verbs/schedules.ts'
import { searchIndex } from './verbs/search-index.ts'
import { tenants } from './verbs/tenants.ts'
import type { PortVerbs, Verb } from './verbs/verb.ts'
import { versions } from './verbs/versions.ts'
import { webhooks } from './verbs/webhooks.ts'

/** Every verb of every port. The compiler checks that none is missing. */
export const VERBS = {
  activities,
  prospects,
  merges,
  placeholders,
  prospectConflicts,
  prospectCounts,
  prospectLogs,
  pageGroups,
  pages,
  versions,
  schedules,
  deletions,
  erasures,
  events,
  webhooks,
  apiKeys,
  hooks,
  searchIndex,
  counts,
  tenants,
  moments,
} satisfies { [Port in keyof Ports]: PortVerbs<Port> }

/** The same as a list, each with its name, such as `pages.find`. */
export const verbs: readonly (Verb & { readonly name: string })[] = Object.entries(VERBS).flatMap(
  ([port, rows]) =>
    Object.entries(rows).map(([verb, row]) => ({ name: `${port}.${verb}`, ...(row as Verb) })),
)
