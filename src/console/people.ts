import type { Erasure } from '../shapes/erasure.ts'
import type { Prospect } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { activityDetail, forgetPeople } from './activity-table.ts'
import {
  type Answer,
  call,
  can,
  get,
  itemTexts,
  memberOf,
  Problem,
  path,
  type Query,
  repeated,
  type Slice,
} from './api.ts'
import { ask, attempt, complain, field, gated, idOf, tell } from './dialog.ts'
import { absolute, button, card, facts, h, person, table, time } from './dom.ts'
import { liveMark, type Row, repeat, rowsOf } from './live.ts'
import { addressOf, type Place, type View } from './place.ts'

const POLL_MS = 2_000
const START_LENGTH = 120

/** People: found by exact email or id, and the newest. */
export const peopleView: View = (place, signal) =>
  place.id ? personView(place.id, signal) : listView(place, signal)

const listView = async (place: Place, signal: AbortSignal) => {
  const wanted = place.search.get('q')?.trim() ?? ''
  const search = (event: Event) => {
    event.preventDefault()
    const q = String(new FormData(event.target as HTMLFormElement).get('q')).trim()
    location.hash = /^prospect_\w+$/.test(q) ? addressOf(['people', q]) : addressOf(['people'], { q })
  }
  const query = h('input', {
    name: 'q',
    type: 'search',
    value: wanted,
    placeholder: 'Exact email or id',
    'aria-label': 'Exact email or id',
  })
  const rows = h('tbody')
  const more = button('Load older', () => attempt(load), { class: 'more' })
  let cursor: string | undefined
  const load = async (): Promise<void> => {
    const slice = await get<Slice<Prospect>>('/prospects', { email: wanted, limit: 50, cursor }, signal)
    cursor = slice.nextCursor
    rows.append(...slice.items.map(personRow))
    more.hidden = cursor === undefined
  }
  await load()
  const list = table(['Who', 'Known since', 'Id'], [])
  list.tBodies[0]?.replaceWith(rows)
  const nobody = wanted
    ? 'Nobody has exactly this email. An erased person cannot be found.'
    : 'Nobody is known yet: people come with their first activity.'
  const found = rows.childElementCount > 0 ? list : h('p.muted.empty', {}, nobody)
  return [
    h('header', {}, h('h1', {}, 'People')),
    h('form.search', { onsubmit: search, role: 'search' }, query, h('button', {}, 'Find')),
    card(found, more),
    can('prospects:erase') && (await erasures(signal)),
  ]
}
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
    const { erasureId, status, requestedAt, logsErased, blockedUntil } = erasure
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
      h('td', {}, `${logsErased} activities`),
      h(
        'td',
        {},
        blockedUntil
          ? [
              `refused until ${absolute(blockedUntil)} `,
              button('Accept this person again', unblock, { class: 'link' }),
            ]
          : 'not refused',
      ),
      h('td', {}, idOf(erasureId)),
    )
    return row
  }
  return [
    h('h2.label', {}, 'Erasures'),
    card(table(['State', 'Requested', 'Erased', 'New activities of this person', 'Id'], items.map(rowOf))),
  ]
}

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
    const { name, email, createdAt, updatedAt } = prospect
    heading.replaceChildren(
      h('h1', {}, h('bdi', {}, name ?? email ?? 'No name yet')),
      name && email ? h('p.lead.muted', {}, h('bdi', {}, email)) : '',
    )
    const changed = updatedAt === createdAt ? null : time(updatedAt, true)
    about.replaceChildren(
      facts({
        Email: email && h('bdi', {}, email),
        Name: name && h('bdi', {}, name),
        Since: h('span', {}, absolute(createdAt)),
        Changed: changed,
        Id: idOf(id),
      }),
    )
  }
  showPerson()
  const correct = () =>
    ask({
      title: 'Correct this person',
      action: 'Save',
      body: [
        field(
          'Email',
          'email',
          { value: prospect.email },
          'Activities with this email belong to this person. Empty: no email.',
        ),
        field('Name', 'name', { value: prospect.name, maxlength: 255 }),
      ],
      run: async ({ email = '', name = '' }) => {
        const changes = { email: email || null, name: name || null }
        prospect = (await call<Prospect>('PATCH', url, { body: changes })).value
        forgetPeople()
        showPerson()
        return undefined
      },
    })
  const timeline = timelineOf(id, signal, mark)
  const buttons = h(
    'div.actions',
    {},
    gated('prospects:write', 'Correct', correct),
    gated('prospect_logs:read', 'Download everything', () => attempt(() => download(prospect, signal))),
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
const timelineOf = (id: string, signal: AbortSignal, mark: ReturnType<typeof liveMark>) => {
  const url = path`/prospects/${id}/prospect_logs`
  const list = h('ol.timeline')
  const seen = new Map<string, HTMLElement>()
  let cursor: string | undefined
  const more = button('Load older', () => attempt(loadOlder), { hidden: true, class: 'more' })
  const itemOf = (row: Row): HTMLElement => {
    const { log, text } = row
    const toggle = () => {
      const isOpen = opener.getAttribute('aria-expanded') === 'true'
      opener.setAttribute('aria-expanded', String(!isOpen))
      if (isOpen) item.querySelector('.detail')?.remove()
      else item.append(activityDetail(row, true))
      mark.set(list.querySelector('.detail') ? 'held' : 'live')
    }
    const start = h('bdi.start.mono', {}, memberOf(text, 'payload').slice(0, START_LENGTH))
    const line = [
      h('b', {}, h('bdi', {}, log.type)),
      h('span.muted', {}, ' from ', h('bdi', {}, log.source), ' · ', time(log.occurredAt, true)),
      start,
    ]
    const opener: HTMLElement = button(line, toggle, {
      class: 'open',
      'aria-expanded': 'false',
      'data-row': true,
    })
    const item: HTMLElement = h('li', {}, opener)
    return item
  }
  const poll = repeated<Slice<ProspectLog>>(url)
  const work = async (): Promise<void> => {
    if (list.querySelector('.detail')) return
    const answer = await poll({ limit: 20 }, signal)
    if (answer === null) return
    if (seen.size === 0) cursor = answer.value.nextCursor
    more.hidden = cursor === undefined
    const fresh = rowsOf(answer).filter(({ log }) => !seen.has(log.prospectLogId))
    const items = fresh.map((row) => [row.log.prospectLogId, itemOf(row)] as const)
    list.prepend(...items.map(([, item]) => item))
    for (const [logId, item] of items) seen.set(logId, item)
  }
  const loadOlder = async (): Promise<void> => {
    const answer = await call<Slice<ProspectLog>>('GET', url, { query: { limit: 100, cursor }, signal })
    cursor = answer.value.nextCursor
    more.hidden = cursor === undefined
    list.append(
      ...rowsOf(answer)
        .filter(({ log }) => !seen.has(log.prospectLogId))
        .map(itemOf),
    )
  }
  void repeat({
    signal,
    ms: POLL_MS,
    work,
    onAway: (isAway) => mark.set(isAway ? 'away' : list.querySelector('.detail') ? 'held' : 'live'),
  })
  return card(list, more)
}

/** Everything about a person as JSON lines: the answer to a request for access. */
const download = async (prospect: Prospect, signal: AbortSignal): Promise<void> => {
  const url = path`/prospects/${prospect.prospectId}`
  const parts: string[] = [(await call('GET', url, { signal })).text]
  let cursor: string | undefined
  let count = 0
  do {
    const query: Query = { limit: 100, cursor }
    const answer: Answer<Slice<ProspectLog>> = await call('GET', `${url}/prospect_logs`, { query, signal })
    const texts = itemTexts(answer.text)
    parts.push(...texts.map((text) => `${text}\n`))
    count += texts.length
    cursor = answer.value.nextCursor
  } while (cursor)
  parts.push(`${JSON.stringify({ done: true, logs: count })}\n`)
  const href = URL.createObjectURL(new Blob(parts, { type: 'application/x-ndjson' }))
  h('a', { href, download: `${prospect.prospectId}.jsonl` }).click()
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
  tell(`Downloaded: one person, ${count} activities.`)
}

const erase = ({ prospectId, email, name }: Prospect): void => {
  const word = email ?? prospectId
  ask({
    title: `Erase ${name ?? email ?? 'this person'}`,
    action: 'Erase for good',
    isDanger: true,
    body: [
      h('p', {}, 'Name, email and all activities of this person are deleted. This cannot be undone.'),
      field(
        'How many days are activities with this email refused, so that nothing brings the person back?',
        'blockDays',
        { type: 'number', value: 30, min: 0, max: 3_650, required: true },
      ),
      field(`To confirm, type ${word}`, 'word', { required: true }),
    ],
    run: async (values) => {
      if (values['word'] !== word) throw new Error(`Type ${word} to confirm.`)
      await call('POST', '/erasures', { body: { prospectId, blockDays: Number(values['blockDays']) } })
      forgetPeople()
      location.hash = addressOf(['people', prospectId], { erased: 'now' })
      return undefined
    },
  })
}

/** Of an erased person: how far the erasure is. */
const erasedView = async (id: string, signal: AbortSignal) => {
  const state = h('div')
  const find = async (): Promise<void> => {
    const { items } = await get<Slice<Erasure>>('/erasures', { limit: 100 }, signal)
    const erasure = items.find(({ prospectId }) => prospectId === id)
    if (!erasure) return
    const { status, requestedAt, completedAt, logsErased, waitingFor, blockedUntil, erasureId } = erasure
    const tag = h(status === 'completed' ? 'span.tag.ok' : 'span.tag.warning', {}, status)
    const waits =
      waitingFor === 'second_pass'
        ? 'for a second search, after about 90 seconds'
        : waitingFor && 'for the file to be rewritten'
    state.replaceChildren(
      facts({
        State: tag,
        Requested: time(requestedAt, true),
        Completed: completedAt && time(completedAt, true),
        Waits: waits,
        'Activities erased': h('span', {}, logsErased),
        'Refused until': blockedUntil && absolute(blockedUntil),
        Id: idOf(erasureId),
      }),
    )
  }
  if (can('prospects:erase')) void repeat({ signal, ms: POLL_MS, work: () => find().catch(complain) })
  return [
    h(
      'header',
      {},
      h('a.crumbs', { href: addressOf(['people']) }, 'People'),
      h('h1', {}, 'This person was erased'),
    ),
    card(
      h(
        'p',
        {},
        'Nothing is shown of them any more. What is left of their activities is being deleted, or was.',
      ),
      state,
      idOf(id),
    ),
  ]
}
