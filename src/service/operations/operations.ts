import type * as v from 'valibot'
import { refuse } from '../../core/engine/failures.ts'
import type { SmallStore } from '../../core/ports/store.ts'
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

/** The sections of the API's reference, in order. */
export const SECTIONS: readonly { readonly name: string; readonly about: string; readonly of: object }[] = [
  { name: 'Activities', about: 'Activities of prospects.', of: activityOperations },
  {
    name: 'Prospects',
    about: 'People who are not customers yet.',
    of: { ...prospectOperations, ...erasureOperations },
  },
  { name: 'Page groups', about: 'Families of pages.', of: pageGroupOperations },
  { name: 'Pages', about: 'The pages of a group.', of: pageOperations },
  { name: 'Versions', about: 'The states of a page, and which one readers see.', of: versionOperations },
  { name: 'Events', about: 'Events, in order.', of: eventOperations },
  { name: 'Webhook endpoints', about: 'Where events are sent.', of: webhookOperations },
  {
    name: 'Hooks',
    about: 'Where vendors send their webhooks: each becomes an activity.',
    of: hookOperations,
  },
  { name: 'API keys', about: 'Who calls.', of: apiKeyOperations },
  {
    name: 'Webhook deliveries',
    about: 'Past and pending deliveries to an endpoint.',
    of: deliveryOperations,
  },
]

/** The parts and verbs that an operation needs and a store lacks: a service over that store does not offer it. */
export const missingParts = ({ needs }: Pick<Operation, 'needs'>, store: SmallStore): readonly string[] =>
  needs.filter((need) => {
    const [part = '', verb] = need.split('.')
    const found = store[part as keyof SmallStore] as Readonly<Record<string, unknown>> | undefined
    return found === undefined || (verb !== undefined && found[verb] === undefined)
  })

/** Refuses `not_found` what needs a part that the store lacks. */
export const requireParts = (store: SmallStore, name: string, ...needs: Operation['needs']): void => {
  const [missing] = missingParts({ needs }, store)
  if (missing !== undefined) refuse('not_found', `The store has no \`${missing}\`, which \`${name}\` needs.`)
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
