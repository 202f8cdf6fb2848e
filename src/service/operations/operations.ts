import type * as v from 'valibot'
import { refuse } from '../../core/engine/failures.ts'
import type { Result } from '../../core/engine/result.ts'
import type { Waiting } from '../../core/engine/waiting.ts'
import type { EventListing } from '../../core/events/list-events.ts'
import type { PageReading, ReadPage } from '../../core/pages/get-page.ts'
import type { SmallStore } from '../../core/ports/store.ts'
import type { EventSlice } from '../../shapes/event.ts'
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

/** Makes something of each operation, by its name. */
export const eachOperation = <Made>(make: (name: OperationId, operation: Operation) => unknown): Made => {
  const declared: Readonly<Record<string, Operation>> = operations
  const made = Object.entries(declared).map(([name, operation]) => [
    name,
    make(name as OperationId, operation),
  ])
  return Object.fromEntries(made)
}

/** The sections of the API's reference, in order. */
export const SECTIONS: readonly {
  readonly name: string
  readonly about: string
  readonly operations: object
}[] = [
  { name: 'Activities', about: 'Activities of prospects.', operations: activityOperations },
  {
    name: 'Prospects',
    about: 'People who are not customers yet.',
    operations: { ...prospectOperations, ...erasureOperations },
  },
  { name: 'Page groups', about: 'Families of pages.', operations: pageGroupOperations },
  { name: 'Pages', about: 'The pages of a group.', operations: pageOperations },
  {
    name: 'Versions',
    about: 'The states of a page, and which one readers see.',
    operations: versionOperations,
  },
  { name: 'Events', about: 'Events, in order.', operations: eventOperations },
  { name: 'Webhook endpoints', about: 'Where events are sent.', operations: webhookOperations },
  {
    name: 'Hooks',
    about: 'Where vendors send their webhooks: each becomes an activity.',
    operations: hookOperations,
  },
  { name: 'API keys', about: 'Keys of your servers.', operations: apiKeyOperations },
  {
    name: 'Webhook deliveries',
    about: 'Past and pending deliveries to an endpoint.',
    operations: deliveryOperations,
  },
]

/** The parts and verbs that an operation needs and a store lacks: a service over that store does not offer it. */
export const missingParts = ({ needs }: Pick<Operation, 'needs'>, store: SmallStore): readonly string[] =>
  needs.filter((need) => {
    const [part = '', verb] = need.split('.')
    const found = store[part as keyof SmallStore] as Readonly<Record<string, unknown>> | undefined
    return found === undefined || (verb !== undefined && found[verb] === undefined)
  })

/** Refuses `not_found` if the store lacks a part that the operation needs. */
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
/** The use cases as they are declared. */
export type DeclaredUseCases = { readonly [Name in OperationId]: ReturnType<Operations[Name]['useCase']> }
/** Every operation as a function of its input. Those that read a page or the feed may wait. */
export type UseCases = Omit<DeclaredUseCases, 'getPage' | 'listEvents'> & {
  readonly getPage: (page: PageReading & Waiting) => Promise<ReadPage>
  readonly listEvents: (listing: EventListing & Waiting) => Promise<Result<EventSlice>>
}
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
