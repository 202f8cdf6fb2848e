import { firstAndLast } from '../../json/first-and-last.ts'
import { writeJson } from '../../json/write-json.ts'
import type { EventType } from '../../shapes/event.ts'
import type { Prospect } from '../../shapes/prospect.ts'
import { DomainFailure, type FailureKind } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { charactersOf } from '../engine/slices.ts'
import type { EventIds, NewEvent } from '../ports/events.ts'

/** Maximum size of one event's data as JSON. */
const DATA_BYTES_MAX = 20_480
export type EventData = (event: NewEvent) => Promise<object>
/** Reads the resources of events: see `eventReaders`. */
export type EventReaders = {
  readonly getProspect: Read<Prospect>
  readonly getProspectLog: Read<object>
  readonly getPageGroup: Read<object>
  readonly getPage: Read<object>
  readonly getVersion: Read<object>
  readonly getWebhookEndpoint: Read<object>
}
type Read<Value> = (key: Required<EventIds> & OfTenant) => Promise<Result<Value>>
type OfTenant = Pick<NewEvent, 'tenantId'>

/**
 * The data of an event: the current state of its resource, read when the event is shown, so that no data of an erased
 * person remains. For a resource that no longer exists, only the ids. Data larger than 20 KiB has `payloadOmitted`
 * instead of its payload, content or attributes, or instead of everything but its ids.
 */
export const eventData =
  (readers: EventReaders): EventData =>
  async (event) => {
    const { data } = await dataAndProspect(event, readers)
    return data
  }

/** The data of an event as webhooks send it: an activity shows its prospect too, and a person the first and last name. */
export const webhookEventData =
  (readers: EventReaders): EventData =>
  async (event) => {
    const { data, prospect } = await dataAndProspect(event, readers)
    if (prospect !== undefined) return { ...data, prospect: shownIn(prospect) }
    const isPerson = resourceNameOf(event) === 'prospect' && 'name' in data
    return isPerson ? { ...data, ...firstAndLast((data as Prospect).name) } : data
  }

const dataAndProspect = async (event: NewEvent, readers: EventReaders) => {
  const { hops, ...ids } = event.ids
  const found: Resource = await resourceOf({ ...event, ids }, readers).catch(onlyIds(ids))
  const { prospect, ...resource } = found
  return { data: fits(resource) ? resource : withoutLargeParts(resource, ids), prospect }
}

const withoutLargeParts = (
  { payload, content, attributes, publishedVersion, ...others }: Resource,
  ids: object,
): object => {
  const { content: _, ...version } = publishedVersion ?? {}
  const smaller = { ...others, ...(publishedVersion && { publishedVersion: version }) }
  return { ...(fits(smaller) ? smaller : ids), payloadOmitted: true }
}

const shownIn = ({ prospectId, email, externalId, name, attributes }: Prospect): object => {
  const shown = { prospectId, email, externalId, name, ...firstAndLast(name), attributes }
  return fits(shown) ? shown : withoutLargeParts(shown, { prospectId })
}

/** The data of many events, each resource read once. */
export const dataOfMany = (dataOf: EventData): EventData => {
  const known = new Map<string, Promise<object>>()
  return (event) => {
    const resource = `${resourceNameOf(event)} ${JSON.stringify(event.ids)}`
    const data = known.get(resource) ?? dataOf(event)
    known.set(resource, data)
    return data
  }
}

/** A resource with the members that may make it large. */
type Resource = {
  readonly payload?: object
  readonly content?: object | null
  readonly attributes?: object
  readonly publishedVersion?: { readonly content?: object } | null
  /** The person behind an activity. */
  readonly prospect?: Prospect
}

/** Data that is much too large is not serialized just to be measured. */
const fits = (data: object): boolean =>
  charactersOf(data) <= DATA_BYTES_MAX && Buffer.byteLength(writeJson(data)) <= DATA_BYTES_MAX

type ResourceName = EventType extends `${infer Name}.${string}` ? Name : never
const resourceNameOf = ({ type }: NewEvent) => type.slice(0, type.indexOf('.')) as ResourceName

const resourceOf = async (event: NewEvent, readers: EventReaders): Promise<object> => {
  const { tenantId, ids } = event
  const key = { tenantId, ...ids } as Required<EventIds> & OfTenant
  switch (resourceNameOf(event)) {
    case 'prospect':
      // The person may have been erased since: the event has ids only.
      return event.type === 'prospect.merged' ? ids : (await readers.getProspect(key)).value
    case 'prospect_log':
      // The activities of an erased prospect are deleted later: until then only the prospect shows the erasure.
      return Promise.all([readers.getProspectLog(key), readers.getProspect(key)]).then(([log, prospect]) => ({
        ...log.value,
        prospect: prospect.value,
      }))
    case 'page_group':
      return (await readers.getPageGroup(key)).value
    case 'page':
      return (await readers.getPage(key)).value
    case 'page_version':
      return { ...ids, ...(await readers.getVersion(key)).value }
    case 'webhook_endpoint':
      return (await readers.getWebhookEndpoint(key)).value
  }
}

/** The refusals of the readers for a resource that no longer exists. */
const MISSING: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'prospect_not_found',
  'prospect_erased',
  'prospect_log_not_found',
  'page_group_not_found',
  'page_not_found',
  'version_not_found',
  'webhook_endpoint_not_found',
])

const onlyIds = (ids: object) => (error: unknown) => {
  if (error instanceof DomainFailure && MISSING.has(error.kind)) return { ...ids }
  throw error
}
