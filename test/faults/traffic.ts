import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, type Call, createCaller } from './call.ts'

/**
 * A write under a separate idempotency key, which is sent until it is acknowledged; or one that is `keyless`, which
 * is sent once, and whose type is what it is known by.
 */
export type Write = Call & { readonly key: string; readonly kind: 'activity' | 'page' | 'keyless' }
/** An answer to a write, or to a read, which has no key. */
export type Seen = Answer & {
  readonly key: string | null
  readonly kind: Write['kind'] | 'read'
  /** The address of the server. */
  readonly url: string
  /** When it came, by `performance.now()`. */
  readonly at: number
}
type Target = {
  readonly apiKey: string
  readonly pageGroupIds: readonly string[]
  /** A call without an answer after this time is given up; longer than any answer may take. */
  readonly answerMsMax?: number
}
type Flow = {
  readonly callers?: number
  readonly writesMax?: number
  /** The kinds of writes: all in turn, unless named. */
  readonly kinds?: readonly Write['kind'][]
}
export type Traffic = ReturnType<typeof createTraffic>

const WRITES_MAX = 20_000
const TRIES_MAX = 100
/** After a no, a caller waits this long. */
const PAUSE_MS = 50
/** So many writes in a row are of one person; the first of them has a key. */
const WRITES_OF_ONE = 6
const READ_EVERY = 8

/** Bounded load of activities and page creations, with a record of every answer. */
export const createTraffic = ({ apiKey, pageGroupIds, answerMsMax = 60_000 }: Target) => {
  const { call, close } = createCaller(apiKey, answerMsMax)
  let closed = false
  const answers: Seen[] = []
  /** The ids that were acknowledged for each key; more than one is a fault. */
  const acknowledged = new Map<string, Set<string>>()
  const unacknowledged = new Map<string, Write>()
  /** A call that cannot be repeated: it was done once, or not at all. */
  const uncertain = new Set<string>()
  const persons = new Set<string>()
  let writes = -1
  let replayed = 0

  const newWrite = (caller: number, kinds: readonly Write['kind'][]): Write => {
    const number = ++writes
    const kind = kinds[number % kinds.length] ?? 'activity'
    const key = `${kind} ${number} of caller ${caller}`
    if (kind === 'page') {
      const path = `/v0/page_groups/${pageGroupIds[number % pageGroupIds.length]}/pages`
      const headers = { 'idempotency-key': key }
      return { key, kind, method: 'POST', path, headers, body: { supplementaryContext: key } }
    }
    const { person, ...named } = whoOf(number, kind)
    persons.add(person)
    const known = kind === 'keyless' ? { type: key } : { idempotencyKey: key }
    const body = { source: 'faults', ...named, payload: { number }, ...known }
    return { key, kind, method: 'POST', path: '/v0/prospect_logs', body }
  }

  const send = async (url: string, write: Write): Promise<Answer> => {
    if (write.kind === 'keyless') uncertain.add(write.key)
    else unacknowledged.set(write.key, write)
    const answer = await call(url, write)
    answers.push({ ...answer, url, key: write.key, kind: write.kind, at: performance.now() })
    if (answer.status === 201) {
      unacknowledged.delete(write.key)
      uncertain.delete(write.key)
      const ids = acknowledged.get(write.key) ?? new Set()
      acknowledged.set(write.key, ids.add(String(answer.body?.[ID_NAMES[write.kind]])))
      if (answer.replayed) replayed++
    }
    return answer
  }

  const read = async (url: string, path: string): Promise<void> => {
    const answer = await call(url, { method: 'GET', path })
    answers.push({ ...answer, url, key: null, kind: 'read', at: performance.now() })
  }

  return {
    answers,
    acknowledged,
    unacknowledged,
    uncertain,
    /** A prospect each. */
    persons,
    /** Sent again and found to be there already. */
    replayed: () => replayed,
    /**
     * Callers that write, and now and then read, until they are stopped. Every other one sends what was not
     * acknowledged again at once; the rest goes on, and leaves it for `repeat`.
     */
    flow: (
      url: string,
      { callers = 8, writesMax = WRITES_MAX, kinds = ['activity', 'page', 'keyless'] }: Flow = {},
    ) => {
      let stopped = false
      let left = writesMax
      const caller = async (_: unknown, number: number): Promise<void> => {
        let lastPage = '/v0/page_groups'
        for (let sent = 1; !stopped && !closed && left-- > 0; sent++) {
          const write = newWrite(number, kinds)
          for (;;) {
            const { status, body } = await send(url, write)
            if (status === 201 && write.kind === 'page') lastPage = `${write.path}/${body?.['pageId']}`
            if (status === 201 || stopped || closed) break
            await pause(PAUSE_MS)
            if (number % 2 === 0 || write.kind === 'keyless') break
          }
          if (!stopped && sent % READ_EVERY === 0) await read(url, lastPage)
        }
      }
      const all = Promise.all(Array.from({ length: callers }, caller))
      return {
        /** Resolves once every answer has come. */
        stop: async (): Promise<void> => {
          stopped = true
          await all
        },
        /** Resolves once `writesMax` is reached. */
        done: async (): Promise<void> => {
          await all
        },
      }
    },
    /** Sends what was not acknowledged again, with its key, until it is; throws where one never is. */
    repeat: async (url: string, callers = 16): Promise<void> => {
      const waiting = [...unacknowledged.values()]
      const caller = async (): Promise<void> => {
        for (let write = waiting.shift(); write !== undefined; write = waiting.shift()) {
          let tries = 0
          while ((await send(url, write)).status !== 201) {
            if (++tries === TRIES_MAX) throw new Error(`${write.key} is never acknowledged`)
            await pause(PAUSE_MS)
          }
        }
      }
      await Promise.all(Array.from({ length: callers }, caller))
    },
    /** Whatever is under way ends. */
    close: (): void => {
      closed = true
      close()
    },
  }
}

/** The email of every stranger: each of their activities creates a prospect. */
export const PLACEHOLDER = '[object Object]'
/** Four in a row: one has an email, two have external ids and now and then each other's email, and one is many strangers. */
const whoOf = (number: number, kind: Write['kind']) => {
  const one = Math.floor(number / WRITES_OF_ONE)
  const first = one - (one % 4)
  const emailOf = (of: number) => `person-${of}@example.com`
  if (one % 4 === 1 || one % 4 === 2) {
    const externalId = `id-${one}`
    return { person: externalId, externalId, email: emailOf(first + 1 + (number % 2)) }
  }
  // A write without a key may come to nothing, so it is by a prospect who exists anyway.
  if (one % 4 === 3 && kind === 'activity') return { person: `stranger ${number}`, email: PLACEHOLDER }
  return { person: emailOf(first), email: emailOf(first) }
}

const ID_NAMES = { activity: 'prospectLogId', keyless: 'prospectLogId', page: 'pageId' } as const
