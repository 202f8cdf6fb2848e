import type { Prospect } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { activityDetail } from './activity-detail.ts'
import { forgetPeople } from './activity-table.ts'
import { call, can, fileAt, get, Problem, path, repeated, type Slice } from './api.ts'
import { ask, attempt, gated, idOf, loadMore, notify } from './dialog.ts'
import { absolute, card, counted, expander, facts, h, refill, time } from './dom.ts'
import { erase, erasedView } from './erasing.ts'
import { field } from './fields.ts'
import { type LiveState, liveMark, type Row, repeat, rowsOf } from './live.ts'
import { merge } from './merging.ts'
import { addressOf } from './place.ts'

const POLL_MS = 2_000

/** A person: identifiers, activities, and actions. */
export const personView = async (id: string, signal: AbortSignal) => {
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
    refill(
      heading,
      h('h1', {}, h('bdi', {}, name ?? email ?? 'No name yet')),
      name && email ? h('p.lead.muted', {}, h('bdi', {}, email)) : '',
    )
    const changed = updatedAt === createdAt ? null : time(updatedAt, true)
    refill(
      about,
      facts({
        Email: email && h('bdi', {}, email),
        'External id': externalId && h('bdi', {}, externalId),
        Name: name && h('bdi', {}, name),
        Since: h('span', {}, absolute(createdAt)),
        Changed: changed,
        Id: idOf(prospect.prospectId),
      }),
    )
  }
  showPerson()
  const correct = () => {
    const before = prospect
    ask({
      title: 'Correct this person',
      action: 'Save',
      body: [
        field(
          'Email',
          'email',
          { value: before.email },
          'Activities with this email belong to this person. Empty: no email.',
        ),
        field('External id', 'externalId', { value: before.externalId, maxlength: 255 }),
        field('Name', 'name', { value: before.name, maxlength: 255 }),
      ],
      run: async ({ email = '', externalId = '', name = '' }) => {
        if (email && email !== (before.email ?? '') && !/^\S+@\S+$/.test(email.trim()))
          throw new Error('This is not an email address.')
        // Untouched fields are not sent: an activity may have filled them in the meantime.
        const given = Object.entries({ email, externalId, name })
        const touched = given.filter(([member, value]) => (before[member as 'name'] ?? '') !== value)
        const changes = Object.fromEntries(touched.map(([member, value]) => [member, value || null]))
        prospect = (await call<Prospect>('PATCH', url, { body: changes })).value
        forgetPeople()
        showPerson()
      },
    })
  }
  const timeline = timelineOf(id, signal, mark, (found) => {
    prospect = found
    showPerson()
  })
  const buttons = h(
    'div.actions',
    {},
    gated('prospects:write', 'Correct…', correct),
    gated('prospect_logs:read', 'Download everything', () => attempt(() => download(id))),
    gated('prospects:write', 'Merge into…', () => merge(prospect)),
    gated('prospects:erase', 'Erase…', () => erase(prospect), { class: 'danger' }),
  )
  return [
    h('header', {}, h('a.crumbs', { href: addressOf(['people']) }, 'People'), heading, mark),
    h(
      'div.two',
      {},
      card(about, buttons),
      can('prospect_logs:read') ? timeline : card(h('p.muted', {}, 'Your key cannot read activities.')),
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
  const itemOf = (row: Row): HTMLElement => {
    const { log } = row
    const start = h('bdi.start.mono', {}, row.start)
    const line = [
      h('b', {}, h('bdi', {}, log.type)),
      h('span.muted', {}, ' from ', h('bdi', {}, log.source), ' · ', time(log.occurredAt, true)),
      start,
    ]
    const show = async () => {
      const detail = await activityDetail(log.prospectLogId, signal, true)
      item.append(detail)
      return detail
    }
    const item: HTMLElement = h(
      'li',
      {},
      expander(line, show, () => mark.set(state())),
    )
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
  void repeat({ signal, ms: POLL_MS, work, onState: (now) => mark.set(now === 'live' ? state() : now) })
  return card(list, older.element)
}

/** Everything about a person as JSON lines: the answer to a request for access. */
const download = async (id: string): Promise<void> => {
  const file = await fileAt(path`/prospects/${id}/export`)
  const [, logs] = /\{"done":true,"logs":(\d+)\}\n$/.exec(await file.slice(-100).text()) ?? []
  if (logs === undefined) throw new Error('The download is not complete. Try again.')
  const href = URL.createObjectURL(file)
  h('a', { href, download: `${id}.jsonl` }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
  notify(`Downloaded: one person, ${counted(Number(logs), 'activity', 'activities')}.`)
}
