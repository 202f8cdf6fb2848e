import type { RawJson } from '../../shapes/json.ts'
import type { OfTenant } from './api-keys.ts'
import type { Recorded, SliceWant, Timestamp } from './world.ts'

/** Names one hook. */
export type HookWant = { readonly tenantId: string; readonly hookId: string }
/** A hook as a store keeps it. */
export type StoredHook = HookWant & {
  /** The source of its activities. */
  readonly source: string
  readonly description: string | null
  readonly status: 'enabled' | 'disabled'
  /** How deliveries are verified, mapped and divided: the JSON of `HookRules`. */
  readonly rules: RawJson
  /** What deliveries are signed with, as sealed (see `Secrets`), or the hash of its token. */
  readonly secret: string
  /** Valid too until then, after rotations: newest first, separated by spaces. */
  readonly previousSecret: string | null
  readonly previousSecretUntil: Timestamp | null
  /** Its place among the hooks of its tenant, from 1. */
  readonly slot: number
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
} & HookSeen
/** What was last seen of a hook. Coarse: at most ten seconds old. */
export type HookSeen = {
  readonly lastReceivedAt: Timestamp | null
  readonly lastRefusedAt: Timestamp | null
  /** Why, for people. */
  readonly lastRefusal: string | null
}

/** The part of a store that keeps inbound hooks. */
export type Hooks = {
  /** Those that exist, of any tenant, in any order: the tenant is known by its hook. */
  findByIds(hookIds: readonly string[]): Promise<readonly (StoredHook & OfTenant)[]>
  find(want: HookWant): Promise<StoredHook | null>
  /** Newest first, of each want. */
  list(wants: readonly SliceWant[]): Promise<readonly (readonly StoredHook[])[]>
  /** The slots that the tenant's hooks have. */
  slots(tenantId: string): Promise<readonly number[]>
  /** Returns `overtaken` if another hook of the tenant has its slot. */
  add(hook: StoredHook): Promise<Recorded>
  /** Saves a hook whose `updatedAt` is still that one, except its slot, when it was created, and what was last seen. Every process forgets it, by the signal `keys`. */
  change(hook: StoredHook, lastUpdatedAt: Timestamp): Promise<Recorded>
  /** Returns whether there was one. Every process forgets it, by the signal `keys`. */
  remove(want: HookWant): Promise<boolean>
  /** Saves what was last seen; null leaves it as it is. */
  markSeen(want: HookWant, seen: HookSeen): Promise<void>
}
