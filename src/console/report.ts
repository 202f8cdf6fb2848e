import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { can, get, Problem, type Query } from './api.ts'
import {
  absolute,
  addressOf,
  button,
  card,
  counted,
  h,
  refill,
  replaceAddress,
  rowLink,
  type View,
} from './dom.ts'
import { row, segments, table } from './lists.ts'
import { idOf, toCopy } from './notices.ts'
import { type NamedPage, namesOfPages } from './page-names.ts'
import { repeat } from './repeat.ts'
import { saveAsCsv } from './save-csv.ts'

const COUNTS_MS = 20_000
const DAY_MS = 86_400_000
/** Counts older than this are shown with the time until which they are complete. */
const LATE_MS = 10 * 60_000
/** Rows that are shown at first. */
const ROWS_MAX = 100

type By = 'page' | 'source'
const BY_NAMES = { page: 'Page', source: 'Source' } as const
const SPAN_DAYS: Readonly<Record<string, number>> = { today: 1, '7d': 7, '30d': 30 }
const SPAN_NAMES = { today: 'Today (UTC)', '7d': '7 days', '30d': '30 days' }
const BEFORE_NAMES: Readonly<Record<string, string>> = {
  today: 'yesterday',
  '7d': 'in the 7 days before',
  '30d': 'in the 30 days before',
}
const FIELD = '<input type="hidden" name="pageId" value="page_…">'

type Count = ProspectLogCounts['items'][number]
type Measure = 'prospects' | 'newProspects' | 'count'
const MEASURES: readonly { readonly name: Measure; readonly head: string; readonly hint?: string }[] = [
  { name: 'prospects', head: 'People' },
  { name: 'newProspects', head: 'New people', hint: 'first seen here' },
  { name: 'count', head: 'Activities' },
]
/** A page or source in the span, and in the span before. */
type Line = { readonly name: string | null; readonly now: Count | null; readonly before: Count | null }
/** All that arrived in the span, whatever page it names. */
type Totals = { readonly newProspects: number; readonly count: number }
type Chosen = { readonly of: By; readonly span: string }
type Report = Chosen & {
  readonly lines: readonly Line[]
  readonly now: Totals
  readonly before: Totals
  readonly countedUntil: string
  readonly pages: ReadonlyMap<string, NamedPage>
}

/** Which pages, or sources, bring people: in a span of days, beside the span before it. */
export const view: View = async (place, signal) => {
  let chosen = chosenIn(place.search)
  let isWhole = false
  let shown: Report | null = null
  const totals = h('div')
  const body = h('div')
  const note = h('p.muted.note.long')
  const problem = h('p.muted')
  const show = async (): Promise<void> => {
    const requested = chosen
    const report = await readReport(requested, signal)
    // Another report was chosen in the meantime.
    if (chosen !== requested) return show()
    shown = report
    refill(problem)
    draw()
  }
  const draw = (): void => {
    if (shown === null) return
    refill(totals, tilesOf(shown))
    refill(
      body,
      shown.lines.length === 0 ? noneIn(shown) : tableOf(shown, isWhole),
      !isWhole && moreOf(shown),
    )
    refill(note, noteOn(shown))
  }
  const moreOf = ({ lines }: Report) =>
    lines.length > ROWS_MAX &&
    button(`Show all ${lines.length.toLocaleString('en')}`, showAll, { class: 'more' })
  const showAll = (): void => {
    isWhole = true
    draw()
  }
  const showUnavailable = (error: Error): void => {
    const isOff = error instanceof Problem && error.code === 'not_found'
    const why = isOff ? 'Activities are not counted on this server: COUNTS is off.' : error.message
    refill(problem, why)
  }
  const choose = (change: Partial<Chosen>): void => {
    chosen = { ...chosen, ...change }
    isWhole = false
    replaceAddress(['report'], chosen)
    void show().catch(showUnavailable)
  }
  const work = async (): Promise<void> => {
    try {
      await show()
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) throw error
      showUnavailable(error)
    }
  }
  await repeat({ signal, ms: COUNTS_MS, work })
  return [
    h(
      'header',
      h('div', h('h1', 'Report'), h('p.lead.muted', 'What brings people, compared with the time before.')),
      h(
        'div.actions',
        button('Save as CSV', () => shown && saveReport(shown)),
      ),
    ),
    h(
      'div.actions.choices',
      segments('Counted by', BY_NAMES, chosen.of, (of) => choose({ of: of as By })),
      segments('Time', SPAN_NAMES, chosen.span, (span) => choose({ span })),
    ),
    problem,
    totals,
    card(body, note),
  ]
}

const chosenIn = (search: URLSearchParams): Chosen => {
  const span = search.get('span') ?? ''
  return {
    of: search.get('of') === 'source' ? 'source' : 'page',
    span: Object.hasOwn(SPAN_DAYS, span) ? span : '7d',
  }
}

/** Reads the span that ends today, and as many days before it. Days are those of the counts, in UTC. */
const readReport = async ({ of, span }: Chosen, signal: AbortSignal): Promise<Report> => {
  const days = SPAN_DAYS[span] ?? 1
  const today = Math.floor(Date.now() / DAY_MS)
  const dayAgo = (ago: number) => new Date((today - ago) * DAY_MS).toISOString()
  const read = async (of: By) => {
    const readSpan = (query: Query) =>
      get<ProspectLogCounts>('/prospect_log_counts', { of, by: 'span', ...query }, signal)
    const [now, before] = await Promise.all([
      readSpan({ since: dayAgo(days - 1) }),
      readSpan({ since: dayAgo(2 * days - 1), until: dayAgo(days - 1) }),
    ])
    return { now, before }
  }
  // Every activity has a source, but not every one names a page.
  const bySource = read('source')
  const [counts, all] = await Promise.all([of === 'source' ? bySource : read('page'), bySource])
  const lines = linesOf(counts.now.items, counts.before.items)
  const pageIds = of === 'page' ? lines.flatMap(({ name }) => name ?? []) : []
  const pages = await namesOfPages(pageIds, signal)
  const { countedUntil } = counts.now
  return { of, span, lines, now: totalsOf(all.now), before: totalsOf(all.before), countedUntil, pages }
}

const totalsOf = ({ items }: ProspectLogCounts): Totals => ({
  newProspects: items.reduce((sum, { newProspects }) => sum + newProspects, 0),
  count: items.reduce((sum, { count }) => sum + count, 0),
})

const nameOf = ({ pageId, source }: Count): string | null => pageId ?? source

/** Those of the span in their order, followed by those that only the span before has. */
const linesOf = (now: readonly Count[], before: readonly Count[]): Line[] => {
  const lines = new Map<string | null, Line>()
  for (const count of now) lines.set(nameOf(count), { name: nameOf(count), now: count, before: null })
  for (const count of before) {
    const name = nameOf(count)
    lines.set(name, { name, now: lines.get(name)?.now ?? null, before: count })
  }
  return [...lines.values()]
}

/** All new people and activities, above those of each page or source. */
const tilesOf = ({ span, now, before }: Report) => {
  const tile = (label: string, member: keyof Totals) =>
    h(
      'div',
      h('dt', label),
      h('dd', h('b', now[member].toLocaleString('en'))),
      h('dd.muted', `${before[member].toLocaleString('en')} ${BEFORE_NAMES[span]}`),
    )
  return h('dl.tiles', tile('All new people', 'newProspects'), tile('All activities', 'count'))
}

const tableOf = (report: Report, isWhole: boolean) => {
  const { of, lines, span } = report
  const shown = isWhole ? lines : lines.slice(0, ROWS_MAX)
  const rows = shown.map((line) =>
    row(subjectOf(line, report), ...MEASURES.map(({ name }) => measureCell(line, name, span))),
  )
  const heads = MEASURES.map(({ head, hint }) => [head, hint && h('small', hint)])
  const list = table([BY_NAMES[of], ...heads], rows)
  list.classList.add('report')
  return list
}

/** The page by its name, or the source, as a link to what there is about it. */
const subjectOf = ({ name }: Line, { of, pages }: Report) => {
  if (name === null) return h('span.muted', of === 'page' ? 'Other pages' : 'Other sources')
  if (of === 'source') return rowLink(addressOf(['activity'], { source: name }), name)
  const page = pages.get(name)
  if (page === undefined) return idOf(name)
  return rowLink(addressOf(['pages', page.pageGroupId, name]), page.name, page.groupName)
}

/** A number, and how it compares with the span before: `24`, `▲ 5 from 19`; or for today, `yesterday 19`. */
const measureCell = ({ now, before }: Line, measure: Measure, span: string) => {
  const count = countOf(now, measure)
  const countBefore = countOf(before, measure)
  const isCompared = count !== null && countBefore !== null
  const beforeName = BEFORE_NAMES[span] ?? ''
  const numberBefore = countBefore?.toLocaleString('en')
  return h(
    'td.end',
    h('b', count?.toLocaleString('en') ?? '–'),
    // Some hours are not compared with the whole of yesterday.
    span === 'today'
      ? h('small', `${beforeName} ${numberBefore ?? '–'}`)
      : isCompared && comparison(count - countBefore, countBefore, beforeName),
  )
}

/** Null if it is not known: the people of pages or sources that share a row. */
const countOf = (found: Count | null, measure: Measure): number | null =>
  found === null ? 0 : (found[measure] ?? null)

/** The difference with an arrow and, for those who do not see it, in words. */
const comparison = (change: number, before: number, beforeName: string) => {
  const { arrow, kind, words } = DIRECTIONS[Math.sign(change)] ?? SAME
  const size = Math.abs(change).toLocaleString('en')
  const from = before.toLocaleString('en')
  return [
    h(
      'small',
      { 'aria-hidden': 'true' },
      h('span', { class: kind }, `${arrow} ${size}`),
      ' ',
      h('span', `from ${from}`),
    ),
    h('span.unseen', `, ${change === 0 ? '' : `${size} `}${words} the ${from} ${beforeName}`),
  ]
}
const SAME = { arrow: '=', kind: 'muted', words: 'as many as' }
const DIRECTIONS: Readonly<Record<string, typeof SAME>> = {
  '1': { arrow: '▲', kind: 'ok', words: 'more than' },
  '-1': { arrow: '▼', kind: 'bad', words: 'fewer than' },
}

const noneIn = ({ of, span }: Report) => {
  const time = span === 'today' ? 'today' : `in the last ${SPAN_DAYS[span]} days`
  if (of === 'source') return h('p.muted.empty', `No activity arrived ${time}.`)
  return [
    h('p.empty', `No activity named a page ${time}, or before that.`),
    h('p.muted', 'Put this field into the form of each page, with the ID of the page:'),
    toCopy('A field that names the page', FIELD),
  ]
}

const noteOn = ({ of, countedUntil, pages, lines, now }: Report) => {
  const isLate = Date.now() - Date.parse(countedUntil) > LATE_MS
  const texts = [
    of === 'page' && 'Only activities that name a page are counted here.',
    of === 'page' && elsewhereIn(lines, now),
    'Each person counts once in a row. Days begin at midnight UTC.',
    `Counted until ${absolute(countedUntil)}${isLate ? ', still counting.' : '.'}`,
    of === 'page' &&
      pages.size === 0 &&
      lines.length > 0 &&
      !can('pages:read') &&
      'Your key may not read the names of pages.',
  ]
  return texts.filter(Boolean).join(' ')
}

/** New people whom no row shows, because their first activity named no page. */
const elsewhereIn = (lines: readonly Line[], { newProspects }: Totals): string => {
  const shown = lines.reduce((sum, { now }) => sum + (now?.newProspects ?? 0), 0)
  const count = newProspects - shown
  if (count <= 0) return ''
  return `The first activity of ${counted(count, 'new person', 'new people')} named no page.`
}

const saveReport = ({ of, span, lines, pages }: Report) => {
  const numbersOf = ({ now, before }: Line) =>
    MEASURES.flatMap(({ name, head }) => [
      [head, String(countOf(now, name) ?? '')],
      [`${head} before`, String(countOf(before, name) ?? '')],
    ])
  const rows = lines.map((line) => {
    const subject = (line.name !== null && pages.get(line.name)?.name) || line.name || 'others'
    return { cells: { [BY_NAMES[of]]: subject, ...Object.fromEntries(numbersOf(line)) }, fields: [] }
  })
  const read = async () => ({ rows, nextCursor: undefined })
  return saveAsCsv(`Report by ${of}, ${SPAN_NAMES[span as keyof typeof SPAN_NAMES]}`, read)
}
