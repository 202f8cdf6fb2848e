import type { ProspectLog } from '../shapes/prospect-log.ts'
import { itemTexts, Problem, type Query, repeated, type Slice } from './api.ts'
import { complain } from './dialog.ts'
import { h } from './dom.ts'

/** Until then, or until the page is seen again, or the view has ended. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const ended = new AbortController()
    const end = () => {
      clearTimeout(timer)
      ended.abort()
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, ended)
    document.addEventListener('visibilitychange', () => document.hidden || end(), ended)
  })

const STATES = {
  live: 'live',
  held: 'held while you read',
  paused: 'paused',
  away: 'no connection, trying again',
} as const
export type LiveState = keyof typeof STATES
/** Whether what is shown is up to date. */
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
  readonly ms: number
  readonly work: () => Promise<unknown>
  readonly onAway?: ((isAway: boolean) => void) | undefined
}
/** Works until the view has ended, but not while nobody sees the page. A server that is away is tried again. */
export const repeat = async ({ signal, ms, work, onAway = () => {} }: Repeat): Promise<void> => {
  while (!signal.aborted) {
    if (!document.hidden)
      try {
        await work()
        onAway(false)
      } catch (error) {
        if (signal.aborted) return
        const isRefused = error instanceof Problem && error.status < 500
        if (isRefused) return void (error.status === 401 || complain(error))
        onAway(true)
      }
    await pause(document.hidden ? 3_600_000 : ms, signal)
  }
}

/** An activity, and its exact text. */
export type Row = { readonly log: ProspectLog; readonly text: string }
const POLL_MS = 2_000
export const SLICE_LENGTH = 50
/** Announced to those who do not see them, at most so often. */
const ANNOUNCED_MS = 5_000

export const rowsOf = ({
  value,
  text,
}: {
  readonly value: Slice<ProspectLog>
  readonly text: string
}): Row[] => {
  const texts = itemTexts(text)
  return value.items.map((log, i) => ({ log, text: texts[i] ?? '{}' }))
}

type Tail = {
  readonly signal: AbortSignal
  readonly query: Query
  /** Whether new rows are to wait. */
  readonly state: () => LiveState
  readonly onState: (state: LiveState) => void
  /** New rows, newest first. `isGap`: others are missing between them and those that are shown. */
  readonly onRows: (rows: readonly Row[], isGap: boolean) => void
  /** How many rows wait, and whether there are more than were counted. */
  readonly onWaiting: (count: number, isMore: boolean) => void
}
/** The newest activities as they arrive. Returns what shows those that wait. */
export const followLogs = ({ signal, query, state, onState, onRows, onWaiting }: Tail) => {
  const poll = repeated<Slice<ProspectLog>>('/prospect_logs')
  const shown = new Set<string>()
  let waiting: readonly Row[] = []
  let isGap = false
  let [announcedMs, arrived] = [0, 0]

  const announce = (count: number): void => {
    arrived += count
    const region = document.getElementById('arrivals')
    if (region === null || arrived === 0 || Date.now() - announcedMs < ANNOUNCED_MS) return
    region.textContent = `${arrived} new ${arrived === 1 ? 'activity' : 'activities'}`
    arrived = 0
    announcedMs = Date.now()
  }
  const show = (): void => {
    const rows = waiting
    waiting = []
    onWaiting(0, false)
    if (isGap) shown.clear()
    for (const { log } of rows) shown.add(log.prospectLogId)
    onRows(rows, isGap)
  }
  let isFirst = true
  const work = async (): Promise<void> => {
    if (state() === 'paused') return
    const answer = await poll({ ...query, limit: SLICE_LENGTH }, signal)
    if (answer !== null) {
      const rows = rowsOf(answer)
      const known = new Set(waiting.map(({ log }) => log.prospectLogId))
      waiting = rows.filter(({ log }) => !shown.has(log.prospectLogId))
      isGap = shown.size > 0 && waiting.length === rows.length && rows.length > 0
      if (!isFirst) announce(waiting.filter(({ log }) => !known.has(log.prospectLogId)).length)
    }
    if (isFirst || (waiting.length > 0 && state() === 'live')) show()
    else onWaiting(waiting.length, isGap)
    isFirst = false
  }
  void repeat({ signal, ms: POLL_MS, work, onAway: (isAway) => onState(isAway ? 'away' : state()) })
  return { show, forget: (id: string) => shown.delete(id), add: (id: string) => shown.add(id) }
}
