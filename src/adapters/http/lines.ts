import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { DomainFailure } from '../../core/failures.ts'

/** More than any client sends before it has heard something; Node itself bounds it by what comes in one packet. */
const PIPELINED_MAX = 32

type Line = {
  unanswered: number
  isFull: boolean
  /** What comes on it is not understood any more. */
  isLost: boolean
  last: ServerResponse | undefined
  beforeLast: ServerResponse | undefined
}
type Taken = { readonly overflow: DomainFailure | null; readonly answered: () => void }

/**
 * What each connection has asked and not been answered. One that sends too many requests at once is refused the next of
 * them, and ends with that answer: what it sent after it is never begun.
 */
export const createLines = () => {
  const lines = new WeakMap<Duplex, Line>()
  const lineOf = (socket: Duplex): Line => {
    const known = lines.get(socket)
    if (known !== undefined) return known
    const line = { unanswered: 0, isFull: false, isLost: false, last: undefined, beforeLast: undefined }
    lines.set(socket, line)
    return line
  }
  return {
    take: (socket: Duplex, res: ServerResponse): Taken | 'full' => {
      const line = lineOf(socket)
      if (line.isFull) return 'full'
      line.beforeLast = line.last
      line.last = res
      // An idle connection keeps nothing of what came on it: the bodies hang on the answers.
      res.once('close', () => {
        if (line.last === res) line.last = undefined
        if (line.beforeLast === res) line.beforeLast = undefined
      })
      line.isFull = ++line.unanswered > PIPELINED_MAX
      return {
        overflow: line.isFull ? tooMany() : null,
        answered: () => {
          line.unanswered--
        },
      }
    },
    /**
     * Does it once every request that came whole has its answer: what follows them was not understood. It is done the
     * first time only, for the parser goes on complaining; and not where the request that has not come whole is being
     * answered already, for that answer ends the connection.
     */
    afterWhole: (socket: Duplex, act: () => void): void => {
      const line = lineOf(socket)
      const { last, beforeLast } = line
      const isPart = last?.req.complete === false
      if (line.isLost || (isPart && last.headersSent)) return
      line.isLost = true
      const due = isPart ? beforeLast : last
      if (due === undefined || due.writableFinished || due.destroyed) act()
      else due.once('close', act)
    },
  }
}

const tooMany = () =>
  new DomainFailure('unavailable', 'Too many requests of this connection are not answered yet.', {
    retryAfterS: 1,
  })
