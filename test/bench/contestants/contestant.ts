import { setTimeout as pause } from 'node:timers/promises'
import { type Case, type CaseName, type CursorOf, newTag, type Request } from '../cases.ts'
import type { Filled } from '../fill.ts'
import { type Force, load, type Sample, type Target } from '../load.ts'
import type { Service } from './service.ts'

/** A service that is measured. It can be started and stopped any number of times. */
export type Contestant = {
  readonly name: string
  /** The cases that it can run; by default all. */
  readonly cases?: readonly CaseName[] | undefined
  readonly start: () => Promise<void>
  /** Throws if more answers are not 2xx than `failedPartMax` allows. */
  readonly measure: (one: Case, force: Force) => Promise<Sample>
  readonly stop: () => Promise<void>
}

type Parts = {
  readonly name: string
  readonly launch: () => Promise<Service>
  readonly filled: Filled
  readonly cursorOf: CursorOf
  /** The request to send instead of that of the case. */
  readonly requestAs?: (request: Request, one: Case) => Request
  /** True if it continues to work after it has answered. The next measurement waits until that work is done. */
  readonly publishes?: boolean
  /** The part of the requests that may fail. The report contains how many did. */
  readonly failedPartMax?: number
  readonly cases?: readonly CaseName[]
  readonly keyHeader?: string
}
export type ServiceContestant = Contestant & { readonly service: () => Service }

/** A service under load over HTTP. */
export const serviceContestant = ({
  name,
  launch,
  filled,
  cursorOf,
  requestAs = (request) => request,
  publishes = false,
  failedPartMax = 0,
  cases,
  keyHeader = 'x-api-key',
}: Parts): ServiceContestant => {
  let running: Service | undefined
  const service = (): Service => {
    if (running === undefined) throw new Error(`${name} is not running`)
    return running
  }
  return {
    name,
    cases,
    service,
    start: async () => {
      running = await launch()
    },
    measure: async (one, force) => {
      const requests = one.requests(filled, newTag(), cursorOf).map((request) => requestAs(request, one))
      const target = { url: service().url, apiKey: filled.apiKey, keyHeader }
      const before = service().cpuMs()
      const sample = await load(target, requests, force, failedPartMax)
      const after = service().cpuMs()
      const cpu =
        before === null || after === null ? {} : { cpuUs: ((after - before) * 1e3) / sample.requests }
      const settled = publishes && one.creates ? { settleMs: await settle(target, requests) } : {}
      if (one.creates) await rest(service())
      return { ...sample, ...cpu, ...settled }
    },
    stop: async () => {
      await running?.stop()
      running = undefined
    },
  }
}

const SETTLE_MS_MAX = 120_000
const LOOK_MS = 100
const RESTING_CPU_MS = 10

/** Waits until a service rests. Its newest page may be published before others, and the next measurement would pay for them. */
const rest = async (service: Service): Promise<void> => {
  const giveUpAt = performance.now() + SETTLE_MS_MAX
  for (let before = service.cpuMs(); before !== null; ) {
    await pause(LOOK_MS)
    const now = service.cpuMs()
    if (now === null || now - before < RESTING_CPU_MS) return
    if (performance.now() > giveUpAt) throw new Error('the service does not rest')
    before = now
  }
}

/** Waits until the newest page of every group that the requests went to is published; answers how long that took. */
export const settle = async (target: Target, requests: readonly Request[]): Promise<number> => {
  const began = performance.now()
  const ask = async (path: string) => {
    const response = await fetch(target.url + path, { headers: { 'x-api-key': target.apiKey } })
    if (!response.ok) throw new Error(`${path} answered ${response.status}`)
    return response.json() as Promise<{ items: { pageId: string }[]; publishedVersion: object | null }>
  }
  for (const path of new Set(requests.map((request) => request.path))) {
    const { items } = await ask(`${path}?limit=1`)
    const [newest] = items
    while (newest !== undefined && (await ask(`${path}/${newest.pageId}`)).publishedVersion === null) {
      if (performance.now() - began > SETTLE_MS_MAX) throw new Error('pages stay unpublished')
      await pause(20)
    }
  }
  return performance.now() - began
}

/** How many bytes a service answers in each case. */
export const answerSizes = async (
  contestant: ServiceContestant,
  cases: readonly Case[],
  filled: Filled,
  cursorOf: CursorOf,
): Promise<ReadonlyMap<CaseName, number>> => {
  const sizes = new Map<CaseName, number>()
  for (const one of cases) {
    const [request] = one.requests(filled, newTag(), cursorOf)
    if (request === undefined) continue
    const response = await fetch(contestant.service().url + request.path, {
      method: request.method,
      headers: { 'x-api-key': filled.apiKey, ...(request.body && { 'content-type': 'application/json' }) },
      body: request.body,
    })
    if (!response.ok) throw new Error(`${request.path} answered ${response.status}: ${await response.text()}`)
    sizes.set(one.name, (await response.arrayBuffer()).byteLength)
  }
  return sizes
}
