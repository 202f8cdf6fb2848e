import type { Prospect, ProspectConflict, ProspectWithIdentifiers } from '../shapes/prospect.ts'
import type { ProspectLog } from '../shapes/prospect-log.ts'
import { forgetPeople } from './activity-detail.ts'
import { kindAndSource } from './activity-kind.ts'
import { call, can, get, path, type Slice } from './api.ts'
import { openForm } from './dialog.ts'
import { addressOf, bdi, button, type Child, card, counted, facts, h, person, refill, time } from './dom.ts'
import { findPeople } from './find-people.ts'
import { row, table } from './lists.ts'
import { gated, notify } from './notices.ts'
import { pickerFor } from './picker.ts'

/** How a person is called. One without an email is known by the external id. */
const nameOf = ({ name, email, externalId }: Prospect): string =>
  name ?? email ?? externalId ?? 'the one without a name'

/**
 * Merges two people after a look at both, side by side. Without `otherId` the reader searches for the other one. The first
 * is kept, unless the reader chooses the other one.
 */
export const merge = (keptId: string, otherId?: string): void => {
  const content = h('div')
  let pair: readonly [ProspectWithIdentifiers, ProspectWithIdentifiers] | undefined
  const compare = async (otherId: string): Promise<void> => {
    refill(content, h('p.muted', { role: 'status' }, 'Loading…'))
    const [kept, other] = await Promise.all([readWhole(keptId), readWhole(otherId)]).catch((error) => {
      search()
      throw error
    })
    pair = [kept.prospect, other.prospect]
    allow()
    refill(content, button('Choose another person', search, { class: 'link' }), sideBySide(kept, other))
    content.querySelector('input')?.focus()
  }
  /** Nothing can be merged before both people are shown. */
  const allow = (): void => {
    const submit = content.closest('form')?.querySelector<HTMLButtonElement>('button.danger')
    submit?.toggleAttribute('disabled', pair === undefined)
  }
  const search = (): void => {
    pair = undefined
    allow()
    const field = h('input', { autocomplete: 'off', 'aria-label': WHO, placeholder: WHO })
    const found = pickerFor(
      field,
      async (typed, signal) => {
        if (typed === '') return []
        const { items } = await findPeople(typed, undefined, signal)
        const others = items.filter(({ prospectId }) => prospectId !== keptId)
        return others.slice(0, SHOWN_MAX).map((prospect) => ({
          title: nameOf(prospect),
          note: prospect.name === null ? null : (prospect.email ?? prospect.externalId),
          take: () => compare(prospect.prospectId),
        }))
      },
      'Type the beginning of a name, last name or email, or a whole external ID.',
    )
    refill(content, h('p', 'Who is the same person? Choose one to see both side by side.'), field, found)
    field.focus()
  }
  openForm({
    title: 'Merge two people',
    action: 'Merge for good',
    isDanger: true,
    body: [content],
    run: async ({ kept }) => {
      if (pair === undefined) throw new Error('Choose the other person first.')
      const [into, from] = kept === pair[1].prospectId ? [pair[1], pair[0]] : pair
      await call('POST', path`/prospects/${from.prospectId}/merge`, { body: { into: into.prospectId } })
      forgetPeople()
      notify(`Merged. ${nameOf(into)} has the activities of both, or will in a moment.`)
      const address = addressOf(['people', into.prospectId])
      if (location.hash === address) dispatchEvent(new Event('hashchange'))
      else location.hash = address
    },
  })
  if (otherId === undefined) search()
  else {
    allow()
    void compare(otherId)
  }
}

const WHO = 'Name, email or ID'
const SHOWN_MAX = 8

/** A person with the newest activities. */
type Whole = { readonly prospect: ProspectWithIdentifiers; readonly logs: Slice<ProspectLog> | null }
const readWhole = async (id: string): Promise<Whole> => {
  const [prospect, logs] = await Promise.all([
    get<ProspectWithIdentifiers>(path`/prospects/${id}`),
    can('prospect_logs:read')
      ? get<Slice<ProspectLog>>(path`/prospects/${id}/prospect_logs`, { limit: LOGS_MAX })
      : null,
  ])
  return { prospect, logs }
}
/** More activities are not counted. */
const LOGS_MAX = 100
const amountOf = ({ items, hasMore }: Slice<ProspectLog>): string =>
  hasMore ? `more than ${LOGS_MAX} activities` : counted(items.length, 'activity', 'activities')

const sideBySide = (kept: Whole, other: Whole): Child => [
  h('div.beside', columnOf(kept, true), columnOf(other, false)),
  h(
    'p',
    'The person you keep gets all activities of the other one, and a name, email or external ID that is missing. From now on, all emails and IDs of both lead to that person. This cannot be undone.',
  ),
]

const columnOf = ({ prospect, logs }: Whole, isKept: boolean) => {
  const newest = logs?.items[0]
  const { prospectId, name, email, externalId, createdAt } = prospect
  const listed = (texts: readonly (string | null)[]): Child => {
    const present = texts.filter((text) => text !== null)
    return present.length > 0 && present.map((text) => h('div', bdi(text)))
  }
  return h(
    'div.column',
    h(
      'label.check',
      h('input', { type: 'radio', name: 'kept', value: prospectId, checked: isKept }),
      h(
        'span',
        h('b', 'Keep ', bdi(nameOf(prospect))),
        name && h('small', bdi(email ?? externalId)),
        h('small', logs && [amountOf(logs), ', '], 'known since ', time(createdAt)),
      ),
    ),
    facts({
      Name: bdi(name),
      Emails: listed([email, ...prospect.otherEmails]),
      'Former emails': listed(prospect.formerEmails),
      'External IDs': listed([externalId, ...prospect.otherExternalIds]),
      'Former external IDs': listed(prospect.formerExternalIds),
      'Last activity': newest && [time(newest.createdAt), h('small', kindAndSource(newest))],
    }),
  )
}

const PAIRS_MAX = 5

/** Pairs of people whom one activity named: they may be one person. */
export const possiblePairs = async (signal: AbortSignal): Promise<Child> => {
  const { items, hasMore } = await get<Slice<ProspectConflict>>(
    '/prospect_conflicts',
    { limit: PAIRS_MAX },
    signal,
  )
  if (items.length === 0) return
  const rows = await Promise.all(items.map((pair) => pairRow(pair, signal)))
  return [
    h('h2.label', 'Maybe the same person'),
    card(
      table(['Who', 'Also', 'An activity named both', ''], rows),
      hasMore && h('p.muted.note', `The newest ${PAIRS_MAX}. Merge them to see others.`),
    ),
  ]
}

/** Undefined if one of the two was erased in the meantime. */
const pairRow = async ({ prospectIds, at }: ProspectConflict, signal: AbortSignal) => {
  const read = (id: string) => get<Prospect>(path`/prospects/${id}`, {}, signal).catch(() => null)
  const [first, second] = await Promise.all(prospectIds.map(read))
  if (!first || !second) return
  const link = ({ prospectId, name, email, externalId }: Prospect) =>
    h('a.who', { href: addressOf(['people', prospectId]) }, person({ name, email: email ?? externalId }))
  return row(
    link(first),
    link(second),
    h('td.when', time(at)),
    h(
      'td.end',
      gated('prospects:write', 'Compare and merge…', () => merge(first.prospectId, second.prospectId), {
        class: 'link',
      }),
    ),
  )
}
