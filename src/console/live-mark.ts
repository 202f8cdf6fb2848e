import { h } from './dom.ts'

const STATES = {
  live: 'live',
  held: 'paused while you read',
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
