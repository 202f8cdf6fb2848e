import type { RawJson } from '../../shapes/json.ts'
import type { TenantState } from './api-keys.ts'
import type { Recorded, RowsQuery, Timestamp } from './world.ts'

/** Identifies one hook. */
export type HookKey = { readonly tenantId: string; readonly hookId: string }
/** A hook as stored. */
export type StoredHook = HookKey & {
  /** The source of its activities. */
  readonly source: string
  readonly description: string | null
  readonly status: 'enabled' | 'disabled'
  /** How deliveries are verified, mapped, divided and answered: the JSON of `HookRules`. */
  readonly rules: RawJson
  /** The secret that deliveries are signed with, sealed (see `Secrets`), or the hash of its token. */
  readonly secret: string
  /** Previous secrets, valid until `previousSecretUntil`: newest first, separated by spaces. */
  readonly previousSecret: string | null
  readonly previousSecretUntil: Timestamp | null
  /** Its slot among the hooks of its tenant, from 1. */
  readonly slot: number
  /** The idempotency key of the request that created it, and the sealed hash of that request. */
  readonly idempotencyKey: string | null
  readonly requestHash: string | null
  readonly createdAt: Timestamp
  readonly updatedAt: Timestamp
} & HookSeen
/** The last delivery, refusal and warning of a hook. Coarse: at most ten seconds old. */
export type HookSeen = {
  readonly lastReceivedAt: Timestamp | null
  readonly lastRefusedAt: Timestamp | null
  /** The reason, for people. */
  readonly lastRefusal: string | null
  readonly lastWarnedAt: Timestamp | null
  /** What a person should know about a delivery that was accepted. */
  readonly lastWarning: string | null
}

/** The part of a store that keeps inbound hooks. */
export type Hooks = {
  /** The existing ones, of any tenant, in any order: the tenant is known by its hook. */
  findByIds(hookIds: readonly string[]): Promise<readonly (StoredHook & TenantState)[]>
  find(key: HookKey): Promise<StoredHook | null>
  /** Hooks, newest first. */
  list(query: RowsQuery): Promise<readonly StoredHook[]>
  /** The slots that the tenant's hooks have. */
  slots(tenantId: string): Promise<readonly number[]>
  /** The hook created under this idempotency key, or null. */
  findByKey(key: { readonly tenantId: string; readonly idempotencyKey: string }): Promise<StoredHook | null>
  /** Returns `overtaken` if another hook of the tenant has its slot or its idempotency key. */
  add(hook: StoredHook): Promise<Recorded>
  /**
   * Saves a hook whose `updatedAt` is unchanged, except its slot, its idempotency key, its time of creation, and its last
   * deliveries. Every process forgets it, by the signal `keys`.
   */
  change(hook: StoredHook, lastUpdatedAt: Timestamp): Promise<Recorded>
  /** Returns whether there was one. Every process forgets it, by the signal `keys`. */
  remove(key: HookKey): Promise<boolean>
  /** Saves the last deliveries; null leaves a field unchanged. */
  markSeen(key: HookKey, seen: HookSeen): Promise<void>
}
