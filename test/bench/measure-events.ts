import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CASES, type Case } from './cases.ts'
import type { ServiceContestant } from './contestants/contestant.ts'
import { type Service, startService } from './contestants/service.ts'
import { launchOurs, ourContestant } from './contestants/services.ts'
import { emailOf, filledOf } from './fill.ts'
import { measureCase, median, warmUp } from './measure.ts'
import { BIN, createOwner } from './program.ts'
import type { DeliveriesFound, EventsFound, LatencyFound, Setting } from './results.ts'

const PROSPECTS = 20_000
const SIZE = { groups: 200, pagesOfOthers: 0, bigGroupPages: 0, logs: 0, prospects: PROSPECTS }
const CALLERS = 64
const BATCH = 1_000
/** So many deliveries wait when their rate is measured, in all. */
const DELIVERIES = 20_000
const ENDPOINTS = [1, 10]
const LATENCIES = 200
const LOW_LOAD_MS = 50
const CALM_MS = 300
const ENV = { WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' }

/**
 * The cost of events: logging activities without an endpoint, with one, and by the service built in the folder `BENCH_BASE`,
 * such as that of the commit before; how many deliveries a second a local receiver gets; and how soon, at low load.
 */
export const measureEvents = async (setting: Setting): Promise<EventsFound> => {
  const { folder } = setting
  const receiver = await startService({
    script: fileURLToPath(new URL('contestants/receiver.js', import.meta.url)),
    env: {},
    logPath: join(folder, 'receiver.log'),
    readyPath: '/healthz',
  })
  try {
    const found = []
    for (const kind of ['postgres', 'sqlite'] as const) found.push(await measureOn(kind, receiver, setting))
    return {
      events: found.flatMap(({ logging }) => logging),
      deliveries: found.flatMap(({ deliveries }) => deliveries),
      latencies: found.map(({ latency }) => latency),
    }
  } finally {
    await receiver.stop()
  }
}

type Kind = 'postgres' | 'sqlite'
const measureOn = async (kind: Kind, receiver: Service, setting: Setting) => {
  const { amount, database, folder, tell } = setting
  const newUrl = async (name: string) =>
    kind === 'postgres' ? (await database.newDatabase()).url : `sqlite:${join(folder, `${name}.db`)}`
  const add = (contestant: Endpointed, path: string) =>
    contestant.call('/v0/webhook_endpoints', { url: receiver.url + path, types: ['prospect_log.created'] })
  const without = await startOne(`${kind}, no endpoint`, await newUrl('without'), folder)
  const withOne = await startOne(`${kind}, one endpoint`, await newUrl('with'), folder)
  const base = process.env['BENCH_BASE']
  const before =
    base === undefined
      ? []
      : [await startOne(`${kind}, base`, await newUrl('base'), folder, join(base, 'dist/cli/bin.js'))]
  try {
    await add(withOne, '/count')
    const drained = {
      ...withOne,
      measure: async (...args: Parameters<Endpointed['measure']>) => {
        const sample = await withOne.measure(...args)
        await calm(receiver)
        return sample
      },
    }
    const logging = []
    for (const one of CASES.filter(({ name }) => LOGGING.includes(name) && name.includes(amount.only))) {
      const contestants = [...before, without, drained]
      await warmUp(one, contestants)
      const plan = { ...amount, age: 'fresh', callers: [CALLERS], tell } as const
      const checkpoint = kind === 'postgres' ? database.checkpoint : async () => {}
      logging.push(...(await measureCase(one, contestants, { ...plan, checkpoint })))
    }

    const deliveries: DeliveriesFound[] = []
    for (const endpoints of ENDPOINTS) {
      const one = await startOne(`${kind} ${endpoints}`, await newUrl(`deliveries-${endpoints}`), folder)
      try {
        for (let number = 0; number < endpoints; number++) await add(one, `/${number}`)
        const rates = []
        for (let round = 0; round < Math.min(3, amount.rounds); round++)
          rates.push(await deliveryRate(one, receiver, endpoints))
        deliveries.push({ kind, endpoints, rate: median(rates) })
        tell(`${kind}, ${endpoints} endpoints: ${Math.round(median(rates))} deliveries/s`)
      } finally {
        await one.stop()
      }
    }

    const quiet = await startOne(`${kind}, quiet`, await newUrl('quiet'), folder)
    try {
      await add(quiet, '/when')
      return { logging, deliveries, latency: { kind, ...(await latencyOf(quiet, receiver)) } }
    } finally {
      await quiet.stop()
    }
  } finally {
    for (const contestant of [...before, without, withOne]) await contestant.stop()
  }
}
const LOGGING: readonly Case['name'][] = ['log-known', 'log-new']

type Endpointed = ServiceContestant & {
  readonly call: (path: string, body: object) => Promise<Record<string, unknown>>
}
/** A running service with known prospects and a separate database. */
const startOne = async (name: string, url: string, folder: string, bin = BIN): Promise<Endpointed> => {
  const owner = await createOwner(url, bin)
  const launch = launchOurs(url, folder, { bin, env: ENV })
  const contestant = ourContestant(name, launch, filledOf(owner, SIZE))
  await contestant.start()
  const call: Endpointed['call'] = async (path, body) => {
    const response = await fetch(contestant.service().url + path, {
      method: 'POST',
      headers: { 'x-api-key': owner.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (response.status !== 201)
      throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as Record<string, unknown>
  }
  for (let first = 1; first <= PROSPECTS; first += BATCH)
    await call('/v0/prospect_logs/batch', batch(first, BATCH))
  return { ...contestant, call }
}
const batch = (first: number, length: number) => ({
  items: Array.from({ length }, (_, i) => ({
    source: 'bench',
    email: emailOf(first + i),
    payload: { form: 'contact', topic: 'prices' },
  })),
})

type Arrivals = { readonly count: number; readonly arrivedAt: Readonly<Record<string, number>> }
const arrivals = async (receiver: Service): Promise<Arrivals> =>
  (await (await fetch(`${receiver.url}/arrivals`)).json()) as Arrivals
/** Waits until nothing more arrives. */
const calm = async (receiver: Service): Promise<void> => {
  for (let before = -1, now = 0; now !== before; ) {
    before = now
    await pause(CALM_MS)
    now = (await arrivals(receiver)).count
  }
}

/** From the moment in which all events are committed. */
const deliveryRate = async (one: Endpointed, receiver: Service, endpoints: number): Promise<number> => {
  await calm(receiver)
  const { count: before } = await arrivals(receiver)
  for (let first = 1; first <= DELIVERIES / endpoints; first += BATCH)
    await one.call('/v0/prospect_logs/batch', batch(first, BATCH))
  const { count: first } = await arrivals(receiver)
  const began = performance.now()
  for (;;) {
    await pause(20)
    const { count } = await arrivals(receiver)
    if (count - before >= DELIVERIES) return ((count - first) / (performance.now() - began)) * 1_000
    if (performance.now() - began > 120_000)
      throw new Error(`only ${count - before} of ${DELIVERIES} arrived`)
  }
}

/** From the answer, which follows the commit, to the arrival. */
const latencyOf = async (one: Endpointed, receiver: Service): Promise<Omit<LatencyFound, 'kind'>> => {
  const answeredAt = new Map<string, number>()
  for (let number = 1; number <= LATENCIES; number++) {
    const receipt = await one.call('/v0/prospect_logs', batch(number, 1).items[0] as object)
    answeredAt.set(String(receipt['prospectLogId']), performance.timeOrigin + performance.now())
    await pause(LOW_LOAD_MS)
  }
  await calm(receiver)
  const { arrivedAt } = await arrivals(receiver)
  const tookMs = [...answeredAt]
    .map(([id, answered]) => Math.max(0, Number(arrivedAt[id]) - answered))
    .toSorted((a, b) => a - b)
  return { p50Ms: median(tookMs), p99Ms: tookMs[Math.ceil(LATENCIES * 0.99) - 1] ?? Number.NaN }
}
