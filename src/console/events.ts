import type { Event as FeedEvent } from '../shapes/event.ts'
import { call, path, type Slice } from './api.ts'
import { choice } from './dialog.ts'
import { absolute, card, crumb, facts, goTo, h, type Place, type View, when } from './dom.ts'
import { EVENT_TYPES, wordsOf } from './endpoint-form.ts'
import { below, expander, loadMore, row, table } from './lists.ts'
import { liveMark } from './live-mark.ts'
import { idOf, json } from './notices.ts'
import { itemTexts, memberOf } from './raw.ts'
import { repeat } from './repeat.ts'

/** The server waits for the next events; there is no pause between two requests. */
const WAIT_S = 15
const REST_MS = 500
const ROWS_MAX = 2_000
type Read = { readonly event: FeedEvent; readonly text: string }

/** The feed, from its end or from its beginning, by type; or one event. */
export const view: View = (place, signal) =>
  place.id ? eventView(place.id, signal) : feedView(place, signal)

const detailOf = ({ event, text }: Read) =>
  h(
    'div.detail',
    facts({
      Type: event.type,
      Happened: absolute(event.createdAt),
      Sequence: `${event.sequence}`,
      Id: idOf(event.eventId),
      'API key': event.apiKeyId && idOf(event.apiKeyId),
    }),
    json('Data', memberOf(text, 'data')),
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
  const list = table(['When', 'Type', 'Sequence', 'What'], [])
  list.classList.add('feed')
  const body = list.tBodies[0] as HTMLTableSectionElement
  const none = h(
    'p.muted.empty',
    'New events appear here. Events are recorded while a webhook endpoint is enabled, or always with EVENTS=on.',
  )
  let isShown = false
  let cursor: string | undefined = isFromStart ? undefined : 'latest'
  const more = loadMore(async () => next(), 'Load more')
  const rowOf = (read: Read): HTMLElement => {
    const opener = expander([wordsOf(read.event.type), h('small', read.event.type)], () =>
      below(shown, 4, detailOf(read)),
    )
    const data = memberOf(read.text, 'data').slice(0, 160)
    const shown = row(
      when(read.event.createdAt),
      opener,
      `${read.event.sequence}`,
      h('td.start.mono', h('bdi', data)),
    )
    return shown
  }
  const next = async (): Promise<string | undefined> => {
    // The first slice is shown at once, even if it is empty.
    const query = { limit: 50, cursor, types: type, wait: isShown ? WAIT_S : 0 }
    const { value, text } = await call<Slice<FeedEvent>>('GET', '/events', { query, signal })
    cursor = value.nextCursor
    isShown = true
    const texts = itemTexts(text)
    const rows = value.items.map((event, i) => rowOf({ event, text: texts[i] ?? '{}' }))
    // From the end, the newest is first; from the beginning, the feed is read in its order.
    if (isFromStart) body.append(...rows)
    else body.prepend(...rows.toReversed())
    while (body.rows.length > ROWS_MAX)
      (isFromStart ? body.firstElementChild : body.lastElementChild)?.remove()
    none.hidden = body.rows.length > 0
    return isFromStart && value.hasMore ? cursor : undefined
  }
  const work = async (): Promise<void> => {
    if (more.element.hidden) more.follow(await next())
  }
  const filtered = (name: string) => (event: Event) => {
    const { value } = event.target as HTMLSelectElement
    goTo(['events'], { ...Object.fromEntries(place.search), [name]: value })
  }
  const types = {
    '': 'all types',
    ...Object.fromEntries(EVENT_TYPES.map((name) => [name, `${wordsOf(name)} (${name})`])),
  }
  const starts = { '': 'now on', start: 'the oldest kept' }
  const first = repeat({ signal, ms: REST_MS, work, onState: mark.set })
  await first
  return [
    h('header', h('h1', 'Events'), mark),
    h(
      'div.filters',
      choice('From', 'from', starts, { value: isFromStart ? 'start' : '', onchange: filtered('from') }),
      choice('Type', 'type', types, { value: type, onchange: filtered('type') }),
    ),
    card(list, none, more.element),
  ]
}
