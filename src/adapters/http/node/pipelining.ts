import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { unavailable } from '../../../core/engine/failures.ts'

/** More requests than any client sends before it has read an answer. Node limits them only by the size of a packet. */
const PIPELINED_MAX = 32

const newState = () => ({
  unanswered: 0,
  isFull: false,
  /** Whether the parser has lost track of the input. */
  isLost: false,
  last: undefined as ServerResponse | undefined,
  beforeLast: undefined as ServerResponse | undefined,
})

/**
 * Tracks the unanswered requests of each connection. A connection that pipelines too many is refused the next one, and
 * closes with that answer; later requests on it are not started.
 */
export const createPipelining = () => {
  const states = new WeakMap<Duplex, ReturnType<typeof newState>>()
  const stateOf = (socket: Duplex) => {
    const state = states.get(socket) ?? newState()
    states.set(socket, state)
    return state
  }
  return {
    /** Undefined when the connection is full: the request gets no answer. */
    take: (socket: Duplex, res: ServerResponse) => {
      const state = stateOf(socket)
      if (state.isFull) return undefined
      state.beforeLast = state.last
      state.last = res
      // An idle connection must not keep its answers alive, and through them the bodies.
      res.once('close', () => {
        if (state.last === res) state.last = undefined
        if (state.beforeLast === res) state.beforeLast = undefined
      })
      state.isFull = ++state.unanswered > PIPELINED_MAX
      return {
        refused: state.isFull ? unavailable('Too many unanswered requests on this connection.') : null,
        answered: () => void state.unanswered--,
        before: state.beforeLast,
      }
    },
    /**
     * Acts once every complete request has its answer, because the input after them was malformed. Acts only the first
     * time, since the parser goes on complaining, and not when the incomplete request is already being answered: that
     * answer closes the connection.
     */
    afterComplete: (socket: Duplex, act: () => void): void => {
      const state = stateOf(socket)
      const { last, beforeLast } = state
      const isPartial = last?.req.complete === false
      if (state.isLost || (isPartial && last.headersSent)) return
      state.isLost = true
      const due = isPartial ? beforeLast : last
      if (due === undefined || due.writableFinished || due.destroyed) act()
      else due.once('close', act)
    },
  }
}
