import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { Problem, pollOf } from './api.ts'
import { absolute, bdi, card, h, type Place, refill, replaceAddress, svg, time } from './dom.ts'
import { row, segments, table } from './lists.ts'
import { repeat } from './repeat.ts'

const COUNTS_MS = 15_000
const HOUR_MS = 3_600_000
const IS_NARROW = matchMedia('(max-width: 700px)').matches
type Drawn = { readonly by: 'hour' | 'day'; readonly bars: number }
/** Bars at a time, by the reader's choice; a phone shows a day instead of two. */
const SPANS: Readonly<Record<string, Drawn>> = {
  '48h': { by: 'hour', bars: IS_NARROW ? 24 : 48 },
  '7d': { by: 'hour', bars: 7 * 24 },
  '30d': { by: 'day', bars: 30 },
}
const TEXTS = { '48h': IS_NARROW ? '24 hours' : '48 hours', '7d': '7 days', '30d': '30 days' }
const COLOURS = 5

const unitMsOf = ({ by }: Drawn) => (by === 'hour' ? HOUR_MS : 24 * HOUR_MS)
/** When the first bar begins. */
const startOf = (span: Drawn): number => {
  const unitMs = unitMsOf(span)
  return (Math.floor(Date.now() / unitMs) - span.bars + 1) * unitMs
}
type Count = ProspectLogCounts['items'][number]
const sumOf = (counts: readonly Count[] = []) => counts.reduce((sum, { count }) => sum + count, 0)
/** The counts as stacked bars: the five largest sources, and the rest. */
const stacked = ({ items }: ProspectLogCounts, span: Drawn) => {
  const bySource = Map.groupBy(items, ({ source }) => source ?? '')
  const named = [...bySource.keys()].filter(Boolean)
  const largest = named.sort((a, b) => sumOf(bySource.get(b)) - sumOf(bySource.get(a)))
  const sources = largest.slice(0, COLOURS)
  const byTime = Map.groupBy(items, ({ at }) => Date.parse(at))
  const bars = Array.from({ length: span.bars }, (_, i) => {
    const at = startOf(span) + i * unitMsOf(span)
    const found = byTime.get(at) ?? []
    const ofSource = (source: string) => sumOf(found.filter((one) => one.source === source))
    const rest = found.filter(({ source }) => !sources.includes(source ?? ''))
    return { at, parts: [...sources.map(ofSource), sumOf(rest)], sum: sumOf(found) }
  })
  return { sources, hasRest: bars.some(({ parts }) => (parts.at(-1) ?? 0) > 0), bars }
}

/** The top of the scale: close to the most, and even, so that its half is whole. */
const topFor = (most: number): number => {
  const step = Math.max(0.4 * 10 ** Math.floor(Math.log10(most)), 2)
  return Math.ceil(most / step) * step
}
const labelOf = (ms: number, by: 'hour' | 'day'): string => {
  const date = new Date(ms)
  if (by === 'day') return date.toLocaleDateString('en-GB', { ...DAY, timeZone: 'UTC' })
  return date.getHours() < 1 ? date.toLocaleDateString('en-GB', DAY) : clock(date)
}
const DAY = { day: 'numeric', month: 'short' } as const
const clock = (date: Date) => date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })

const drawn = (counts: ProspectLogCounts, span: Drawn) => {
  const { by } = span
  const { sources, hasRest, bars } = stacked(counts, span)
  const top = topFor(Math.max(...bars.map(({ sum }) => sum), 4))
  const scale = [top, top / 2, 0].map((count) => h('span', count.toLocaleString('en')))
  const step = 100 / bars.length
  const colour = (i: number) => `s${i < sources.length ? i : COLOURS}`
  const lines = [0, 50, 100].map((y) => svg('line', { x2: '100%', y1: `${y}%`, y2: `${y}%` }))
  const rects = bars.map(({ parts, at, sum }, i) => {
    let y = 100
    return parts.map((count, index) => {
      const tall = (count / top) * 100
      y -= tall
      const box = { x: `${i * step}%`, y: `${y}%`, width: `${step * 0.86}%`, height: `${tall}%` }
      const title = svg('title', `${labelOf(at, by)}: ${sum}`)
      return count > 0 && svg('rect', { ...box, class: colour(index) }, title)
    })
  })
  /** Every so many bars have a label: as many as there is room for. */
  const every = by === 'day' ? 6 : bars.length <= 48 ? 6 : IS_NARROW ? 48 : 24
  const labels = bars.map(({ at }, i) => {
    const place = by === 'day' ? i : Math.floor(at / HOUR_MS) - new Date(at).getTimezoneOffset() / 60
    if (Math.floor(place) % every !== 0) return null
    const x = (i + 0.43) * step
    const anchor = x < 4 ? 'start' : x > 96 ? 'end' : 'middle'
    return svg('text', { x: `${x}%`, y: '100%', dy: 17, 'text-anchor': anchor }, labelOf(at, by))
  })
  const legend = [...sources, ...(hasRest ? ['others'] : [])].map((source, i) =>
    h('span', h('i', { class: colour(i) }), bdi(source)),
  )
  const rows = bars
    .filter(({ sum }) => sum > 0)
    .map(({ at, sum, parts }) =>
      row(absolute(new Date(at).toISOString()), sum, ...sources.map((_, i) => parts[i] ?? 0)),
    )
  const chart = svg('svg', { class: 'chart', 'aria-hidden': 'true' }, lines, rects, labels)
  const asTable = h('div.unseen', table(['When', 'Activities', ...sources], rows))
  return { legend, body: [h('div.scale', { 'aria-hidden': 'true' }, scale), chart, asTable] }
}

/** How much arrived, by hour or day and source. */
export const chartCard = (place: Place, signal: AbortSignal) => {
  const legend = h('div.legend')
  const body = h('div.chart-body')
  const note = h('p.muted.note')
  const asked = place.search.get('span') ?? ''
  const chosen = Object.hasOwn(SPANS, asked) ? asked : '48h'
  /** Days, if there is too much to count by hours. */
  let drawnSpan = SPANS[chosen] as Drawn
  const load = pollOf<ProspectLogCounts>('/prospect_log_counts')
  const show = async (): Promise<void> => {
    const span = drawnSpan
    const since = new Date(startOf(span)).toISOString()
    const answer = await load({ by: span.by, since }, signal).catch((error) => {
      const isTooMuch = error instanceof Problem && error.code === 'invalid_request' && span.by === 'hour'
      if (!isTooMuch) throw error
      if (drawnSpan === span) drawnSpan = { by: 'day', bars: Math.ceil(span.bars / 24) }
      return null
    })
    if (drawnSpan !== span) return show()
    if (answer === null) return
    const { value } = answer
    const picture = drawn(value, span)
    refill(legend, picture.legend)
    refill(body, picture.body)
    const { items, countedUntil } = value
    const isLate = Date.now() - Date.parse(countedUntil) > 10 * 60_000
    const until = isLate ? [time(countedUntil), ', still counting'] : clock(new Date(countedUntil))
    refill(
      note,
      items.length === 0
        ? 'The first bars appear about a minute after the first activity.'
        : [`activities per ${span.by} · counted until `, until],
    )
  }
  const off = (error: unknown): void => {
    const isOff = error instanceof Problem && error.code === 'not_found'
    note.textContent = isOff
      ? 'Activities are not counted on this server: COUNTS is off.'
      : `The chart is not available: ${(error as Error).message}`
    choices.hidden = isOff
  }
  const choices = segments('Time shown', TEXTS, chosen, (span) => {
    drawnSpan = SPANS[span] as Drawn
    replaceAddress(['now'], { span })
    void show().catch(off)
  })
  const first = repeat({
    signal,
    ms: COUNTS_MS,
    work: () =>
      show().catch((error) =>
        error instanceof Problem && error.status < 500 ? off(error) : Promise.reject(error),
      ),
  })
  return { element: card(h('div.chart-head', legend, choices), body, note), first }
}
