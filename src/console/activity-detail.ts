import type { Prospect } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { kindAndSource } from './activity-kind.ts'
import { baseUrl, call, can, get, path } from './api.ts'
import { addressOf, bdi, button, facts, h, person, refill, time } from './dom.ts'
import { payloadShown } from './fields.ts'
import { pageIdIn, type Row } from './follow-logs.ts'
import { pageOf } from './known-pages.ts'
import { copy, idOf } from './notices.ts'
import { memberOf, withExact } from './raw.ts'

type Log = Row['log']
/** The arrival is shown if it was this much later than the activity happened. */
const LATE_MS = 60_000

const PEOPLE_MAX = 500
/** Rows show people as they are now unless more than this wait to be read: the others stay as they were sent. */
const WAITING_MAX = 50
/** People of the rows that were shown, by id. */
const people = new Map<string, Promise<Prospect | null>>()
/** One person is requested at a time. */
let lastRequest: Promise<unknown> = Promise.resolve()
let waiting = 0

/** The person with this id; null if there is none, or none that the key may see. */
export const personBy = (id: string, signal: AbortSignal): Promise<Prospect | null> => {
  const known = people.get(id)
  if (known !== undefined) return known
  if (people.size > PEOPLE_MAX) people.clear()
  const read = () => (signal.aborted ? null : get<Prospect>(path`/prospects/${id}`, {}, signal))
  waiting++
  const request = lastRequest
    .then(read)
    .catch(() => null)
    .finally(() => waiting--)
  // A person who was not found or has neither name nor email yet is requested again next time.
  void request.then((found) => found?.name || found?.email || people.delete(id))
  lastRequest = request
  people.set(id, request)
  return request
}

export const forgetPeople = (): void => people.clear()

/** The person as sent with the activity, and once read, as the person is now. */
export const whoDid = ({ prospectId, name, email }: Log, signal: AbortSignal) => {
  const who = h('span.who', person({ name, email }))
  const isReadable = can('prospects:read') && (people.has(prospectId) || waiting < WAITING_MAX)
  if (isReadable)
    void personBy(prospectId, signal).then((found) => {
      const isOther = found !== null && (found.name !== name || found.email !== email)
      if (isOther && (found.name || found.email)) refill(who, person(found))
    })
  return who
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
/** Characters that a terminal acts on. JSON allows them only within texts, where they can be escaped. */
const CONTROLS = /[\u007f-\u009f]/g
const escapeOf = (char: string) => `\\u00${char.charCodeAt(0).toString(16)}`

/** The request that logs an activity again. */
const curlOf = (log: Log, payload: string): string => {
  const { source, type, email, externalId, name, occurredAt, idempotencyKey } = log
  const stored = Object.entries({ source, type, email, externalId, name, occurredAt, idempotencyKey })
  const members = Object.fromEntries(stored.filter(([, value]) => value !== null))
  const body = withExact(members, 'payload', payload).replace(CONTROLS, escapeOf)
  return `curl -s ${baseUrl()}/v0/prospect_logs -H "x-api-key: $KEY" -H 'content-type: application/json' -d ${quoted(body)}`
}

/** All fields of one activity, in its current state. */
export const activityDetail = async (id: string, signal: AbortSignal, isInTimeline = false) => {
  const { value: log, text } = await call<ProspectLog>('GET', path`/prospect_logs/${id}`, { signal })
  const payload = memberOf(text, 'payload')
  const isLate = Math.abs(Date.parse(log.createdAt) - Date.parse(log.occurredAt)) > LATE_MS
  const sentAs = [log.name, log.email, log.externalId].filter(Boolean).join(', ')
  const href = addressOf(['people', log.prospectId])
  const about = h(
    'div',
    facts({
      Person: !isInTimeline && h('a', { href }, whoDid(log, signal)),
      'Sent as': bdi(sentAs),
      What: kindAndSource(log),
      Page: pageOf(pageIdIn(log.payload)),
      Happened: time(log.occurredAt),
      Arrived: isLate && time(log.createdAt),
      'Sender’s key': log.idempotencyKey && h('bdi.mono', log.idempotencyKey),
      ID: idOf(log.prospectLogId),
    }),
  )
  const sent = h(
    'div',
    payloadShown(
      payload,
      button('Copy as curl', () => copy(curlOf(log, payload))),
      !isInTimeline && h('a.button', { href }, 'Open person'),
    ),
  )
  return h('div.detail', sent, about)
}
