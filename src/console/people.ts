import type { Erasure } from '../shapes/erasure.ts'
import type { Prospect } from '../shapes/prospect.ts'
import { call, can, get, path, type Query, type Slice } from './api.ts'
import { attempt, idOf, loadMore } from './dialog.ts'
import { button, card, counted, h, person, table, time } from './dom.ts'
import { refusedUntil } from './erasing.ts'
import { personView } from './person.ts'
import { addressOf, type Place, type View } from './place.ts'

/** People: found by the beginning of a name or an email, by external id or id, and the newest. */
export const view: View = (place, signal) =>
  place.id ? personView(place.id, signal) : listView(place, signal)

const listView = async (place: Place, signal: AbortSignal) => {
  const wanted = place.search.get('q')?.trim() ?? ''
  const search = (event: Event) => {
    event.preventDefault()
    const q = String(new FormData(event.target as HTMLFormElement).get('q')).trim()
    const isId = /^prospect_[a-z0-9]{26}$/.test(q)
    const address = isId ? addressOf(['people', q]) : addressOf(['people'], { q })
    // A repeated search must show the current state.
    if (location.hash === address) dispatchEvent(new Event('hashchange'))
    else location.hash = address
  }
  const query = h('input', {
    name: 'q',
    type: 'search',
    value: wanted,
    placeholder: 'Name, last name, email or id',
    'aria-label': 'Name, last name, email or id',
  })
  if (place.search.has('find')) requestAnimationFrame(() => query.focus())
  const rows = h('tbody')
  let isCut = false
  const load = async (cursor?: string): Promise<string | undefined> => {
    const find = (by: Query) => get<Slice<Prospect>>('/prospects', { limit: 50, cursor, ...by }, signal)
    const isSearch = wanted.length >= 2 && wanted.length <= 100
    let slice = await find(isSearch ? { search: wanted, limit: SEARCH_MAX } : { email: wanted })
    isCut = isSearch && slice.items.length === SEARCH_MAX
    if (slice.items.length === 0 && isSearch) slice = await find({ email: wanted })
    if (slice.items.length === 0 && wanted && wanted.length <= 255) slice = await find({ externalId: wanted })
    rows.append(...slice.items.map(personRow))
    return slice.nextCursor
  }
  const more = loadMore(load)
  more.follow(await load())
  const list = table(['Who', 'Known since', 'Id'], [])
  list.tBodies[0]?.replaceWith(rows)
  const nobody = wanted
    ? 'No one whose name, last name or email begins like this, or who has this external id.'
    : 'No people yet. They appear with their first activity.'
  const cut =
    isCut && h('p.muted.note', {}, `The newest ${SEARCH_MAX}. Type more of the name to find others.`)
  const found = rows.childElementCount > 0 ? list : h('p.muted.empty', {}, nobody)
  return [
    h('header', {}, h('h1', {}, 'People')),
    h('form.search', { onsubmit: search, role: 'search' }, query, h('button', {}, 'Find')),
    card(found, cut, more.element),
    can('prospects:erase') && (await erasures(signal)),
  ]
}
const SEARCH_MAX = 100
const personRow = (prospect: Prospect) =>
  h(
    'tr',
    {},
    h(
      'td',
      {},
      h('a.who', { href: addressOf(['people', prospect.prospectId]), 'data-row': true }, person(prospect)),
    ),
    h('td.when', {}, time(prospect.createdAt, true)),
    h('td', {}, idOf(prospect.prospectId)),
  )

/** The newest erasures; a mistyped email is unblocked here. */
const erasures = async (signal: AbortSignal) => {
  const { items } = await get<Slice<Erasure>>('/erasures', { limit: 10 }, signal)
  if (items.length === 0) return null
  const rowOf = (erasure: Erasure): HTMLElement => {
    const { erasureId, status, requestedAt, logsErased } = erasure
    const until = refusedUntil(erasure)
    const unblock = () =>
      attempt(async () => {
        const { value } = await call<Erasure>('POST', path`/erasures/${erasureId}/unblock`)
        row.replaceWith(rowOf(value))
      })
    const row = h(
      'tr',
      {},
      h('td', {}, h(status === 'completed' ? 'span.tag.ok' : 'span.tag.warning', {}, status)),
      h('td.when', {}, time(requestedAt, true)),
      h('td', {}, counted(logsErased, 'activity', 'activities')),
      h(
        'td',
        {},
        until
          ? [`refused until ${until} `, button('Lift the block', unblock, { class: 'link' })]
          : 'accepted',
      ),
      h('td', {}, idOf(erasureId)),
    )
    return row
  }
  return [
    h('h2.label', {}, 'Erasures'),
    card(table(['State', 'Requested', 'Erased', 'New activities', 'Id'], items.map(rowOf))),
  ]
}
