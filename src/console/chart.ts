import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { Problem, pollOf } from './api.ts'
import { absolute, bdi, card, h, type Place, refill, replaceAddress, svg, time } from './dom.ts'
import { knownSources } from './known-sources.ts'
import { row, segments, table } from './lists.ts'
import { repeat } from './repeat.ts'

const COUNTS_MS = 15_000
/** Counts older than this are shown with the time until which they are complete. */
const LATE_MS = 10 * 60_000
/** Sources that were read so lately are not read again. */
const SOURCES_AGE_MS = 60_000
const HOUR_MS = 3_600_000
const IS_NARROW = matchMedia('(max-width: 700px)').matches

type Unit = 'hour' | 'day'
type Span = { readonly by: Unit; readonly bars: number }
/** The spans that the reader can choose. A phone shows a day instead of two. */
const SPANS: Readonly<Record<string, Span>> = {
  '48h': { by: 'hour', bars: IS_NARROW ? 24 : 48 },
  '7d': { by: 'hour', bars: 7 * 24 },
  '30d': { by: 'day', bars: 30 },
}
const SPAN_NAMES = { '48h': IS_NARROW ? '24 hours' : '48 hours', '7d': '7 days', '30d': '30 days' }
/** The number of sources that have a colour. The others share one more. */
const COLOURS = 5

/** How many activities arrived, by hour or day and source. */
export const chartCard = (place: Place, signal: AbortSignal) => {
  const legend = h('div.legend')
  const body = h('div.chart-body')
  const note = h('p.muted.note')
  const spanName = place.search.get('span') ?? ''
  const chosen = Object.hasOwn(SPANS, spanName) ? spanName : '48h'
  let span = SPANS[chosen] as Span
  const poll = pollOf<ProspectLogCounts>('/prospect_log_counts')
  const show = async (): Promise<void> => {
    const requested = span
    const since = new Date(startOf(requested)).toISOString()
    const known = [...(await knownSources(SOURCES_AGE_MS)).keys()].sort()
    const answer = await poll({ by: requested.by, since }, signal).catch((error) => {
      if (!isTooMuch(error, requested)) throw error
      if (span === requested) span = inDays(requested)
      return null
    })
    // Another span was chosen in the meantime, by the reader or because there was too much to count.
    if (span !== requested) return show()
    if (answer === null) return
    const bars = barsOf(answer.value, span, known)
    refill(legend, drawLegend(bars))
    refill(body, drawScale(bars), drawBars(bars), tableOf(bars))
    refill(note, noteOn(answer.value, span))
  }
  const showUnavailable = (error: Error): void => {
    const isOff = error instanceof Problem && error.code === 'not_found'
    note.textContent = isOff
      ? 'Activities are not counted on this server: COUNTS is off.'
      : `The chart is not available: ${error.message}`
    choices.hidden = isOff
  }
  const choices = segments('Time shown', SPAN_NAMES, chosen, (name) => {
    span = SPANS[name] as Span
    replaceAddress(['now'], { span: name })
    void show().catch(showUnavailable)
  })
  const work = async (): Promise<void> => {
    try {
      await show()
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) throw error
      showUnavailable(error)
    }
  }
  const first = repeat({ signal, ms: COUNTS_MS, work })
  return { element: card(h('div.chart-head', legend, choices), body, note), first }
}

const isTooMuch = (error: unknown, { by }: Span): boolean =>
  by === 'hour' && error instanceof Problem && error.code === 'invalid_request'

const inDays = ({ bars }: Span): Span => ({ by: 'day', bars: Math.ceil(bars / 24) })

const noteOn = ({ items, countedUntil }: ProspectLogCounts, { by }: Span) => {
  if (items.length === 0) return 'The first bars appear about a minute after the first activity.'
  const isLate = Date.now() - Date.parse(countedUntil) > LATE_MS
  const until = isLate ? [time(countedUntil), ', still counting'] : clock(new Date(countedUntil))
  return [`activities per ${by} · counted until `, until]
}

const unitMsOf = ({ by }: Span) => (by === 'hour' ? HOUR_MS : 24 * HOUR_MS)

/** When the first bar begins. */
const startOf = (span: Span): number => {
  const unitMs = unitMsOf(span)
  return (Math.floor(Date.now() / unitMs) - span.bars + 1) * unitMs
}

type Bars = ReturnType<typeof barsOf>
/** The counts as stacked bars: one part for each of the largest sources, and one for all others. */
const barsOf = ({ items }: ProspectLogCounts, span: Span, known: readonly string[]) => {
  const bySource = Map.groupBy(items, ({ source }) => source ?? '')
  const named = [...bySource.keys()].filter(Boolean)
  const largest = named.sort((a, b) => sumOf(bySource.get(b)) - sumOf(bySource.get(a)))
  const sources = largest.slice(0, COLOURS).sort()
  const byTime = Map.groupBy(items, ({ at }) => Date.parse(at))
  const bars = Array.from({ length: span.bars }, (_, i) => {
    const at = startOf(span) + i * unitMsOf(span)
    const counts = byTime.get(at) ?? []
    const sums = sources.map((name) => sumOf(counts.filter(({ source }) => source === name)))
    const others = sumOf(counts.filter(({ source }) => !sources.includes(source ?? '')))
    return { at, parts: [...sums, others], sum: sumOf(counts) }
  })
  const top = topFor(Math.max(...bars.map(({ sum }) => sum), 4))
  return { sources, colours: coloursOf(sources, known), bars, top, by: span.by }
}

/**
 * A number of a colour for each source: by its place among all known sources, so that it stays the same in every span and on
 * every screen. If another source has it already, the next free one.
 */
const coloursOf = (sources: readonly string[], known: readonly string[]): readonly number[] => {
  const free = Array.from({ length: COLOURS }, (_, i) => i)
  return sources.map((source) => {
    const preferred = Math.max(known.indexOf(source), 0) % COLOURS
    const colour = free.find((colour) => colour >= preferred) ?? free[0] ?? 0
    free.splice(free.indexOf(colour), 1)
    return colour
  })
}

type Count = ProspectLogCounts['items'][number]
const sumOf = (counts: readonly Count[] = []) => counts.reduce((sum, { count }) => sum + count, 0)

/** The top of the scale: a little above the largest bar, and even, because its half is shown, too. */
const topFor = (largest: number): number => {
  const step = Math.max(0.4 * 10 ** Math.floor(Math.log10(largest)), 2)
  return Math.ceil(largest / step) * step
}

/** The class that colours a part. */
const colourOf = ({ colours }: Bars, part: number): string => `s${colours[part] ?? COLOURS}`

const drawLegend = (drawn: Bars) => {
  const hasOthers = drawn.bars.some(({ parts }) => (parts.at(-1) ?? 0) > 0)
  const names = hasOthers ? [...drawn.sources, 'others'] : drawn.sources
  return names.map((name, i) => h('span', h('i', { class: colourOf(drawn, i) }), bdi(name)))
}

const drawScale = ({ top }: Bars) => {
  const numbers = [top, top / 2, 0].map((count) => h('span', count.toLocaleString('en')))
  return h('div.scale', { 'aria-hidden': 'true' }, numbers)
}

const drawBars = (drawn: Bars) => {
  const { bars, by, top } = drawn
  const step = 100 / bars.length
  const lines = [0, 50, 100].map((y) => svg('line', { x2: '100%', y1: `${y}%`, y2: `${y}%` }))
  const rects = bars.map(({ parts, at, sum }, i) => {
    let y = 100
    return parts.map((count, part) => {
      const height = (count / top) * 100
      y -= height
      if (count === 0) return null
      const box = { x: `${i * step}%`, y: `${y}%`, width: `${step * 0.86}%`, height: `${height}%` }
      const title = svg('title', `${labelOf(at, by)}: ${sum}`)
      return svg('rect', { ...box, class: colourOf(drawn, part) }, title)
    })
  })
  return svg('svg', { class: 'chart', 'aria-hidden': 'true' }, lines, rects, drawLabels(drawn))
}

/** The labels below the bars: as many as there is room for, at round hours. */
const drawLabels = ({ bars, by }: Bars) => {
  const step = 100 / bars.length
  const every = barsPerLabel(bars.length)
  return bars.map(({ at }, i) => {
    const position = by === 'day' ? i : Math.floor(localHours(at))
    if (position % every !== 0) return null
    const x = (i + 0.43) * step
    return svg('text', { x: `${x}%`, y: '100%', dy: 17, 'text-anchor': anchorAt(x) }, labelOf(at, by))
  })
}
const barsPerLabel = (bars: number): number => {
  if (bars <= 48) return 6
  return IS_NARROW ? 48 : 24
}
/** Hours in the reader's time zone. */
const localHours = (ms: number): number => Math.floor(ms / HOUR_MS) - new Date(ms).getTimezoneOffset() / 60
/** A label at either end of the chart must not stick out. */
const anchorAt = (x: number) => {
  if (x < 4) return 'start'
  return x > 96 ? 'end' : 'middle'
}

const DAY = { day: 'numeric', month: 'short' } as const
const labelOf = (ms: number, by: Unit): string => {
  const date = new Date(ms)
  if (by === 'day') return date.toLocaleDateString('en-GB', { ...DAY, timeZone: 'UTC' })
  return date.getHours() < 1 ? date.toLocaleDateString('en-GB', DAY) : clock(date)
}
const clock = (date: Date) => date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })

/** The chart for screen readers. */
const tableOf = ({ sources, bars }: Bars) => {
  const filled = bars.filter(({ sum }) => sum > 0)
  const rows = filled.map(({ at, sum, parts }) => {
    const sums = parts.slice(0, sources.length)
    return row(absolute(new Date(at).toISOString()), sum, ...sums)
  })
  return h('div.unseen', table(['When', 'Activities', ...sources], rows))
}
