import type { Event as FeedEvent } from '../shapes/event.ts'
import { kindAndSource } from './activity-kind.ts'
import { call, path, type Slice } from './api.ts'
import { choice } from './dialog.ts'
import { bdi, type Child, card, crumb, facts, goTo, h, type Place, time, type View, when } from './dom.ts'
import { EVENT_TYPES, wordsOf } from './endpoint-form.ts'
import { fieldsShown } from './fields.ts'
import { pageOf } from './known-pages.ts'
import { below, expander, loadMore, row, table } from './lists.ts'
import { liveMark } from './live-mark.ts'
import { idOf } from './notices.ts'
import { itemTexts, memberOf } from './raw.ts'
import { repeat } from './repeat.ts'

/** The server holds each request until there are events, so there is only a short pause between two requests. */
const WAIT_S = 15
const PAUSE_MS = 500
const ROWS_MAX = 2_000
const COLUMNS = ['When', 'What happened', 'To whom or what', 'Number']

/** An event and its exact text. */
type ReadEvent = { readonly event: FeedEvent; readonly text: string }

/** The feed of events, from its beginning or from now on, filtered by type; or one event. */
export const view: View = (place, signal) =>
  place.id ? eventView(place.id, signal) : feedView(place, signal)

const detailOf = ({ event, text }: ReadEvent) =>
  h(
    'div.detail',
    facts({
      Type: event.type,
      Happened: time(event.createdAt),
      Number: `${event.sequence}`,
      ID: idOf(event.eventId),
      'API key': event.apiKeyId && idOf(event.apiKeyId),
    }),
    fieldsShown('Data', memberOf(text, 'data')),
  )

const eventView = async (id: string, signal: AbortSignal) => {
  const { value, text } = await call<FeedEvent>('GET', path`/events/${id}`, { signal })
  return [
    h('header', crumb('Events', 'events'), h('h1', wordsOf(value.type))),
    card(detailOf({ event: value, text })),
  ]
}

const feedView = async (place: Place, signal: AbortSignal) => {
  const type = place.search.get('type') ?? ''
  const isFromStart = place.search.get('from') === 'start'
  const mark = liveMark()
  const list = table(COLUMNS, [])
  list.classList.add('feed')
  const body = list.tBodies[0] as HTMLTableSectionElement
  const none = h(
    'div.empty',
    h('p.muted', 'Nothing yet. Once something is connected in CRM & webhooks, what happens appears here.'),
    h(
      'details',
      h('summary', 'For the operator'),
      h('p.muted', 'Events are recorded while a webhook endpoint is enabled, or always with EVENTS=on.'),
    ),
  )
  let isFirst = true
  let cursor: string | undefined = isFromStart ? undefined : 'latest'
  const more = loadMore(() => readNext(), 'Load more')
  /** Adds rows. The feed is shown in its order from its beginning, but from now on with the newest event first. */
  const add = (rows: readonly HTMLElement[]): void => {
    if (isFromStart) body.append(...rows)
    else body.prepend(...rows.toReversed())
    while (body.rows.length > ROWS_MAX) {
      const earliest = isFromStart ? body.firstElementChild : body.lastElementChild
      earliest?.remove()
    }
    none.hidden = body.rows.length > 0
  }
  /** Reads the next slice. Returns its cursor if the reader has to ask for more. */
  const readNext = async (): Promise<string | undefined> => {
    // The first slice is shown at once, even if it is empty.
    const query = { limit: 50, cursor, types: type, wait: isFirst ? 0 : WAIT_S }
    const { value, text } = await call<Slice<FeedEvent>>('GET', '/events', { query, signal })
    cursor = value.nextCursor
    isFirst = false
    const texts = itemTexts(text)
    add(value.items.map((event, i) => rowOf({ event, text: texts[i] ?? '{}' })))
    return isFromStart && value.hasMore ? cursor : undefined
  }
  const work = async (): Promise<void> => {
    if (more.element.hidden) more.follow(await readNext())
  }
  const filterBy =
    (name: string) =>
    ({ target }: Event) => {
      const { value } = target as HTMLSelectElement
      goTo(['events'], { ...Object.fromEntries(place.search), [name]: value })
    }
  const typeNames = EVENT_TYPES.map((name) => [name, `${wordsOf(name)} (${name})`])
  const types = Object.fromEntries([['', 'all types'], ...typeNames])
  const starts = { '': 'now on', start: 'the oldest kept' }
  await repeat({ signal, ms: PAUSE_MS, work, onState: mark.set })
  return [
    h('header', h('h1', 'Events'), mark),
    h(
      'div.filters',
      choice('From', 'from', starts, { value: isFromStart ? 'start' : '', onchange: filterBy('from') }),
      choice('Type', 'type', types, { value: type, onchange: filterBy('type') }),
    ),
    card(list, none, more.element),
  ]
}

const rowOf = (read: ReadEvent): HTMLElement => {
  const { type, createdAt, sequence } = read.event
  const showDetail = () => below(element, COLUMNS.length, detailOf(read))
  const element = row(
    when(createdAt),
    expander(h('b', wordsOf(type)), showDetail),
    h('td.start', subjectOf(read.event)),
    `${sequence}`,
  )
  return element
}

/** The members of resources by which people know them. A resource that no longer exists has only ids. */
type Subject = Partial<
  Record<
    | 'name'
    | 'email'
    | 'externalId'
    | 'source'
    | 'type'
    | 'effectiveName'
    | 'title'
    | 'pageId'
    | 'url'
    | 'description',
    string | null
  >
>

/** Whom or what an event is about, as people call it. */
const subjectOf = ({ type, data }: FeedEvent): Child => {
  const subject: Subject = data
  const { name, email, externalId, source, effectiveName, title, pageId, url, description } = subject
  const called = name ?? email ?? externalId
  switch (type.split('.')[0]) {
    case 'prospect_log':
      if (!source) return 'an activity that was deleted'
      return [
        kindAndSource({ source, type: subject.type ?? '' }),
        called && [h('span.muted', ' by '), bdi(called)],
      ]
    case 'page_version':
      return pageOf(pageId ?? undefined)
    case 'webhook_endpoint':
      return bdi(description || url)
    default:
      return bdi(effectiveName ?? title ?? called)
  }
}
