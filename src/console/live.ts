import type { ProspectLog } from '../shapes/prospect-log.ts'
import { type Answer, call, itemTexts, memberOf, Problem, type Query, repeated, type Slice } from './api.ts'
import { counted, h } from './dom.ts'
import { showError } from './notices.ts'

const HIDDEN_MS = 3_600_000
const POLL_MS = 2_000

/** Pauses for a time, or until the page is seen again, or the view has ended. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const ended = new AbortController()
    const end = () => {
      clearTimeout(timer)
      ended.abort()
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { signal: ended.signal })
    document.addEventListener('visibilitychange', () => document.hidden || end(), {
      signal: ended.signal,
    })
  })

const STATES = {
  live: 'live',
  held: 'held while you read',
  paused: 'paused',
  away: 'no connection, trying again',
  limited: 'too many requests, waiting',
  stopped: 'stopped',
} as const
export type LiveState = keyof typeof STATES
/** A mark that shows whether the view is up to date. */
export const liveMark = () => {
  const mark = h('span.live', { 'data-state': 'live' }, STATES.live)
  const set = (state: LiveState): void => {
    if (mark.dataset['state'] === state) return
    mark.dataset['state'] = state
    mark.textContent = STATES[state]
  }
  return Object.assign(mark, { set })
}

type Repeat = {
  readonly signal: AbortSignal
  readonly ms?: number
  readonly work: () => Promise<unknown>
  readonly onState?: ((state: LiveState) => void) | undefined
  /** The state while all goes well. */
  readonly state?: () => LiveState
}
/**
 * Works until the view has ended, but not while the page is hidden. A server that is away or busy is tried again; for a
 * missing resource the view is shown again, which says so. Resolves after the first time.
 */
export const repeat = ({
  signal,
  ms = POLL_MS,
  work,
  onState = () => {},
  state = () => 'live',
}: Repeat): Promise<void> =>
  new Promise((resolve) => {
    const once = async (): Promise<number | null> => {
      try {
        await work()
        onState(state())
        return ms
      } catch (error) {
        if (signal.aborted) return null
        const { status, retryAfterMs } = error instanceof Problem ? error : { status: 503, retryAfterMs: ms }
        onState(status >= 500 ? 'away' : status === 429 ? 'limited' : 'stopped')
        if (status >= 500 || status === 429) return Math.max(ms, retryAfterMs)
        if (status === 404 || status === 410) dispatchEvent(new Event('hashchange'))
        else if (status !== 401) showError(error)
        return null
      }
    }
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        const pauseMs = document.hidden ? HIDDEN_MS : await once()
        resolve()
        if (pauseMs === null) return
        await pause(pauseMs, signal)
      }
    }
    void run()
  })

/** An activity as a row shows it: without its payload, which may be long, but with the start of it and its page. */
export type Row = {
  readonly log: Omit<ProspectLog, 'payload'>
  readonly start: string
  readonly pageId: string | undefined
}
/** The page that a payload names. */
export const pageIdIn = (payload: object): string | undefined => {
  const { pageId } = payload as { readonly pageId?: unknown }
  return typeof pageId === 'string' && /^page_[a-z0-9]{26}$/.test(pageId) ? pageId : undefined
}
const START_LENGTH = 160
export const SLICE_LENGTH = 50
/** Minimum time between announcements to those who do not see them. */
const ANNOUNCED_MS = 5_000

type LogSlice = Pick<Answer<Slice<ProspectLog>>, 'value' | 'text'>
export const rowsOf = ({ value, text }: LogSlice): Row[] => {
  const texts = itemTexts(text)
  return value.items.map(({ payload, ...log }, i) => {
    const start = memberOf(texts[i] ?? '{}', 'payload').slice(0, START_LENGTH)
    // A part of a text keeps all of it in memory, unless it is copied.
    const text = new TextDecoder().decode(new TextEncoder().encode(start))
    return { log, start: text, pageId: pageIdIn(payload) }
  })
}

export type Restart = { readonly nextCursor: string | undefined }
/** Slices that are read to reach the shown rows again: they may be short. */
const SLICES_MAX = 5

type Tail = {
  readonly signal: AbortSignal
  readonly query: Query
  readonly limit: number
  /** Whether new rows must wait. */
  readonly state: () => LiveState
  readonly onState: (state: LiveState) => void
  /**
   * New rows, newest first. `restart`: the shown rows end here, because there are none, or because others are missing
   * in between; with the cursor to the rest, if there is more.
   */
  readonly onRows: (rows: readonly Row[], restart: Restart | null) => void
  /** Shown rows that are no longer there: of a person who was erased. */
  readonly onGone: (ids: readonly string[]) => void
  /** How many rows wait, and whether there are more than were counted. */
  readonly onWaiting: (count: number, isMore: boolean) => void
  /** The ids of the rows that are shown. */
  readonly shown: () => ReadonlyMap<string, unknown>
}
/** The newest activities as they arrive. `show` shows the waiting ones; `first` resolves once the first are there. */
export const followLogs = (tail: Tail) => {
  const { signal, query, limit, state, onState, onRows, onGone, onWaiting, shown } = tail
  let poll = repeated<Slice<ProspectLog>>('/prospect_logs')
  let waiting: readonly Row[] = []
  let news: readonly Row[] = []
  let restart: Restart | null = null
  let isFirst = true
  let [announcedMs, arrived] = [0, 0]

  const announce = (count: number): void => {
    arrived += count
    const region = document.getElementById('arrivals')
    if (region === null || arrived === 0 || Date.now() - announcedMs < ANNOUNCED_MS) return
    region.textContent = counted(arrived, 'new activity', 'new activities')
    ;[announcedMs, arrived] = [Date.now(), 0]
  }
  const show = (): void => {
    const rows = waiting
    waiting = news = []
    onWaiting(0, false)
    onRows(rows, restart)
  }
  const work = async (): Promise<void> => {
    if (state() === 'paused') return
    const answer = await poll({ ...query, limit }, signal)
    if (answer !== null) {
      const rows = rowsOf(answer)
      let { nextCursor } = answer.value
      const isConnected = () => rows.some(({ log }) => shown().has(log.prospectLogId))
      for (let read = 1; read < SLICES_MAX && shown().size > 0 && nextCursor && !isConnected(); read++) {
        const rest = { query: { ...query, limit, cursor: nextCursor }, signal }
        const more = await call<Slice<ProspectLog>>('GET', '/prospect_logs', rest).catch((error) => {
          // A slice that failed to load is read again: it is not known yet.
          poll = repeated('/prospect_logs')
          throw error
        })
        rows.push(...rowsOf(more))
        nextCursor = more.value.nextCursor
      }
      const ids = new Set(rows.map(({ log }) => log.prospectLogId))
      const oldest = nextCursor ? (rows.at(-1)?.log.prospectLogId ?? '') : ''
      if (rows.length > 0 || !nextCursor)
        onGone([...shown().keys()].filter((id) => id >= oldest && !ids.has(id)))
      const known = new Set(waiting.map(({ log }) => log.prospectLogId))
      const isUnseen = ({ log }: Row) => !shown().has(log.prospectLogId)
      // Rows older than all shown ones take the places of removed ones; they are not news.
      const last = [...shown().keys()].sort()[0] ?? ''
      const isNews = ({ log }: Row) => log.prospectLogId > last
      waiting = rows.filter(isUnseen)
      news = waiting.filter(isNews)
      restart = isConnected() ? null : { nextCursor }
      if (!isFirst) announce(news.filter(({ log }) => !known.has(log.prospectLogId)).length)
    }
    if (isFirst || (waiting.length > 0 && state() === 'live')) show()
    else onWaiting(news.length, restart !== null && shown().size > 0)
    isFirst = false
  }
  const first = repeat({ signal, work, onState, state })
  return { show, first }
}
