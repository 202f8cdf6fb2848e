import type { Erasure } from '../shapes/erasure.ts'
import type { Prospect } from '../shapes/prospect.ts'
import { forgetPeople } from './activity-table.ts'
import { call, can, get, type Slice } from './api.ts'
import { ask, idOf } from './dialog.ts'
import { absolute, card, facts, h, refill, time } from './dom.ts'
import { field } from './fields.ts'
import { repeat } from './live.ts'
import { addressOf } from './place.ts'

const POLL_MS = 2_000

/** Erases a person, after a confirmation. */
export const erase = ({ prospectId, email, name }: Prospect): void => {
  const word = email ?? prospectId
  ask({
    title: `Erase ${name ?? email ?? 'this person'}`,
    action: 'Erase for good',
    isDanger: true,
    body: [
      h(
        'p',
        {},
        'Name, email, external id and all activities of this person are deleted. This cannot be undone.',
      ),
      field(
        'Days to refuse new activities with this email or external id, so that the person is not created again',
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
    },
  })
}

/** The progress of a person's erasure. */
export const erasedView = async (id: string, signal: AbortSignal) => {
  const state = h('div')
  let isCompleted = false
  const find = async (): Promise<void> => {
    if (isCompleted) return
    const { items } = await get<Slice<Erasure>>('/erasures', { limit: 100 }, signal)
    const erasure = items.find(({ prospectId }) => prospectId === id)
    if (!erasure) return
    isCompleted = erasure.status === 'completed'
    const { status, requestedAt, completedAt, logsErased, waitingFor, erasureId } = erasure
    const tag = h(status === 'completed' ? 'span.tag.ok' : 'span.tag.warning', {}, status)
    const waits =
      waitingFor === 'second_pass'
        ? 'for a second search, after about 90 seconds'
        : waitingFor && 'for the file to be rewritten'
    refill(
      state,
      facts({
        State: tag,
        Requested: time(requestedAt, true),
        Completed: completedAt && time(completedAt, true),
        Waits: waits,
        'Activities erased': h('span', {}, logsErased),
        'Refused until': refusedUntil(erasure),
        Person: idOf(id),
        Erasure: idOf(erasureId),
      }),
    )
  }
  if (can('prospects:erase')) await repeat({ signal, ms: POLL_MS, work: find })
  return [
    h(
      'header',
      {},
      h('a.crumbs', { href: addressOf(['people']) }, 'People'),
      h('h1', {}, 'This person was erased'),
    ),
    card(h('p', {}, 'Name, email and activities of this person are no longer shown anywhere.'), state),
  ]
}

/** The end of the block of the person; null if new activities are not refused. */
export const refusedUntil = ({ blockedUntil }: Erasure): string | null =>
  blockedUntil !== null && Date.parse(blockedUntil) > Date.now() ? absolute(blockedUntil) : null
