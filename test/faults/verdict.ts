import { readFileSync } from 'node:fs'
import { PROBLEMS } from '../../src/adapters/http/problems.ts'
import type { Seen, Traffic } from './traffic.ts'

type Allowed = {
  /** Where the server itself was killed, connections end. */
  readonly noAnswer?: boolean
  readonly msMax: number
}

/** Answers that may not be, in words: anything but done, or 503 with `Retry-After`, each in time. */
export const answerFaults = (answers: readonly Seen[], { noAnswer = false, msMax }: Allowed): string[] =>
  answers.flatMap((answer) => {
    const { kind, status, why, retryAfter, ms, body } = answer
    const told = `${kind}: ${status ?? why} after ${ms} ms ${JSON.stringify(body)}`
    if (ms > msMax) return [`too late, ${told}`]
    if (status === null) return noAnswer ? [] : [`no answer, ${told}`]
    if (status === (kind === 'read' ? 200 : 201)) return []
    if (status !== 503) return [`unexpected, ${told}`]
    if (!/^\d+$/.test(retryAfter ?? '')) return [`without Retry-After, ${told}`]
    return body?.['title'] === PROBLEMS.unavailable.title ? [] : [`not the problem, ${told}`]
  })

/** The largest resident memory that a process has had so far; null where the system does not tell. */
export const peakMemoryMb = (pid: number): number | null => {
  try {
    const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return peak === null ? null : Math.round(Number(peak[1]) / 1_024)
  } catch {
    return null
  }
}

/** One line of what was done and seen. */
export const figuresOf = (
  { answers, acknowledged, replayed }: Traffic,
  faults: readonly string[],
  more: Readonly<Record<string, number | string | null>>,
): string => {
  const count = (isCounted: (answer: Seen) => boolean) => answers.filter(isCounted).length
  const lost = faults.filter((fault) => fault.startsWith('lost')).length
  const doubled = faults.filter((fault) => /twice|several ids/.test(fault)).length
  const figures = {
    requests: answers.length,
    acknowledged: acknowledged.size,
    lost,
    doubled,
    'found on repetition': replayed(),
    '500s': count(({ status }) => status === 500),
    '503s': count(({ status }) => status === 503),
    'without answer': count(({ status }) => status === null),
    'slowest ms': answers.reduce((slowest, { ms }) => Math.max(slowest, ms), 0),
    ...more,
  }
  return Object.entries(figures)
    .map(([name, figure]) => `${name}: ${figure}`)
    .join(', ')
}
