import type { Prospect, ProspectWithIdentifiers } from '../shapes/prospect.ts'
import { can, get, Problem, path, type Slice } from './api.ts'
import { actions, addressOf, button, h, type Place, person, type View, when } from './dom.ts'
import { fieldsIn } from './fields.ts'
import { FOUND_MAX, findPeople, isPersonId } from './find-people.ts'
import { row, sliced } from './lists.ts'
import { possiblePairs } from './merge.ts'
import { personView } from './person.ts'
import { erasures } from './person-dialogs.ts'
import { type CsvRow, localTime, saveAsCsv } from './save-csv.ts'

/** People: the newest ones, a search by the beginning of a name or an email or by an id, and one person. */
export const view: View = (place, signal) =>
  place.id ? personView(place.id, signal) : listView(place, signal)

const listView = async (place: Place, signal: AbortSignal) => {
  const searched = place.search.get('q')?.trim() ?? ''
  const cutNote = h(
    'p.muted.note',
    { hidden: true },
    `The newest ${FOUND_MAX}. Type more of the name to find others.`,
  )
  const load = async (cursor?: string): Promise<Slice<Prospect>> => {
    const slice = await findPeople(searched, cursor, signal)
    cutNote.hidden = slice.items.length < FOUND_MAX
    return slice
  }
  const none = searched
    ? 'No one whose name, last name or email begins like this, or who has this external ID.'
    : 'No people yet. They appear with their first activity.'
  const [list, pairs, erasureList] = await Promise.all([
    sliced(['Who', 'Known since'], load, rowOf, none),
    searched === '' && possiblePairs(signal),
    can('prospects:erase') && erasures(signal),
  ])
  list.append(cutNote)
  const save = () =>
    saveAsCsv(
      'people',
      async (cursor, signal) => {
        const { items, nextCursor } = await load(cursor)
        const people: Identified[] = []
        for (let i = 0; i < items.length; i += READ_AT_ONCE) {
          const some = items.slice(i, i + READ_AT_ONCE)
          people.push(...(await Promise.all(some.map((person) => withIdentifiers(person, signal)))))
        }
        return { rows: people.map(csvRowOf), nextCursor }
      },
      searched && `the people found by “${searched}”`,
    )
  return [
    h('header', h('h1', 'People'), actions(button('Save as CSV', save))),
    searchForm(searched),
    pairs,
    list,
    erasureList,
  ]
}

const WHO = 'Name, email or ID'
const searchForm = (searched: string) => {
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
  return h('form.search', { onsubmit: search, role: 'search' }, field, h('button', 'Search'))
}

/** A person without an email is known by the external id. */
const rowOf = ({ prospectId, name, email, externalId, createdAt }: Prospect) => {
  const who = person({ name, email: email ?? externalId })
  return row(h('a.who', { href: addressOf(['people', prospectId]), 'data-row': true }, who), when(createdAt))
}

type Identified = Prospect & Partial<Pick<ProspectWithIdentifiers, 'otherEmails' | 'otherExternalIds'>>

/** People that are read at the same time. */
const READ_AT_ONCE = 8
/** A list has one email of each person. Someone who has more was merged or corrected, so was changed. */
const withIdentifiers = async (person: Prospect, signal: AbortSignal): Promise<Identified> => {
  if (person.updatedAt === person.createdAt) return person
  return get<Identified>(path`/prospects/${person.prospectId}`, {}, signal).catch((error) => {
    if (error instanceof Problem && error.status === 410) return person
    throw error
  })
}

/** As many as a person has. */
const ATTRIBUTES_MAX = 50
const csvRowOf = (person: Identified): CsvRow => {
  const { name, email, externalId, createdAt, prospectId, attributes } = person
  return {
    cells: {
      Name: name,
      Email: email,
      'Other emails': person.otherEmails?.join(', '),
      'External ID': externalId,
      'Other external IDs': person.otherExternalIds?.join(', '),
      'Known since': localTime(createdAt),
      'Person ID': prospectId,
    },
    fields: fieldsIn(JSON.stringify(attributes), ATTRIBUTES_MAX),
  }
}
