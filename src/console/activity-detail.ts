import type { Page } from '../shapes/page.ts'
import type { PageGroup } from '../shapes/page-group.ts'
import type { Prospect } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { baseUrl, call, can, get, path, type Slice } from './api.ts'
import { absolute, addressOf, bdi, button, facts, h, person, refill } from './dom.ts'
import { pageIdIn, type Row } from './follow-logs.ts'
import { copy, idOf, json } from './notices.ts'
import { memberOf, withExact } from './raw.ts'

type Log = Row['log']
/** An activity that arrives so much later than it happened says so. */
const LATE_MS = 60_000
const PEOPLE_MAX = 500
/** People whose activities have neither name nor email, by id. One is requested at a time. */
const people = new Map<string, Promise<Prospect | null>>()
let asking: Promise<unknown> = Promise.resolve()
export const personBy = (id: string, signal: AbortSignal): Promise<Prospect | null> => {
  const known = people.get(id)
  if (known !== undefined) return known
  if (people.size > PEOPLE_MAX) people.clear()
  const found = asking.then(() => (signal.aborted ? null : get<Prospect>(path`/prospects/${id}`, {}, signal)))
  const settled = found.catch(() => null)
  // A person who was not found, or has no name yet, is requested again.
  void settled.then((person) => person?.name || person?.email || people.delete(id))
  asking = settled
  people.set(id, settled)
  return settled
}
export const forgetPeople = (): void => people.clear()

/** The person: as sent with the activity, else as the prospect is known. */
export const whoDid = ({ prospectId, name, email }: Log, signal: AbortSignal) => {
  const who = h('span.who', person({ name, email }))
  if (!name && !email && can('prospects:read'))
    void personBy(prospectId, signal).then((found) => found && refill(who, person(found)))
  return who
}

/** The pages of so many groups are known by name; again after a while if one is not. */
const GROUPS_MAX = 20
const FRESH_MS = 60_000
let pages: Promise<ReadonlyMap<string, Page>> = Promise.resolve(new Map())
let readMs = 0
const readPages = async () => {
  const { items } = await get<Slice<PageGroup>>('/page_groups', { limit: GROUPS_MAX })
  const ofGroup = ({ pageGroupId }: PageGroup) =>
    get<Slice<Page>>(path`/page_groups/${pageGroupId}/pages`, { limit: 100 })
  const lists = await Promise.all(items.map(ofGroup))
  return new Map(lists.flatMap(({ items }) => items.map((page) => [page.pageId, page] as const)))
}
/** The page that an activity names, if it is one of this tenant. */
export const pageBy = async (id: string | undefined): Promise<Page | undefined> => {
  if (!id || !can('pages:read') || !can('page_groups:read')) return
  const known = (await pages).get(id)
  if (known || Date.now() - readMs < FRESH_MS) return known ?? (await pages).get(id)
  readMs = Date.now()
  pages = readPages().catch(() => new Map())
  return (await pages).get(id)
}
/** A link to the page of an activity, by its name. */
export const pageOf = (id: string | undefined) => {
  const place = h('span.page')
  void pageBy(id).then((page) => {
    if (!page) return
    const href = addressOf(['pages', page.pageGroupId, page.pageId])
    refill(place, h('a', { href }, bdi(page.effectiveName)))
  })
  return id && place
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
/** Characters that a terminal acts on are escaped: within texts of JSON that is the same. */
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
  const other = [log.name, log.email, log.externalId].filter(Boolean).join(', ')
  const href = addressOf(['people', log.prospectId])
  return h(
    'div.detail',
    facts({
      Person: !isInTimeline && h('a', { href }, whoDid(log, signal)),
      'Sent as': bdi(other),
      From: [bdi(log.source), ' · ', bdi(log.type)],
      Page: pageOf(pageIdIn(log.payload)),
      Happened: absolute(log.occurredAt),
      Arrived: isLate && absolute(log.createdAt),
      'Idempotency key': log.idempotencyKey && h('bdi.mono', log.idempotencyKey),
      Id: idOf(log.prospectLogId),
    }),
    json(
      'Payload',
      payload,
      button('Copy as curl', () => copy(curlOf(log, payload))),
      !isInTimeline && h('a.button', { href }, 'Open person'),
    ),
  )
}
