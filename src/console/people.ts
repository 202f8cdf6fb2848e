import type { Prospect } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { activityDetail, pageOf } from './activity-detail.ts'
import { call, can, fileAt, get, Problem, path, repeated, type Slice } from './api.ts'
import { saveAsCsv } from './dialog.ts'
import {
  absolute,
  actions,
  addressOf,
  bdi,
  button,
  card,
  counted,
  crumb,
  facts,
  h,
  type Place,
  person,
  refill,
  time,
  type View,
  when,
} from './dom.ts'
import { expander, loadMore, row, saveFile, sliced } from './lists.ts'
import { type LiveState, liveMark, type Row, repeat, rowsOf } from './live.ts'
import { gated, idOf, notify } from './notices.ts'
import { correct, erase, erasedView, erasures, isPersonId, merge, waysTo } from './person-dialogs.ts'

/** People: found by the beginning of a name or an email, by external id or id, and the newest. */
export const view: View = (place, signal) =>
  place.id ? personView(place.id, signal) : listView(place, signal)

const SEARCH_MAX = 100
const WHO = 'Name, last name, email or id'
const listView = async (place: Place, signal: AbortSignal) => {
  const wanted = place.search.get('q')?.trim() ?? ''
  const search = (event: Event) => {
    event.preventDefault()
    const q = query.value.trim()
    const address = isPersonId(q) ? addressOf(['people', q]) : addressOf(['people'], { q })
    // A repeated search must show the current state.
    if (location.hash === address) dispatchEvent(new Event('hashchange'))
    else location.hash = address
  }
  const named = { placeholder: WHO, 'aria-label': WHO }
  const query = h('input', { name: 'q', type: 'search', value: wanted, ...named })
  if (place.search.has('find')) requestAnimationFrame(() => query.focus())
  const cut = h(
    'p.muted.note',
    { hidden: true },
    `The newest ${SEARCH_MAX}. Type more of the name to find others.`,
  )
  const isSearch = wanted.length >= 2 && wanted.length <= 100
  const ways = [
    ...(isSearch ? [{ search: wanted, limit: SEARCH_MAX }] : []),
    ...(wanted ? waysTo(wanted) : [{}]),
  ]
  const load = async (cursor?: string) => {
    let slice: Slice<Prospect> = { items: [], hasMore: false }
    for (const by of ways)
      if (slice.items.length === 0) slice = await get('/prospects', { limit: 50, cursor, ...by }, signal)
    cut.hidden = slice.items.length < SEARCH_MAX
    return slice
  }
  const rowOf = (prospect: Prospect) =>
    row(
      h('a.who', { href: addressOf(['people', prospect.prospectId]), 'data-row': true }, person(prospect)),
      when(prospect.createdAt),
      idOf(prospect.prospectId),
    )
  const none = wanted
    ? 'No one whose name, last name or email begins like this, or who has this external id.'
    : 'No people yet. They appear with their first activity.'
  const save = () =>
    saveAsCsv('people', ['Name', 'Email', 'External id', 'Known since', 'Id'], async (cursor) => {
      const { items, nextCursor } = await load(cursor)
      const rows = items.map((one) => [one.name, one.email, one.externalId, one.createdAt, one.prospectId])
      return { rows, nextCursor }
    })
  const list = await sliced(['Who', 'Known since', 'Id'], load, rowOf, none)
  list.append(cut)
  return [
    h('header', h('h1', 'People'), actions(button('Save as CSV', save))),
    h('form.search', { onsubmit: search, role: 'search' }, query, h('button', 'Find')),
    list,
    can('prospects:erase') && (await erasures(signal)),
  ]
}

/** A person: identifiers, activities, and actions. */
const personView = async (id: string, signal: AbortSignal) => {
  const url = path`/prospects/${id}`
  let prospect: Prospect
  try {
    prospect = await get<Prospect>(url, {}, signal)
  } catch (error) {
    if (error instanceof Problem && error.code === 'prospect_erased') return erasedView(id, signal)
    throw error
  }
  const mark = liveMark()
  const about = h('div')
  const heading = h('div')
  const showPerson = (): void => {
    const { name, email, externalId, createdAt, updatedAt } = prospect
    const lead = name && email && h('p.lead.muted', bdi(email))
    refill(heading, h('h1', bdi(name ?? email ?? 'No name yet')), lead)
    const changed = updatedAt !== createdAt && time(updatedAt)
    refill(
      about,
      facts({
        Email: bdi(email),
        'External id': bdi(externalId),
        Name: bdi(name),
        Since: absolute(createdAt),
        Changed: changed,
        Id: idOf(id),
      }),
    )
  }
  const onPerson = (found: Prospect): void => {
    prospect = found
    showPerson()
  }
  showPerson()
  const timeline = timelineOf(id, signal, mark, onPerson)
  return [
    h('header', crumb('People', 'people'), heading, mark),
    h(
      'div.two',
      card(
        about,
        actions(
          gated('prospects:write', 'Correct…', () => correct(prospect, onPerson)),
          gated('prospect_logs:read', 'Download everything', () => download(id)),
          gated('prospects:write', 'Merge into…', () => merge(prospect)),
          gated('prospects:erase', 'Erase…', () => erase(prospect), { class: 'danger' }),
        ),
      ),
      can('prospect_logs:read') ? timeline : card(h('p.muted', 'Your key cannot read activities.')),
    ),
  ]
}

/** A person's activities, newest first, live until one is opened. */
const timelineOf = (
  id: string,
  signal: AbortSignal,
  mark: ReturnType<typeof liveMark>,
  onPerson: (prospect: Prospect) => void,
) => {
  const url = path`/prospects/${id}/prospect_logs`
  const list = h('ol.timeline')
  let isLonger = false
  const older = loadMore(async (cursor) => {
    const answer = await call<Slice<ProspectLog>>('GET', url, { query: { limit: 100, cursor }, signal })
    isLonger = true
    list.append(...rowsOf(answer).map(itemOf))
    mark.set(state())
    return answer.value.nextCursor
  })
  /** The first slice is live until one is opened, or older ones are loaded. */
  const state = (): LiveState => (isLonger || list.querySelector('.detail') ? 'held' : 'live')
  const itemOf = ({ log, start, pageId }: Row): HTMLElement => {
    const line = [
      h('b', bdi(log.type)),
      h('span.muted', ' from ', bdi(log.source), ' · ', time(log.occurredAt)),
      h('bdi.start.mono', start),
    ]
    const show = async () => {
      const detail = await activityDetail(log.prospectLogId, signal, true)
      item.append(detail)
      return detail
    }
    const opener = expander(line, show, () => mark.set(state()))
    const item = h('li', opener, pageOf(pageId))
    return item
  }
  const poll = repeated<Slice<ProspectLog>>(url)
  /** Activities that arrived while one was being opened are shown once it is closed. */
  let late: Awaited<ReturnType<typeof poll>> = null
  const pollPerson = repeated<Prospect>(path`/prospects/${id}`)
  const work = async (): Promise<void> => {
    const found = await pollPerson({}, signal)
    if (found) onPerson(found.value)
    if (!can('prospect_logs:read') || state() === 'held') return
    const answer = (await poll({ limit: 20 }, signal)) ?? late
    late = state() === 'held' ? answer : null
    if (answer === null || late !== null) return
    older.follow(answer.value.nextCursor)
    refill(list, rowsOf(answer).map(itemOf))
  }
  void repeat({ signal, work, onState: mark.set, state })
  return card(list, older.element)
}

/** Everything about a person as JSON lines: the answer to a request for access. */
const download = async (id: string): Promise<void> => {
  const file = await fileAt(path`/prospects/${id}/export`)
  const [, logs] = /\{"done":true,"logs":(\d+)\}\n$/.exec(await file.slice(-100).text()) ?? []
  if (logs === undefined) throw new Error('The download is not complete. Try again.')
  saveFile(`${id}.jsonl`, file)
  notify(`Downloaded: one person, ${counted(Number(logs), 'activity', 'activities')}.`)
}
