import type { ProspectLog } from '../shapes/prospect-log.ts'
import { type Answer, call, pollOf, type Query, type Slice } from './api.ts'
import { counted } from './dom.ts'
import { type Field, fieldsIn } from './fields.ts'
import type { LiveState } from './live-mark.ts'
import { itemTexts, memberOf } from './raw.ts'
import { repeat } from './repeat.ts'

export const SLICE_LENGTH = 50
/** Maximum slices read to reach the shown rows again. A slice may be short. */
const SLICES_MAX = 5
/** A row has room for so many fields, and so much of each. */
const FIELDS_MAX = 8
const TEXT_LENGTH_MAX = 120
/** Minimum time between two announcements to screen readers. */
const ANNOUNCED_MS = 5_000

/** An activity as a row shows it: with the first fields of its payload, which may be long, and the page that it names. */
export type Row = {
  readonly log: Omit<ProspectLog, 'payload'>
  readonly fields: readonly Field[]
  readonly pageId: string | undefined
}

/** The page that a payload names. */
export const pageIdIn = (payload: object): string | undefined => {
  const { pageId } = payload as { readonly pageId?: unknown }
  return typeof pageId === 'string' && /^page_[a-z0-9]{26}$/.test(pageId) ? pageId : undefined
}

type LogSlice = Pick<Answer<Slice<ProspectLog>>, 'value' | 'text'>
export const rowsOf = ({ value, text }: LogSlice): Row[] => {
  const texts = itemTexts(text)
  return value.items.map(({ payload, ...log }, i) => {
    const rawPayload = memberOf(texts[i] ?? '{}', 'payload')
    const pageId = pageIdIn(payload)
    const shownElsewhere = [log.email, log.name, pageId]
    const fields = fieldsIn(rawPayload, FIELDS_MAX, TEXT_LENGTH_MAX)
    return { log, fields: fields.filter(({ text }) => !shownElsewhere.includes(text)), pageId }
  })
}

/** Where the list goes on after the rows that replace the shown ones; undefined at its end. */
export type Restart = { readonly nextCursor: string | undefined }

type Tail = {
  readonly signal: AbortSignal
  readonly query: Query
  readonly limit: number
  /** Whether new rows must wait. */
  readonly state: () => LiveState
  readonly onState: (state: LiveState) => void
  /**
   * New rows, newest first. With `restart` they replace the shown rows, because none are shown or because rows in between
   * are missing.
   */
  readonly onRows: (rows: readonly Row[], restart: Restart | null) => void
  /** Shown rows that no longer exist, because the person was erased. */
  readonly onGone: (ids: readonly string[]) => void
  /** How many rows wait, and whether there are more than were counted. */
  readonly onWaiting: (count: number, isMore: boolean) => void
  /** The shown rows by id. */
  readonly shown: () => ReadonlyMap<string, unknown>
}

/** Follows the newest activities. `show` shows those that wait; `first` resolves once the first rows are shown. */
export const followLogs = (tail: Tail) => {
  const { signal, query, limit, state, onState, onRows, onGone, onWaiting, shown } = tail
  const announce = announcer()
  let poll = pollOf<Slice<ProspectLog>>('/prospect_logs')
  let waiting: readonly Row[] = []
  /** The waiting rows that are newer than the shown ones. */
  let news: readonly Row[] = []
  let restart: Restart | null = null
  let isFirst = true
  const isShown = (row: Row) => shown().has(logIdOf(row))

  const show = (): void => {
    const rows = waiting
    waiting = []
    news = []
    onWaiting(0, false)
    onRows(rows, restart)
  }

  const readSlice = (cursor: string) =>
    call<Slice<ProspectLog>>('GET', '/prospect_logs', { query: { ...query, limit, cursor }, signal }).catch(
      (error) => {
        // The rows of this round are lost: the next poll must not ask only for changes since then.
        poll = pollOf('/prospect_logs')
        throw error
      },
    )

  /** Reads further slices until one has a row that is shown, so that no row in between is missing. */
  const readUntilConnected = async (newest: LogSlice) => {
    const rows = rowsOf(newest)
    let { nextCursor } = newest.value
    for (let slices = 1; slices < SLICES_MAX; slices++) {
      if (!nextCursor || shown().size === 0 || rows.some(isShown)) break
      const older = await readSlice(nextCursor)
      rows.push(...rowsOf(older))
      nextCursor = older.value.nextCursor
    }
    return { rows, nextCursor }
  }

  /** Reports the shown rows that are missing in what was read. `isAll`: it was read to the end. */
  const reportGone = (rows: readonly Row[], isAll: boolean): void => {
    const last = rows.at(-1)
    if (last === undefined && !isAll) return
    const ids = new Set(rows.map(logIdOf))
    const oldest = last === undefined || isAll ? '' : logIdOf(last)
    onGone([...shown().keys()].filter((id) => id >= oldest && !ids.has(id)))
  }

  /** Sets aside the rows that are not shown. Those older than all shown rows take the places of removed ones: no news. */
  const setAside = (rows: readonly Row[]): void => {
    const known = new Set(waiting.map(logIdOf))
    const [oldestShown = ''] = [...shown().keys()].sort()
    waiting = rows.filter((row) => !isShown(row))
    news = waiting.filter((row) => logIdOf(row) > oldestShown)
    if (!isFirst) announce(news.filter((row) => !known.has(logIdOf(row))).length)
  }

  const work = async (): Promise<void> => {
    if (state() === 'paused') return
    const answer = await poll({ ...query, limit }, signal)
    if (answer !== null) {
      const { rows, nextCursor } = await readUntilConnected(answer)
      reportGone(rows, !nextCursor)
      setAside(rows)
      restart = rows.some(isShown) ? null : { nextCursor }
    }
    if (isFirst || (waiting.length > 0 && state() === 'live')) show()
    else onWaiting(news.length, restart !== null && shown().size > 0)
    isFirst = false
  }
  const first = repeat({ signal, work, onState, state })
  return { show, first }
}

const logIdOf = ({ log }: Row): string => log.prospectLogId

/** Announces the number of new activities to screen readers, but not too often. */
const announcer = () => {
  let announcedMs = 0
  let unannounced = 0
  return (count: number): void => {
    unannounced += count
    const region = document.getElementById('arrivals')
    if (region === null || unannounced === 0 || Date.now() - announcedMs < ANNOUNCED_MS) return
    region.textContent = counted(unannounced, 'new activity', 'new activities')
    announcedMs = Date.now()
    unannounced = 0
  }
}
