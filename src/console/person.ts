import type { Prospect, ProspectWithIdentifiers } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { activityDetail } from './activity-detail.ts'
import { kindAndSource } from './activity-kind.ts'
import { call, can, download, get, Problem, path, pollOf, type Slice } from './api.ts'
import { attributeFacts } from './attributes.ts'
import { actions, bdi, card, counted, crumb, facts, h, refill, time } from './dom.ts'
import { fieldsInLine } from './fields.ts'
import { type Row, rowsOf } from './follow-logs.ts'
import { pageOf } from './known-pages.ts'
import { expander, loadMore } from './lists.ts'
import { type LiveState, liveMark } from './live-mark.ts'
import { merge } from './merge.ts'
import { gated, idOf, notify } from './notices.ts'
import { correct, erase, erasedView } from './person-dialogs.ts'
import { repeat } from './repeat.ts'
import { saveFile } from './save-csv.ts'

/** One person: identifiers, activities, and actions. */
export const personView = async (id: string, signal: AbortSignal) => {
  let prospect: ProspectWithIdentifiers
  try {
    prospect = await get<ProspectWithIdentifiers>(path`/prospects/${id}`, {}, signal)
  } catch (error) {
    if (error instanceof Problem && error.code === 'prospect_erased') return erasedView(id, signal)
    throw error
  }
  const mark = liveMark()
  const about = h('div')
  const heading = h('div')
  const showPerson = (changed: Prospect): void => {
    // A correction returns no former emails: the next poll does.
    prospect = { ...prospect, ...changed }
    refill(heading, headingOf(prospect))
    const shown = factsOf(prospect)
    shown.append(...attributeFacts(prospect).children)
    refill(about, shown)
  }
  showPerson(prospect)
  const timeline = timelineOf(id, signal, mark, showPerson)
  const buttons = actions(
    gated('prospects:write', 'Edit…', () => correct(prospect, showPerson)),
    gated('prospects:write', 'Merge…', () => merge(prospect.prospectId)),
    gated('prospects:erase', 'Erase…', () => erase(prospect), { class: 'danger' }),
    gated('prospect_logs:read', 'Download everything', () => downloadPerson(id)),
  )
  return [
    h('header', crumb('People', 'people'), heading, mark),
    h(
      'div.two.person',
      card(about, buttons),
      can('prospect_logs:read') ? timeline : card(h('p.muted', 'Your key cannot read activities.')),
    ),
  ]
}

const headingOf = ({ name, email }: Prospect) => [
  h('h1', bdi(name ?? email ?? 'No name yet')),
  name && email && h('p.lead.muted', bdi(email)),
]

const factsOf = (prospect: ProspectWithIdentifiers) => {
  const { prospectId, name, email, externalId, createdAt, updatedAt } = prospect
  const listed = (texts: readonly string[]) => texts.length > 0 && bdi(texts.join(', '))
  return facts({
    Email: bdi(email),
    'Other emails': listed(prospect.otherEmails),
    'Former emails': listed(prospect.formerEmails),
    'External ID': bdi(externalId),
    'Other external IDs': listed(prospect.otherExternalIds),
    'Former external IDs': listed(prospect.formerExternalIds),
    Name: bdi(name),
    'Known since': time(createdAt),
    Changed: updatedAt !== createdAt && time(updatedAt),
    ID: idOf(prospectId),
  })
}

/** A person's activities, newest first. They are live until one is opened or older ones are loaded. */
const timelineOf = (
  id: string,
  signal: AbortSignal,
  mark: ReturnType<typeof liveMark>,
  onPerson: (prospect: Prospect) => void,
) => {
  const url = path`/prospects/${id}/prospect_logs`
  const list = h('ol.timeline')
  let hasOlder = false
  const older = loadMore(async (cursor) => {
    const answer = await call<Slice<ProspectLog>>('GET', url, { query: { limit: 100, cursor }, signal })
    hasOlder = true
    list.append(...rowsOf(answer).map(itemOf))
    mark.set(state())
    return answer.value.nextCursor
  })
  const state = (): LiveState => (hasOlder || list.querySelector('.detail') ? 'held' : 'live')
  const itemOf = ({ log, fields, pageId }: Row): HTMLElement => {
    const line = [
      kindAndSource(log),
      h('span.muted', ' · ', time(log.occurredAt)),
      h('span.start', fieldsInLine(fields)),
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
  const pollPerson = pollOf<Prospect>(path`/prospects/${id}`)
  const pollLogs = pollOf<Slice<ProspectLog>>(url)
  /** An answer that came while an activity was being opened. It is shown once that is closed. */
  let heldBack: Awaited<ReturnType<typeof pollLogs>> = null
  const refresh = async (): Promise<void> => {
    const person = await pollPerson({}, signal)
    if (person) onPerson(person.value)
    if (!can('prospect_logs:read') || state() === 'held') return
    const answer = (await pollLogs({ limit: 20 }, signal)) ?? heldBack
    heldBack = state() === 'held' ? answer : null
    if (answer === null || heldBack !== null) return
    older.follow(answer.value.nextCursor)
    refill(list, rowsOf(answer).map(itemOf))
  }
  void repeat({ signal, work: refresh, onState: mark.set, state })
  return card(list, older.element)
}

/** The last line of a complete export. */
const LAST_LINE = /\{"done":true,"logs":(\d+)\}\n$/
const LAST_LINE_BYTES_MAX = 100

/** Saves everything about a person as JSON lines: the answer to a person who asks for their data. */
const downloadPerson = async (id: string): Promise<void> => {
  const file = await download(path`/prospects/${id}/export`)
  const logs = LAST_LINE.exec(await file.slice(-LAST_LINE_BYTES_MAX).text())?.[1]
  if (logs === undefined) throw new Error('The download is not complete. Try again.')
  saveFile(`${id}.jsonl`, file)
  notify(`Downloaded: one person, ${counted(Number(logs), 'activity', 'activities')}.`)
}
