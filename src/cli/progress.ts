import { wrapped } from './layout.ts'
import type { Screen } from './screen.ts'

/** Told after each part of long work how many of how many are done. */
export type Progress = (done: number, total: number) => void

type Deps = {
  readonly screen: Screen
  readonly write: (text: string) => void
  /** Milliseconds, of a clock that is never set back. */
  readonly nowMs: () => number
}

const REWRITE_MS = 100
/** Work of fewer parts shows nothing. */
const SHOWN_FROM = 100

/**
 * One line that is written over, with counts and rate, and one that stays at the end. Nothing where lines cannot be
 * written over, and nothing of short work.
 */
export const showProgress = ({ screen, write, nowMs }: Deps): { progress: Progress; end: () => void } => {
  if (!screen.canRewrite) return { progress: () => {}, end: () => {} }
  const begunMs = nowMs()
  let shownMs: number | null = null
  let last = { done: 0, total: 0 }
  const rewrite = () => {
    const [line = ''] = wrapped(lineOf(last, nowMs() - begunMs), screen.width - 1)
    write(`\r${screen.paint('dim', line)}\u001b[K`)
  }
  return {
    progress: (done, total) => {
      last = { done, total }
      const now = nowMs()
      if (total < SHOWN_FROM || (shownMs !== null && now - shownMs < REWRITE_MS)) return
      shownMs = now
      rewrite()
    },
    end: () => {
      if (shownMs === null) return
      rewrite()
      write('\n')
    },
  }
}

const count = new Intl.NumberFormat('en')

const lineOf = ({ done, total }: { done: number; total: number }, tookMs: number): string => {
  const rate = Math.round((done * 1_000) / Math.max(1, tookMs))
  const percent = Math.floor((done * 100) / Math.max(1, total))
  return `${count.format(done)} of ${count.format(total)} · ${percent} % · ${count.format(rate)}/s · ${(tookMs / 1_000).toFixed(1)} s`
}
