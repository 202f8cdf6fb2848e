import { firstAndLast } from '../json/first-and-last.ts'
import { membersOf } from '../json/raw-json.ts'
import type { Prospect } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { call, get, path, session } from './api.ts'
import { itemTexts, withExact } from './raw.ts'

/** The service leaves the payload out of the data of an event that is larger than this: see `event-data.ts`. */
const DATA_BYTES_MAX = 20_480

export const bytesOf = (text: string): number => new TextEncoder().encode(text).length

/** The event that webhooks send for an activity, as they send it. */
export type NewestEvent = { readonly prospectLogId: string; readonly text: string }

/** Of more sources than this, only the first are searched. */
const SOURCES_MAX = 6

/** The newest activity of these sources, or of all, as the event that webhooks send for it; null if there is none. */
export const readNewestEvent = async (
  sources: readonly string[] | null,
  signal?: AbortSignal,
): Promise<NewestEvent | null> => {
  const read = async (source?: string): Promise<readonly string[]> => {
    const { text } = await call('GET', '/prospect_logs', { query: { limit: 1, source }, signal })
    return itemTexts(text)
  }
  const found = await Promise.all(sources === null ? [read()] : sources.slice(0, SOURCES_MAX).map(read))
  // Ids begin with the time of arrival.
  const idOf = (log: string): string => JSON.parse(log).prospectLogId
  const log = found
    .flat()
    .sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
    .at(-1)
  if (log === undefined) return null
  const { prospectLogId, prospectId, createdAt }: ProspectLog = JSON.parse(log)
  const person = await get<Prospect>(path`/prospects/${prospectId}`, {}, signal).catch(() => null)
  const eventId = prospectLogId.replace(/^[a-z]+/, 'event')
  const members = {
    eventId,
    type: 'prospect_log.created',
    timestamp: createdAt,
    tenantId: session.self?.tenantId,
  }
  return { prospectLogId, text: withExact(members, 'data', dataOf(log, person)) }
}

const dataOf = (log: string, person: Prospect | null): string => {
  const { payload, ...others } = Object.fromEntries(membersOf(log).members)
  const texts = Object.entries(others).map(([name, { rawJson }]) => `${JSON.stringify(name)}:${rawJson}`)
  const isLarge = bytesOf(log) > DATA_BYTES_MAX
  texts.push(isLarge ? '"payloadOmitted":true' : `"payload":${payload?.rawJson}`)
  if (person) {
    const { prospectId, email, externalId, name, attributes } = person
    const shown = { prospectId, email, externalId, name, ...firstAndLast(name), attributes }
    texts.push(`"prospect":${JSON.stringify(shown)}`)
  }
  return `{${texts}}`
}
