import { kindOf } from './activity-kind.ts'
import { field, isoOf } from './dialog.ts'
import { button, goTo, h, startOfDay } from './dom.ts'
import { knownSources } from './known-sources.ts'
import { localTime } from './save-csv.ts'

/** What is shown: empty members do not filter. A `span` is a time relative to today, else `since` and `until` count. */
export type Filters = {
  readonly source: string
  readonly type: string
  readonly span: string
  readonly since: string
  readonly until: string
}

export const filtersIn = (search: URLSearchParams): Filters => ({
  source: search.get('source') ?? '',
  type: search.get('type') ?? '',
  span: search.get('span') ?? '',
  since: search.get('since') ?? '',
  until: search.get('until') ?? '',
})

/** Sources that were read so lately are not read again. */
const AGE_MS_MAX = 10_000

const SPANS: Readonly<
  Record<string, { readonly text: string; readonly days: readonly [from: number, to?: number] }>
> = {
  today: { text: 'Today', days: [0] },
  yesterday: { text: 'Yesterday', days: [-1, 0] },
  '7d': { text: 'Last 7 days', days: [-6] },
  '30d': { text: 'Last 30 days', days: [-29] },
}

/** The filters as the API expects them. */
export const queryOf = ({ source, type, span, since, until }: Filters) => {
  const [from, to] = SPANS[span]?.days ?? []
  if (from === undefined) return { source, type, since, until }
  return {
    source,
    type,
    since: startOfDay(from).toISOString(),
    until: to === undefined ? '' : startOfDay(to).toISOString(),
  }
}

type Named = { readonly source: string; readonly type: string }

/** The filters as a row of chips, each of which can be removed, and two fields for a time that is not in the list. */
export const filterBar = (filters: Filters, shown: readonly Named[]) => {
  const show = (changed: Partial<Filters>): void => goTo(['activity'], { ...filters, ...changed })
  const { source, type, span, since, until } = filters
  const isExact = !SPANS[span] && (since !== '' || until !== '')
  const spanTexts = Object.entries(SPANS).map(([name, { text }]) => [name, text] as const)
  const times = chip({
    label: 'Time',
    name: 'span',
    texts: { '': 'any time', ...Object.fromEntries(spanTexts), exact: 'From … to …' },
    value: isExact ? 'exact' : span,
    choose: (chosen) => {
      const isExact = chosen === 'exact'
      show({ span: isExact ? '' : chosen, since: isExact ? startOfDay(0).toISOString() : '', until: '' })
    },
  })
  const sources = chip({
    label: 'Source',
    name: 'source',
    texts: textsOf('all sources', [source, ...shown.map((row) => row.source)]),
    value: source,
    choose: (chosen) => show({ source: chosen, type: '' }),
  })
  const ofSource = shown.filter((row) => source === '' || row.source === source)
  const types = chip({
    label: 'Type',
    name: 'type',
    texts: textsOf('all types', [type, ...ofSource.map((row) => row.type)], typeText),
    value: type,
    choose: (chosen) => show({ type: chosen }),
  })
  void knownSources(AGE_MS_MAX).then((known) => {
    const chosen = source === '' ? [...known.values()] : [known.get(source)]
    const isForm = source !== '' && known.get(source)?.isForm === true
    sources.add([...known].map(([name, about]) => [name, about.isForm ? `${name} (form)` : name]))
    types.add(
      chosen.flatMap((about) => [...(about?.types ?? [])]).map((type) => [type, typeText(type, isForm)]),
    )
  })
  const clear = button('Clear', () => goTo(['activity']), { class: 'link' })
  return [
    h(
      'div.chips',
      { role: 'group', 'aria-label': 'Filters' },
      times.element,
      sources.element,
      types.element,
      [source, type, span, since, until].filter(Boolean).length > 1 && clear,
    ),
    isExact &&
      h(
        'div.filters',
        timeFilter('From', 'since', since, (since) => show({ since })),
        timeFilter('Before', 'until', until, (until) => show({ until })),
      ),
  ]
}

const textsOf = (all: string, values: readonly string[], textOf = (value: string) => value) => {
  const named = [...new Set(values.filter(Boolean))].sort((a, b) => a.localeCompare(b))
  return { '': all, ...Object.fromEntries(named.map((value) => [value, textOf(value)])) }
}

/** A type in words, and as it was sent: several types may be the same kind. */
const typeText = (type: string, isForm = false): string => {
  const kind = kindOf(type, isForm)
  return kind === type ? type : `${kind} (${type})`
}

type Chip = {
  readonly label: string
  readonly name: string
  /** What can be chosen, by value. */
  readonly texts: Readonly<Record<string, string>>
  readonly value: string
  readonly choose: (value: string) => void
}
/** A filter: a choice, and a button that removes it once something is chosen. */
const chip = ({ label, name, texts, value, choose }: Chip) => {
  const optionOf = (value: string, text: string) => h('option', { value }, text)
  const onchange = ({ target }: Event) => choose((target as HTMLSelectElement).value)
  const options = Object.entries(texts).map(([value, text]) => optionOf(value, text))
  const select = h('select', { name, 'aria-label': label, value, onchange }, options)
  const remove = button('×', () => choose(''), { 'aria-label': `Show ${texts['']}` })
  return {
    element: h(
      'span.chip',
      { 'data-set': value !== '' },
      h('span', { 'aria-hidden': 'true' }, label),
      select,
      value && remove,
    ),
    /** Adds values that can be chosen, with their texts. The text of a value that is listed already is replaced. */
    add: (texts: readonly (readonly [value: string, text: string])[]): void => {
      const sorted = [...new Map(texts)].sort(([a], [b]) => a.localeCompare(b))
      for (const [value, text] of sorted) {
        const present = [...select.options].find((option) => option.value === value)
        if (present) present.textContent = text
        else select.append(optionOf(value, text))
      }
    },
  }
}

/** A time changes with each typed digit, so a typed one applies at Enter, or when the field loses the focus. */
const timeFilter = (label: string, name: string, value: string, show: (value: string) => void) => {
  let isTyped = false
  const choose = ({ target }: Event): void => {
    isTyped = false
    show(isoOf((target as HTMLInputElement).value) ?? '')
  }
  return field(label, name, {
    type: 'datetime-local',
    value: localTime(value).replace(' ', 'T'),
    onchange: (event) => isTyped || choose(event),
    onkeydown: (event) => {
      isTyped = true
      if ((event as KeyboardEvent).key === 'Enter') choose(event)
    },
    onblur: (event) => isTyped && choose(event),
  })
}
