import type { Prospect } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { baseUrl, can, get, memberOf, path } from './api.ts'
import { copy, idOf } from './dialog.ts'
import {
  absolute,
  below,
  button,
  code,
  counted,
  expander,
  facts,
  h,
  person,
  pretty,
  table,
  time,
} from './dom.ts'
import { followLogs, type LiveState, type liveMark, type Row, SLICE_LENGTH } from './live.ts'
import { addressOf } from './place.ts'

export const ROWS_MAX = 1_000
/** Who has scrolled so far reads on. */
const SCROLLED_PX = 120
/** Of a payload in a row. */
const START_LENGTH = 160
/** People of whom an activity has neither name nor email, by id. At most two are asked for at a time. */
const people = new Map<string, Promise<Prospect | null>>()
let asking: Promise<unknown> = Promise.resolve()
const personBy = (id: string): Promise<Prospect | null> => {
  const known = people.get(id)
  if (known !== undefined) return known
  if (people.size > ROWS_MAX) people.clear()
  const found = asking.then(() => get<Prospect>(path`/prospects/${id}`).catch(() => null))
  asking = found
  people.set(id, found)
  return found
}
export const forgetPeople = (): void => people.clear()

/** Who did it: as sent with the activity, else as the prospect is known. */
const whoDid = ({ prospectId, name, email }: ProspectLog) => {
  const who = h('span.who', {}, person({ name, email }))
  if (!name && !email && can('prospects:read'))
    void personBy(prospectId).then((found) => found && who.replaceChildren(h('span.who', {}, person(found))))
  return who
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
/** The request that logs an activity again. */
const curlOf = ({ log, text }: Row): string => {
  const { source, type, email, name, occurredAt, idempotencyKey } = log
  const given = Object.entries({ source, type, email, name, occurredAt, idempotencyKey })
  const members = given
    .filter(([, value]) => value !== null)
    .map(([member, value]) => `"${member}":${JSON.stringify(value)}`)
  const body = `{${[...members, `"payload":${memberOf(text, 'payload')}`].join(',')}}`
  return `curl -s ${baseUrl()}/v0/prospect_logs -H "x-api-key: $KEY" -H 'content-type: application/json' -d ${quoted(body)}`
}

/** All of one activity. */
export const activityDetail = (row: Row, isInTimeline = false) => {
  const { log, text } = row
  const payload = memberOf(text, 'payload')
  const laterMs = Date.parse(log.createdAt) - Date.parse(log.occurredAt)
  const later =
    laterMs === 0
      ? ''
      : laterMs < 60_000 && laterMs > 0
        ? `, stored ${laterMs} ms later`
        : `, stored ${absolute(log.createdAt)}`
  const isOther = log.email || log.name
  return h(
    'div.detail',
    {},
    facts({
      Person: !isInTimeline && h('a', { href: addressOf(['people', log.prospectId]) }, whoDid(log)),
      'Sent as': isOther && h('bdi', {}, [log.name, log.email].filter(Boolean).join(', ')),
      From: [h('bdi', {}, log.source), ' · ', h('bdi', {}, log.type)],
      Happened: [h('span', {}, absolute(log.occurredAt)), h('span.muted', {}, later)],
      'Idempotency key': log.idempotencyKey && h('bdi.mono', {}, log.idempotencyKey),
      Id: idOf(log.prospectLogId),
    }),
    code(pretty(payload), 'Payload'),
    h(
      'div.actions',
      {},
      button('Copy payload', () => copy(payload)),
      button('Copy as curl', () => copy(curlOf(row))),
      !isInTimeline && h('a.button', { href: addressOf(['people', log.prospectId]) }, 'Open person'),
    ),
  )
}

/** A row that opens in place. */
const rowOf = (row: Row, onToggle: (row: Row, opened: HTMLElement | null) => void) => {
  const { log, text } = row
  const payload = memberOf(text, 'payload')
  const opener = expander(
    whoDid(log),
    () => below(element, 5, activityDetail(row)),
    () => {
      onToggle(row, opener.getAttribute('aria-expanded') === 'true' ? element : null)
    },
  )
  const onclick = (event: Event) => (event.target as Element).closest('button, a') === null && opener.click()
  const element = h(
    'tr',
    { onclick },
    h('td.when', {}, time(log.createdAt)),
    h('td', {}, opener),
    h('td', {}, h('bdi', {}, log.source)),
    h('td', {}, h('bdi.tag', {}, log.type)),
    h('td.start.mono', {}, h('bdi', {}, payload.slice(0, START_LENGTH))),
  )
  return Object.assign(element, { opener })
}

type TailOptions = {
  readonly signal: AbortSignal
  readonly query: Readonly<Record<string, string>>
  readonly mark: ReturnType<typeof liveMark>
  readonly max: number
  readonly isPaused?: () => boolean
  readonly onNewest: (row: Row | null) => void
  readonly onOpened?: (id: string | null) => void
}
/** The newest activities in a table, live. */
export const activityTable = ({ signal, query, mark, max, isPaused, onNewest, onOpened }: TailOptions) => {
  const opened = new Set<string>()
  const rows = new Map<string, ReturnType<typeof rowOf>>()
  const body = h('tbody')
  const fresh = button('', () => tail.show(), { class: 'fresh', hidden: true })
  let isScrolled = false
  const onScroll = () => {
    isScrolled = max === ROWS_MAX && scrollY > SCROLLED_PX
  }
  document.addEventListener('scroll', onScroll, { signal, passive: true })
  const state = (): LiveState => {
    if (isPaused?.()) return 'paused'
    return opened.size > 0 || isScrolled ? 'held' : 'live'
  }
  const remove = (id: string): void => {
    const element = rows.get(id)
    if (opened.has(id)) element?.nextElementSibling?.remove()
    element?.remove()
    opened.delete(id)
    rows.delete(id)
  }
  const toggled = ({ log }: Row, element: HTMLElement | null): void => {
    if (element) opened.add(log.prospectLogId)
    else opened.delete(log.prospectLogId)
    mark.set(state())
    onOpened?.(element ? log.prospectLogId : null)
  }
  /** Newest first, whatever order they come in. */
  const insert = (given: readonly Row[]): void => {
    for (const row of given.toReversed()) {
      const id = row.log.prospectLogId
      if (rows.has(id)) continue
      const element = rowOf(row, toggled)
      let older = ''
      for (const other of rows.keys()) if (other < id && other > older) older = other
      body.insertBefore(element, rows.get(older) ?? null)
      rows.set(id, element)
    }
  }
  const onRows = (given: readonly Row[], isGap: boolean): void => {
    if (isGap) for (const id of [...rows.keys()]) remove(id)
    insert(given)
    const ids = [...rows.keys()].sort()
    for (const id of ids.slice(0, Math.max(ids.length - max, 0))) if (!opened.has(id)) remove(id)
    onNewest(given[0] ?? null)
    mark.set(state())
  }
  const onWaiting = (count: number, isMore: boolean): void => {
    fresh.hidden = count === 0
    const number = isMore ? `${count} or more` : count
    fresh.textContent = counted(count, 'new activity', 'new activities').replace(`${count}`, `${number}`)
    mark.set(state())
  }
  const tail = followLogs({
    ...{ signal, query, state, onRows, onWaiting, onState: mark.set, shown: () => rows },
    ...{ limit: Math.min(max, SLICE_LENGTH), onGone: (ids) => ids.forEach(remove) },
  })
  const element = table(['When', 'Who', 'Source', 'Type', 'Payload'], [])
  element.tBodies[0]?.replaceWith(body)
  element.classList.add('activities')
  return {
    element,
    fresh,
    first: tail.first,
    size: () => rows.size,
    oldest: () => [...rows.keys()].sort()[0],
    /** Older ones, at the end. */
    append: insert,
    open: (id: string) => rows.get(id)?.opener.click(),
    has: (id: string) => rows.has(id),
  }
}
