import type { Activities } from './activities.ts'
import type { ApiKeys } from './api-keys.ts'
import type { Counts } from './counts.ts'
import type { Deletions } from './deletions.ts'
import type { Erasures } from './erasures.ts'
import type { Events } from './events.ts'
import type { Hooks } from './hooks.ts'
import type { Merges } from './merges.ts'
import type { PageGroups } from './page-groups.ts'
import type { Pages } from './pages.ts'
import type { Placeholders } from './placeholders.ts'
import type { ProspectConflicts } from './prospect-conflicts.ts'
import type { ProspectCounts } from './prospect-counts.ts'
import type { ProspectLogs } from './prospect-logs.ts'
import type { Prospects } from './prospects.ts'
import type { Schedules } from './schedules.ts'
import type { SearchIndex } from './search-index.ts'
import type { Tenants } from './tenants.ts'
import type { HandOver, Versions } from './versions.ts'
import type { Webhooks } from './webhooks.ts'
import type { Clock, Moment, NewId, ShareLoop, Timestamp } from './world.ts'

/** A change in this process, or in another one on the same database. */
export type Signal =
  /** API keys, hooks or tenants were changed. */
  | 'keys'
  /** Versions wait to be published. */
  | 'versions'
  /** A page group was deleted. */
  | 'deletions'
  /** Prospects were erased or merged. */
  | 'prospects'
  /** Events wait to be numbered. */
  | 'events'
  /** Events were numbered: of any tenant, or of the tenant with this id. */
  | 'numbered'
  | `numbered ${string}`
  /** Deliveries became due, in this process. */
  | 'deliveries'

/** A kind of work in the background. */
export type Queue =
  | 'versions'
  | 'schedules'
  | 'deletions'
  | 'events'
  | 'deliveries'
  | 'erasures'
  | 'merges'
  | 'removals'
  | 'counts'
  | 'search'

/** The part of a store that knows which of its statements still run. */
export type Moments = {
  /** This moment: any write that is not visible yet, and began before now, began before it. Of one tenant, or of all. */
  now(tenantId?: string): Promise<Moment>
  /** Whether every write that began before each moment has ended, in order. */
  arePast(moments: readonly Moment[]): Promise<readonly boolean[]>
}
/** Called soon after a change. */
export type SignalListener = (signal: Signal) => void
/**
 * All that the use cases need from a database, in domain words. Implement it to use a database of your choice.
 *
 * - Every verb that serves a caller names the tenant: another tenant's resource is a missing resource.
 * - Every verb that serves a caller handles one thing. A store may gather calls that arrive together.
 * - A write saves all of its change or nothing. It returns `overtaken`, with nothing saved, if what its decision assumed
 *   no longer holds: the use case loads and decides again.
 * - Times are ISO 8601 in UTC with milliseconds. Ids sort by age.
 * - A store that cannot respond now refuses with `unavailable`; whether a write happened is then unknown.
 */
export type Store = Ports & {
  /**
   * Brings the database to this program's schema; refuses one that is newer. Resolves with the names of the migrations
   * that it applied, in order: none if there was nothing to do.
   */
  migrate(): Promise<readonly string[]>
  /**
   * Resolves if the database answers, has this program's schema and takes writes; else refuses `unavailable`, or throws if
   * it never will.
   */
  ready(): Promise<void>
  /**
   * Signals may come too often and may be lost. A listener that throws is reported on stderr; the others are still
   * called. Returns a function that removes the listener.
   */
  watch(listener: SignalListener): () => void
  /**
   * Whether the signals of all changes that were committed a second ago or earlier have arrived. Only then may a process
   * trust what it remembers. Without this, it trusts a row for as long as it may remember one at all, and relies on no
   * signals of other processes.
   */
  hasAllSignals?(): boolean
  /**
   * The queues that are not empty now, or have something scheduled until then. It may name an empty one. An idle process
   * asks this instead of looking into each queue; without it, every queue is looked into.
   */
  waiting?(query: { readonly now: Timestamp; readonly until: Timestamp }): Promise<readonly Queue[]>
  /** Without this, the publisher of this process claims every version. */
  readonly handOver?: HandOver
  /** What the database occupies, for the metrics. Costs the same however many rows there are. */
  sizes?(): Promise<DatabaseSizes>
  close(): Promise<void>
}
/** `journalBytes` is null if this role may not see the journal. */
export type DatabaseSizes = { readonly databaseBytes: number; readonly journalBytes: number | null }
/** The parts of a store, by resource. */
export type Ports = {
  readonly activities: Activities
  readonly prospects: Prospects
  readonly merges: Merges
  readonly placeholders: Placeholders
  readonly prospectConflicts: ProspectConflicts
  readonly prospectLogs: ProspectLogs
  readonly searchIndex: SearchIndex
  readonly counts: Counts
  readonly prospectCounts: ProspectCounts
  readonly pageGroups: PageGroups
  readonly pages: Pages
  readonly versions: Versions
  readonly schedules: Schedules
  readonly deletions: Deletions
  readonly erasures: Erasures
  readonly events: Events
  readonly webhooks: Webhooks
  readonly hooks: Hooks
  readonly apiKeys: ApiKeys
  readonly tenants: Tenants
  readonly moments: Moments
}
/**
 * The least that a service needs: with these four parts it logs activities, and lists, creates and publishes pages. Each
 * other part brings the operations that need it, and may need the verbs that are left out here.
 */
export type SmallStore = Partial<Omit<Store, 'activities' | 'pageGroups' | 'pages' | 'versions'>> & {
  readonly activities: Activities
  readonly pageGroups: Pick<PageGroups, 'list' | 'find'> & Partial<PageGroups>
  readonly pages: Omit<Pages, 'change' | 'listPublished'> & Partial<Pages>
  readonly versions: Omit<Versions, 'findByKey' | 'tally' | 'backlog'> & Partial<Versions>
}
/**
 * Lets the wiring treat a small store as a whole one. Nothing touches a part that is missing: operations that need it have
 * no route and refuse when they are called, and jobs that need it do not run.
 */
export const asWhole = (store: { readonly [Part in keyof Store]?: unknown }): Store => store as Store

/** The dependencies of a use case: these parts of the store, the time, ids, and turns for long work. */
export type Needs<Part extends keyof Store> = {
  readonly store: Pick<Store, Part>
  readonly clock: Clock
  readonly newId: NewId
  /** By default long work never yields. */
  readonly shareLoop?: ShareLoop | undefined
}
