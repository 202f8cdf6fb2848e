import type { Erasure } from '../shapes/erasure.ts'
import type { Prospect } from '../shapes/prospect.ts'
import { forgetPeople } from './activity-detail.ts'
import { call, can, get, path, type Query, type Slice } from './api.ts'
import { ask, field } from './dialog.ts'
import { absolute, button, card, counted, crumb, goTo, h, refill, tag, when } from './dom.ts'
import { row, table } from './lists.ts'
import { repeat } from './live.ts'
import { idOf } from './notices.ts'

/** Corrects who a person is. */
export const correct = (before: Prospect, done: (person: Prospect) => void): void =>
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
      const entered = Object.entries({ email, externalId, name })
      const touched = entered.filter(([member, value]) => (before[member as 'name'] ?? '') !== value)
      const body = Object.fromEntries(touched.map(([member, value]) => [member, value || null]))
      const { value } = await call<Prospect>('PATCH', path`/prospects/${before.prospectId}`, { body })
      forgetPeople()
      done(value)
    },
  })

/** Asks for what cannot be undone: it is confirmed by typing who the person is. */
const askForGood = (
  { prospectId, email, name }: Prospect,
  [verb, whereto, text]: readonly [verb: string, whereto: string, text: string],
  input: HTMLElement,
  run: (values: Readonly<Record<string, string>>) => Promise<void>,
): void => {
  const word = email ?? prospectId
  ask({
    title: `${verb} ${name ?? email ?? 'this person'}${whereto}`,
    action: `${verb} for good`,
    isDanger: true,
    body: [
      h('p', `${text} This cannot be undone.`),
      input,
      field(`To confirm, type ${word}`, 'word', { required: true }),
    ],
    run: async (values) => {
      if (values['word'] !== word) throw new Error(`Type ${word} to confirm.`)
      await run(values)
    },
  })
}
/** Erases a person, after a confirmation. */
export const erase = (person: Prospect): void =>
  askForGood(
    person,
    ['Erase', '', 'Name, email, external id and all activities of this person are deleted.'],
    field(
      'Block this email and external id for (days)',
      'blockDays',
      { type: 'number', value: 30, min: 0, max: 3_650, required: true },
      'So that no new activity creates the person again.',
    ),
    async ({ blockDays }) => {
      const { prospectId } = person
      await call('POST', '/erasures', { body: { prospectId, blockDays: Number(blockDays) } })
      forgetPeople()
      goTo(['people', prospectId], { erased: 'now' })
    },
  )
/** Merges a person into another one. */
export const merge = (person: Prospect): void =>
  askForGood(
    person,
    [
      'Merge',
      ' into another person',
      'The other person is kept, and gets all activities of this one, and the email, external id and name if they are missing there.',
    ],
    field('Email, external id or id of the other person', 'other', { required: true }),
    async ({ other = '' }) => {
      const into = await idOfPerson(other.trim())
      await call('POST', path`/prospects/${person.prospectId}/merge`, { body: { into } })
      forgetPeople()
      goTo(['people', into])
    },
  )
export const isPersonId = (text: string): boolean => /^prospect_[a-z0-9]{26}$/.test(text)
/** The queries that find one person by what the reader types. */
export const waysTo = (named: string): readonly Query[] => [
  { email: named },
  ...(named.length > 255 ? [] : [{ externalId: named }]),
]
const idOfPerson = async (named: string): Promise<string> => {
  if (isPersonId(named)) return named
  for (const by of waysTo(named)) {
    const [found] = (await get<Slice<Prospect>>('/prospects', by)).items
    if (found) return found.prospectId
  }
  throw new Error('No person has this email or external id.')
}

/** The newest erasures, or those of one person; a mistyped email is unblocked here. */
const listOf = async (signal: AbortSignal, personId?: string) => {
  const { items } = await get<Slice<Erasure>>('/erasures', { limit: 100 }, signal)
  const rowOf = (erasure: Erasure): HTMLElement => {
    const { erasureId, status, waitingFor, blockedUntil } = erasure
    const unblock = async () => {
      const { value } = await call<Erasure>('POST', path`/erasures/${erasureId}/unblock`)
      shown.replaceWith(rowOf(value))
    }
    const isRefused = blockedUntil !== null && Date.parse(blockedUntil) > Date.now()
    const waits =
      waitingFor === 'second_pass'
        ? 'for earlier writes to end, and a second search'
        : 'for the file to be rewritten'
    const shown = row(
      [tag(status, status === 'completed' ? 'ok' : 'warning'), waitingFor && h('small', `waits ${waits}`)],
      when(erasure.requestedAt),
      counted(erasure.logsErased, 'activity', 'activities'),
      isRefused
        ? [`refused until ${absolute(blockedUntil)} `, button('Lift the block', unblock, { class: 'link' })]
        : 'accepted',
      idOf(erasureId),
    )
    return shown
  }
  const wanted = personId ? items.filter(({ prospectId }) => prospectId === personId) : items.slice(0, 10)
  const heads = ['State', 'Requested', 'Erased', 'New activities', 'Id']
  return wanted.length > 0 && table(heads, wanted.map(rowOf))
}
export const erasures = async (signal: AbortSignal) => {
  const found = await listOf(signal)
  return found && [h('h2.label', 'Erasures'), card(found)]
}
/** The progress of a person's erasure. */
export const erasedView = async (id: string, signal: AbortSignal) => {
  const state = h('div')
  const work = async () => refill(state, await listOf(signal, id))
  if (can('prospects:erase')) await repeat({ signal, work })
  return [
    h('header', crumb('People', 'people'), h('h1', 'This person was erased')),
    card(h('p', 'Nothing of this person is shown anymore.'), state),
  ]
}
