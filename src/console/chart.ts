import type { ProspectLogCounts } from '../shapes/prospect-log-count.ts'
import { Problem, repeated } from './api.ts'
import { absolute, card, h, segments, svg, table, time } from './dom.ts'
import { repeat } from './live.ts'
import { type Place, replaceAddress } from './place.ts'

const COUNTS_MS = 15_000
const HOUR_MS = 3_600_000
const IS_NARROW = matchMedia('(max-width: 700px)').matches
type Span = '48h' | '7d' | '30d'
/** Bars at a time, by the reader's choice; a phone shows a day instead of two. */
const SPANS: Readonly<Record<Span, Drawn & { readonly text: string }>> = {
  '48h': IS_NARROW ? { by: 'hour', bars: 24, text: '24 hours' } : { by: 'hour', bars: 48, text: '48 hours' },
  '7d': { by: 'hour', bars: 7 * 24, text: '7 days' },
  '30d': { by: 'day', bars: 30, text: '30 days' },
}
type Drawn = { readonly by: 'hour' | 'day'; readonly bars: number }
const COLOURS = 5
const [HEIGHT, BOTTOM] = [170, 22]
const EDGES = IS_NARROW ? 62 : 112
const widthNow = (): number =>
  Math.max(Math.min((document.getElementById('main')?.clientWidth ?? 0) - EDGES, 950), 240)

type Bar = { readonly at: number; readonly parts: readonly number[]; readonly sum: number }
/** The counts as stacked bars: the five largest sources, and the rest. */
const stacked = ({ items }: ProspectLogCounts, { by, bars }: Drawn) => {
  const sums = new Map<string, number>()
  for (const { source, count } of items) sums.set(source ?? '', (sums.get(source ?? '') ?? 0) + count)
  const named = [...sums].filter(([source]) => source !== '').sort((a, b) => b[1] - a[1])
  const sources = named.slice(0, COLOURS).map(([source]) => source)
  const unitMs = by === 'hour' ? HOUR_MS : 24 * HOUR_MS
  const last = Math.floor(Date.now() / unitMs) * unitMs
  const byTime = new Map<number, number[]>()
  for (const { at, source, count } of items) {
    const parts = byTime.get(Date.parse(at)) ?? Array<number>(COLOURS + 1).fill(0)
    const index = sources.indexOf(source ?? '')
    const place = index < 0 ? COLOURS : index
    parts[place] = (parts[place] ?? 0) + count
    byTime.set(Date.parse(at), parts)
  }
  const all = Array.from({ length: bars }, (_, i): Bar => {
    const at = last - (bars - 1 - i) * unitMs
    const parts = byTime.get(at) ?? []
    return { at, parts, sum: parts.reduce((sum, count) => sum + count, 0) }
  })
  const hasRest = all.some(({ parts }) => (parts[COLOURS] ?? 0) > 0)
  return { sources, hasRest, bars: all }
}

const roundUp = (n: number): number => {
  const power = 10 ** Math.floor(Math.log10(n))
  const steps = [1, 1.2, 1.4, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].map((step) => Math.round(step * power))
  return steps.find((step) => step >= n && step % 2 === 0) ?? n
}
const labelOf = (ms: number, by: 'hour' | 'day'): string => {
  const date = new Date(ms)
  if (by === 'day')
    return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
  const isMidnight = date.getHours() < 1
  return date.toLocaleString(
    'en-GB',
    isMidnight ? { weekday: 'short', day: 'numeric' } : { hour: '2-digit', minute: '2-digit' },
  )
}

const drawn = (counts: ProspectLogCounts, span: Drawn) => {
  const { by } = span
  const { sources, hasRest, bars } = stacked(counts, span)
  const width = widthNow()
  const top = roundUp(Math.max(...bars.map(({ sum }) => sum), 4))
  const left = 14 + 7 * top.toLocaleString('en').length
  const tall = HEIGHT - BOTTOM - 8
  const yOf = (count: number) => HEIGHT - BOTTOM - (count / top) * tall
  const step = (width - left) / bars.length
  const gap = step > 6 ? 2 : 0.5
  const lines = [0, 0.5, 1].map((part) => [
    svg('line', { x1: left, x2: width, y1: yOf(top * part), y2: yOf(top * part) }),
    svg(
      'text',
      { x: left - 8, y: yOf(top * part) + 4, 'text-anchor': 'end' },
      (top * part).toLocaleString('en'),
    ),
  ])
  const rects = bars.flatMap(({ parts, at, sum }, i) => {
    let y = HEIGHT - BOTTOM
    return parts.flatMap((count, index) => {
      if (count === 0) return []
      const tallness = Math.max((count / top) * tall, 1)
      y -= tallness
      const box = { x: left + i * step + gap / 2, y, width: step - gap, height: tallness, class: `s${index}` }
      return svg('rect', box, svg('title', {}, `${labelOf(at, by)}: ${sum}`))
    })
  })
  const every = Math.ceil(90 / step)
  const isMarked = (at: number, i: number) =>
    by === 'day' ? i % every === 0 : new Date(at).getHours() % Math.max(6, every > 12 ? 24 : 6) === 0
  const labels = bars.map(({ at }, i) => {
    if (!isMarked(at, i)) return null
    const text = labelOf(at, by)
    const half = 3.2 * text.length
    const x = Math.min(left + (i + 0.5) * step, width - half)
    return x < left + half ? null : svg('text', { x, y: HEIGHT - 4, 'text-anchor': 'middle' }, text)
  })
  const legend = [...sources, ...(hasRest ? ['others'] : [])].map((source, i) =>
    h('span', {}, h(`i.s${i < sources.length ? i : COLOURS}` as 'i', {}), h('bdi', {}, source)),
  )
  const names = ['When', 'Activities', ...sources]
  const rows = bars
    .filter(({ sum }) => sum > 0)
    .map(({ at, sum, parts }) =>
      h(
        'tr',
        {},
        h('td', {}, absolute(new Date(at).toISOString())),
        h('td', {}, sum),
        sources.map((_, i) => h('td', {}, parts[i] ?? 0)),
      ),
    )
  const chart = svg(
    'svg',
    { viewBox: `0 0 ${width} ${HEIGHT}`, class: 'chart', 'aria-hidden': 'true' },
    lines,
    rects,
    labels,
  )
  return { legend, body: [chart, h('div.unseen', {}, table(names, rows))] }
}

/** How much arrived, by hour or day and source. */
export const chartCard = (place: Place, signal: AbortSignal) => {
  const legend = h('div.legend')
  const body = h('div.chart-body')
  const note = h('p.muted.note')
  let chosen = (place.search.get('span') ?? '48h') as Span
  if (!Object.hasOwn(SPANS, chosen)) chosen = '48h'
  /** Days, if there is too much to count by hours. */
  let drawnSpan: Drawn = SPANS[chosen]
  let draw = () => {}
  addEventListener('resize', () => draw(), { signal })
  const load = repeated<ProspectLogCounts>('/prospect_log_counts')
  const show = async (): Promise<void> => {
    const span = drawnSpan
    const unitMs = span.by === 'hour' ? HOUR_MS : 24 * HOUR_MS
    const since = new Date(Math.floor(Date.now() / unitMs) * unitMs - (span.bars - 1) * unitMs).toISOString()
    const answer = await load({ by: span.by, since }, signal).catch((error) => {
      const isTooMuch = error instanceof Problem && error.code === 'invalid_request' && span.by === 'hour'
      if (!isTooMuch) throw error
      if (drawnSpan === span) drawnSpan = { by: 'day', bars: Math.ceil(span.bars / 24) }
      return null
    })
    if (drawnSpan !== span) return show()
    if (answer === null) return
    const { value } = answer
    draw = () => {
      const picture = drawn(value, span)
      legend.replaceChildren(...picture.legend)
      body.replaceChildren(...picture.body)
    }
    draw()
    const isLate = Date.now() - Date.parse(value.countedUntil) > 10 * 60_000
    const until = isLate
      ? [' until ', time(value.countedUntil, true), ', still counting']
      : [
          ' until ',
          h(
            'span',
            {},
            new Date(value.countedUntil).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' }),
          ),
        ]
    note.replaceChildren(
      value.items.length === 0
        ? 'The first bars appear about a minute after the first activity.'
        : h('span', {}, `activities per ${span.by} · counted`, until),
    )
  }
  const off = (error: unknown): void => {
    const isOff = error instanceof Problem && error.code === 'not_found'
    note.textContent = isOff
      ? 'Activities are not counted on this server: COUNTS is off.'
      : `The chart is not available: ${(error as Error).message}`
    choices.hidden = isOff
  }
  const choose = (span: Span) => {
    drawnSpan = SPANS[span]
    replaceAddress(['now'], { span })
    void show().catch(off)
  }
  const spans = Object.fromEntries(Object.entries(SPANS).map(([span, { text }]) => [span, text]))
  const choices = segments('Time shown', spans, chosen, (span) => choose(span as Span))
  const first = repeat({
    signal,
    ms: COUNTS_MS,
    work: () =>
      show().catch((error) =>
        error instanceof Problem && error.status < 500 ? off(error) : Promise.reject(error),
      ),
  })
  return { element: card(h('div.chart-head', {}, legend, choices), body, note), first }
}
