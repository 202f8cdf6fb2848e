import type { Erasure } from '../shapes/erasure.ts'
import type { Prospect } from '../shapes/prospect.ts'
import { forgetPeople } from './activity-detail.ts'
import { call, can, get, path, type Slice } from './api.ts'
import { attributeFields } from './attributes.ts'
import { field, openForm } from './dialog.ts'
import { addressOf, button, card, counted, crumb, goTo, h, refill, tag, time, when } from './dom.ts'
import { row, table } from './lists.ts'
import { notify } from './notices.ts'
import { repeat } from './repeat.ts'

/** Corrects who a person is, and the person's attributes. */
export const correct = (before: Prospect, done: (person: Prospect) => void): void => {
  const attributes = attributeFields(before)
  openForm({
    title: 'Edit this person',
    action: 'Save',
    body: [
      field('Name', 'name', { value: before.name, maxlength: 255 }),
      field(
        'Email',
        'email',
        { value: before.email },
        'Activities with this email belong to this person. Leave empty for no email.',
      ),
      field('External ID', 'externalId', { value: before.externalId, maxlength: 255 }),
      attributes.element,
    ],
    run: async (values) => {
      const { email = '', externalId = '', name = '' } = values
      if (email && email !== (before.email ?? '') && !/^\S+@\S+$/.test(email.trim()))
        throw new Error('This is not an email address.')
      // Untouched fields are not sent, because an activity may have filled them in the meantime.
      const entered = Object.entries({ email, externalId, name })
      const touched = entered.filter(([member, value]) => (before[member as 'name'] ?? '') !== value)
      const changed = attributes.changesIn(values)
      const body = {
        ...Object.fromEntries(touched.map(([member, value]) => [member, value || null])),
        ...(Object.keys(changed).length > 0 && { attributes: changed }),
      }
      if (Object.keys(body).length === 0) return
      const { value } = await call<Prospect>('PATCH', path`/prospects/${before.prospectId}`, { body })
      forgetPeople()
      done(value)
      notify('Saved.')
    },
  })
}

/** Erases a person. The reader confirms it by typing the email or the id of the person. */
export const erase = ({ prospectId, email, name }: Prospect): void => {
  const word = email ?? prospectId
  openForm({
    title: `Erase ${name ?? email ?? 'this person'}`,
    action: 'Erase for good',
    isDanger: true,
    body: [
      h(
        'p',
        'Name, email, external ID and all activities of this person are deleted. This cannot be undone.',
      ),
      field(`To confirm, type ${word}`, 'word', { required: true }),
      field(
        'Days to keep this person out',
        'blockDays',
        { type: 'number', value: 30, min: 0, max: 3_650, required: true },
        'If this email or external ID is sent again in that time, it is refused, so that the person does not come back. 0: not at all.',
      ),
    ],
    run: async (values) => {
      if (values['word'] !== word) throw new Error(`Type ${word} to confirm.`)
      const blockDays = Number(values['blockDays'])
      await call('POST', '/erasures', { body: { prospectId, blockDays } })
      forgetPeople()
      goTo(['people', prospectId], { erased: 'now' })
    },
  })
}

const LISTED_MAX = 10
/** The newest erasures. A mistyped email is unblocked here. */
export const erasures = async (signal: AbortSignal) => {
  const newest = (await readErasures(signal)).slice(0, LISTED_MAX)
  return newest.length > 0 && [h('h2.label', 'Erasures'), card(erasureTable(newest))]
}

/** The place of a person who was erased, with the progress of the erasure. */
export const erasedView = async (id: string, signal: AbortSignal) => {
  const progress = h('div')
  const work = async () => {
    const ofPerson = (await readErasures(signal)).filter(({ prospectId }) => prospectId === id)
    refill(progress, ofPerson.length > 0 && erasureTable(ofPerson))
  }
  if (can('prospects:erase')) await repeat({ signal, work })
  return [
    h('header', crumb('People', 'people'), h('h1', 'This person was erased')),
    card(h('p', 'Nothing of this person is shown anymore.'), progress),
  ]
}

const readErasures = async (signal: AbortSignal): Promise<readonly Erasure[]> =>
  (await get<Slice<Erasure>>('/erasures', { limit: 100 }, signal)).items

const erasureTable = (shown: readonly Erasure[]) =>
  table(['State', 'Requested', 'Erased', 'New activities'], shown.map(erasureRow))

/** An erasure that waits has nothing left to show, and needs no one. */
const stateTag = ({ status, waitingFor }: Erasure) => {
  if (status === 'completed') return tag('completed', 'ok')
  return waitingFor ? tag('waits') : tag('in progress', 'warning')
}

const erasureRow = (erasure: Erasure): HTMLElement => {
  const { erasureId, waitingFor, blockedUntil, requestedAt, logsErased, formerlyOf, stillLeadsTo } = erasure
  const unblock = async () => {
    const { value } = await call<Erasure>('POST', path`/erasures/${erasureId}/unblock`)
    element.replaceWith(erasureRow(value))
  }
  const isBlocked = blockedUntil !== null && Date.parse(blockedUntil) > Date.now()
  const element = row(
    [stateTag(erasure), waitingFor && h('small', WAITS[waitingFor])],
    when(requestedAt),
    [
      counted(logsErased, 'activity', 'activities'),
      peopleIn('A former email or external ID leads to ', stillLeadsTo),
      peopleIn('Formerly had by ', formerlyOf),
    ],
    isBlocked
      ? ['refused until ', time(blockedUntil), ' ', button('Lift the block', unblock, { class: 'link' })]
      : 'accepted',
  )
  return element
}

/** Links to people who may be the erased one, too. */
const peopleIn = (text: string, ids: readonly string[]) =>
  ids.length > 0 &&
  h(
    'small',
    text,
    ids.map((id, i) => [i > 0 && ', ', h('a', { href: addressOf(['people', id]) }, id)]),
  )

const WAITS: Readonly<Record<NonNullable<Erasure['waitingFor']>, string>> = {
  second_pass: 'waits for earlier writes to end, and a second search',
  rewrite: 'waits for the file to be rewritten',
}
