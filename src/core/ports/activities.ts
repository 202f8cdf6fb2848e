import type { RawJson } from '../../shapes/json.ts'
import type { Recorded, Timestamp } from './world.ts'

export type StoredProspect = {
  readonly tenantId: string
  readonly prospectId: string
  readonly emailHash: string | null
  readonly name: string | null
}
/** What was logged under an idempotency key. */
export type StoredReceipt = Pick<
  NewLog,
  'tenantId' | 'source' | 'prospectId' | 'prospectLogId' | 'type' | 'createdProspect' | 'createdAt'
> & { readonly idempotencyKey: string; readonly requestHash: string }
export type ActivityWants = {
  readonly prospects: readonly Pick<StoredReceipt, 'tenantId' | 'prospectId'>[]
  readonly emails: readonly { readonly tenantId: string; readonly emailHash: string }[]
  readonly keys: readonly Pick<StoredReceipt, 'tenantId' | 'source' | 'idempotencyKey'>[]
}
export type KnownActivities = {
  readonly prospects: readonly StoredProspect[]
  readonly receipts: readonly StoredReceipt[]
}
/** A prospect to add. If its id exists, only its blanks are filled. */
export type ProspectChange = StoredProspect & { readonly email: string | null; readonly createdAt: Timestamp }
export type NewLog = {
  readonly tenantId: string
  readonly prospectLogId: string
  readonly prospectId: string
  readonly source: string
  readonly type: string
  readonly payload: RawJson
  readonly email: string | null
  readonly name: string | null
  readonly idempotencyKey: string | null
  readonly requestHash: string | null
  readonly createdProspect: boolean
  readonly occurredAt: Timestamp
  readonly createdAt: Timestamp
}
export type ActivityChanges = {
  readonly prospects: readonly ProspectChange[]
  readonly logs: readonly NewLog[]
}
export type Activities = {
  recall(wants: ActivityWants): Promise<KnownActivities>
  record(changes: ActivityChanges): Promise<Recorded>
  /**
   * Adds logs of prospects that exist, each under an idempotency key of its own or none, and answers their ids. Skips
   * those whose key is taken, and may skip all if another writer was faster.
   */
  recordLogs(logs: readonly NewLog[]): Promise<readonly string[]>
}
