import { isoOf } from './dialog.ts'
import { button, dayOfWeek, h, startOfDay, zoneAt } from './dom.ts'
import { localTime } from './save-csv.ts'

export type When = 'now' | 'later' | 'draft'

type WhenOptions = {
  /** The choices with their texts, in this order. */
  readonly texts: Readonly<Partial<Record<When, string>>>
  readonly chosen: When
  /** The proposed time; by default the next one at which people like to publish. */
  readonly at?: string | null
  readonly choose: (when: When) => void
}

/** A choice of when readers get something, with a field for the time: `when` and `publishAt` of the form. */
export const whenField = ({ texts, chosen, at, choose }: WhenOptions) => {
  const proposals = proposedTimes()
  const zone = h('span.muted', { id: 'time-zone' })
  const showZone = (): void => {
    zone.textContent = zoneOf(input.value)
  }
  const set = (value: string): void => {
    input.value = value
    showZone()
  }
  const input = h('input', {
    type: 'datetime-local',
    name: 'publishAt',
    'aria-label': 'Publish at',
    'aria-describedby': 'time-zone',
    min: inputValueOf(new Date()),
    value: at ? inputValueOf(new Date(at)) : proposals[0]?.value,
    oninput: showZone,
  })
  const times = h(
    'div.times',
    h('div', input, zone),
    h(
      'div',
      proposals.map(({ text, value }) => button(text, () => set(value), { class: 'link' })),
    ),
  )
  const chooseWhen = (when: When): void => {
    const isLater = when === 'later'
    times.hidden = !isLater
    // A hidden field is not checked.
    input.disabled = !isLater
    input.required = isLater
    choose(when)
  }
  const radio = (when: When, text: string) => {
    const onchange = () => chooseWhen(when)
    const input = h('input', { type: 'radio', name: 'when', value: when, checked: when === chosen, onchange })
    return [h('label.check', input, text), when === 'later' && times]
  }
  showZone()
  chooseWhen(chosen)
  return h(
    'fieldset.when',
    h('legend', 'When do readers get it?'),
    Object.entries(texts).map(([when, text]) => radio(when as When, text)),
  )
}

const HOUR = 9
const MONDAY = 1
const DAYS_OF_WEEK = 7
const NEAR_DAYS = ['today, 09:00', 'tomorrow, 09:00']

/** Nine in the morning: today unless that is past, tomorrow, and on the next Monday. */
const proposedTimes = () => {
  const untilMonday = (MONDAY + DAYS_OF_WEEK - new Date().getDay()) % DAYS_OF_WEEK || DAYS_OF_WEEK
  const proposal = (days: number) => {
    const date = startOfDay(days)
    date.setHours(HOUR)
    return { date, value: inputValueOf(date), text: NEAR_DAYS[days] ?? dayOfWeek(date.toISOString()) }
  }
  const proposals = [...new Set([0, 1, untilMonday])].map(proposal)
  return proposals.filter(({ date }) => date.getTime() > Date.now())
}

/** A time as the value of a time field. */
export const inputValueOf = (date: Date): string => localTime(date.toISOString()).replace(' ', 'T')

/** The reader's time zone at the time in the field: it differs in summer. */
const zoneOf = (value: string): string => {
  const zone = zoneAt(isoOf(value) ?? new Date().toISOString())
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  return zone === timeZone ? zone : `${zone} (${timeZone})`
}
