import type { Prospect } from '../shapes/prospect.ts'
import { can, get, type Slice } from './api.ts'
import { actions, addressOf, button, h, type Place, person, type View, when } from './dom.ts'
import { row, sliced } from './lists.ts'
import { personView } from './person.ts'
import { erasures, identifierQueries, isPersonId } from './person-dialogs.ts'
import { type CsvRow, localTime, saveAsCsv } from './save-csv.ts'

/** People: the newest ones, a search by the beginning of a name or an email or by an id, and one person. */
export const view: View = (place, signal) =>
  place.id ? personView(place.id, signal) : listView(place, signal)

const SEARCH_MAX = 100
const listView = async (place: Place, signal: AbortSignal) => {
  const searched = place.search.get('q')?.trim() ?? ''
  const cutNote = h(
    'p.muted.note',
    { hidden: true },
    `The newest ${SEARCH_MAX}. Type more of the name to find others.`,
  )
  const queries = queriesFor(searched)
  const load = async (cursor?: string): Promise<Slice<Prospect>> => {
    const slice = await firstFound(queries, cursor, signal)
    cutNote.hidden = slice.items.length < SEARCH_MAX
    return slice
  }
  const none = searched
    ? 'No one whose name, last name or email begins like this, or who has this external id.'
    : 'No people yet. They appear with their first activity.'
  const list = await sliced(['Who', 'Known since'], load, rowOf, none)
  list.append(cutNote)
  const save = () =>
    saveAsCsv('people', async (cursor) => {
      const { items, nextCursor } = await load(cursor)
      return { rows: items.map(csvRowOf), nextCursor }
    })
  const erasureList = can('prospects:erase') && (await erasures(signal))
  return [
    h('header', h('h1', 'People'), actions(button('Save as CSV', save))),
    searchForm(searched, place.search.has('find')),
    list,
    erasureList,
  ]
}

const WHO = 'Name, last name, email or id'
const searchForm = (searched: string, isFocused: boolean) => {
  const field = h('input', {
    name: 'q',
    type: 'search',
    value: searched,
    placeholder: WHO,
    'aria-label': WHO,
  })
  const search = (event: Event) => {
    event.preventDefault()
    const q = field.value.trim()
    const address = isPersonId(q) ? addressOf(['people', q]) : addressOf(['people'], { q })
    // The same search again must show the current state.
    if (location.hash === address) dispatchEvent(new Event('hashchange'))
    else location.hash = address
  }
  // The field takes the focus once it is on the page.
  if (isFocused) requestAnimationFrame(() => field.focus())
  return h('form.search', { onsubmit: search, role: 'search' }, field, h('button', 'Find'))
}

type ProspectQuery = Readonly<Record<string, string | number>>
/** The queries that are tried in order. The API searches by at least two characters. */
const queriesFor = (searched: string): readonly ProspectQuery[] => {
  if (searched === '') return [{}]
  const identifiers = identifierQueries(searched)
  const isSearchable = searched.length >= 2 && searched.length <= 100
  return isSearchable ? [{ search: searched, limit: SEARCH_MAX }, ...identifiers] : identifiers
}

/** The slice of the first query that finds a person. */
const firstFound = async (
  queries: readonly ProspectQuery[],
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Slice<Prospect>> => {
  let slice: Slice<Prospect> = { items: [], hasMore: false }
  for (const query of queries) {
    slice = await get('/prospects', { limit: 50, cursor, ...query }, signal)
    if (slice.items.length > 0) break
  }
  return slice
}

/** A person without an email is known by the external id. */
const rowOf = ({ prospectId, name, email, externalId, createdAt }: Prospect) => {
  const who = person({ name, email: email ?? externalId })
  return row(h('a.who', { href: addressOf(['people', prospectId]), 'data-row': true }, who), when(createdAt))
}

const csvRowOf = ({ name, email, externalId, createdAt, prospectId }: Prospect): CsvRow => ({
  cells: {
    Name: name,
    Email: email,
    'External ID': externalId,
    'Known since': localTime(createdAt),
    'Person ID': prospectId,
  },
  fields: [],
})
