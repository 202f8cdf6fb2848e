import type * as v from 'valibot'
import { activityOperations } from './activities.ts'
import { apiKeyOperations } from './api-keys.ts'
import { deliveryOperations } from './deliveries.ts'
import { erasureOperations } from './erasures.ts'
import { eventOperations } from './events.ts'
import { hookOperations } from './hooks.ts'
import type { Operation } from './operation.ts'
import { pageGroupOperations } from './page-groups.ts'
import { pageOperations } from './pages.ts'
import { prospectOperations } from './prospects.ts'
import { versionOperations } from './versions.ts'
import { webhookOperations } from './webhooks.ts'

/** Every operation, by its name. A new one has its shapes, its use case, and its declaration in the file of its resource. */
export const operations: Operations = {
  ...activityOperations,
  ...prospectOperations,
  ...erasureOperations,
  ...pageGroupOperations,
  ...pageOperations,
  ...versionOperations,
  ...eventOperations,
  ...webhookOperations,
  ...deliveryOperations,
  ...hookOperations,
  ...apiKeyOperations,
}

export type Operations = typeof activityOperations &
  typeof prospectOperations &
  typeof erasureOperations &
  typeof pageGroupOperations &
  typeof pageOperations &
  typeof versionOperations &
  typeof eventOperations &
  typeof webhookOperations &
  typeof deliveryOperations &
  typeof hookOperations &
  typeof apiKeyOperations
export type OperationId = keyof Operations
type EntriesIn<Part> = Part extends { readonly entries: infer Entries } ? Entries : unknown
type Part<Of, Name extends keyof Operation> = Of extends { readonly [_ in Name]: infer Found }
  ? Found
  : unknown
/** All inputs of an operation, by name. */
export type EntriesOf<Of> = Extract<
  Record<never, never> &
    Part<Of, 'ids'> &
    EntriesIn<Part<Of, 'query'>> &
    EntriesIn<'item' extends keyof Of ? Part<Of, 'item'> : Part<Of, 'body'>> &
    Part<Of, 'takes'>,
  v.ObjectEntries
>
