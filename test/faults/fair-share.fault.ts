import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createLog } from '../../src/adapters/log.ts'
import { createRuntime } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import {
  databaseKinds,
  type LogLine,
  NODE,
  newFolder,
  type Program,
  seed,
  startProgram,
  startServer,
} from '../support/program.ts'
import { createCaller } from './call.ts'
import { type CrowdOrder, quantileOf, requestText, startCrowd, startCrowdProcess } from './crowd.ts'
import { floodsOf } from './expensive.ts'
import { fillStore, fillTenant } from './full-tenant.ts'
import { peakMemoryMb } from './verdict.ts'

// How far one tenant can affect another. For each flood, a crowd of one tenant's callers sends the most expensive requests
// that its limits allow, while another tenant makes small writes. The writes must not be refused, and must not wait long.
//
// By default: the costliest floods, by the largest crowd, on the stores that are deployed. With `--all`: every operation,
// with each crowd, on all three stores. Other arguments name stores and floods:
// `node test/faults/fair-share.fault.ts --all sqlite getPage`.

/**
 * The limits in SECURITY.md: for a small write of another tenant and the probe, beyond the writes of an idle service beside
 * it, which meet the same stalls of disk and processor; and for memory.
 */
const MS_MAX = 500
const MEDIAN_MS_MAX = 100
const MEMORY_MB_MAX = 700
/** The store in memory keeps all that the floods stored: beyond this they go on with a new one. */
const STORED_MB_MAX = 1_500
/** The machine may be busy with something else, but what the service does wrong, it does each time. */
const TRIES_MAX = 5
/** After this the crowd is connected. */
const SETTLED_MS = 700
const MEASURED_MS = 2_000

// What was asked for.
const isAll = process.argv.includes('--all')
const named = process.argv.slice(2).filter((argument) => argument !== '--all')
const CROWDS = isAll ? [16, 64, 128] : [128]
const STORES = ['sqlite', 'postgres', 'memory'] as const
const FLOODS = floodsOf(isAll)

/** Whether a name was given as an argument, or none of its kind was. */
const isWanted = (name: string, all: readonly string[]): boolean =>
  named.includes(name) || !all.some((other) => named.includes(other))
const floodNames = FLOODS.map(({ name }) => name)
const wantedFloods = FLOODS.filter(({ name }) => isWanted(name, floodNames))

type Seed = Awaited<ReturnType<typeof seed>>
/** A service with a tenant that floods it and one that makes small writes. */
type Scene = {
  readonly server: Program
  readonly loud: Seed & { readonly survivorId: string }
  readonly quiet: Seed
}
type FullScene = Scene & { readonly full: Awaited<ReturnType<typeof fillTenant>> }
type Kind = ReturnType<typeof databaseKinds>[number]

t.setTimeout(0)

const floodDatabases = (): void => {
  for (const kind of databaseKinds())
    if (isWanted(kind.name, STORES))
      t.test(`one tenant floods, on ${kind.name}`, { skip: kind.skip ?? false }, async (t) => {
        t.teardown(async () => kind.end())
        const idle = await startIdle(t)
        const scene = await filled(await startOn(t, kind))
        for (const { name, textsOf } of wantedFloods)
          for (const callers of CROWDS)
            await t.test(`${name}, ${callers} connections`, (t) =>
              flood(t, scene, idle, { url: scene.server.url, callers, texts: textsOf(scene.full) }),
            )
        const memoryMb = peakMemoryMb(scene.server.pid) ?? 0
        t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB of memory`)
        t.equal(await scene.server.stop(), 0)
      })
}

const floodMemory = (): void => {
  if (isWanted('memory', STORES) && (isAll || named.includes('memory')))
    t.test('one tenant floods, on memory', async (t) => {
      const idle = await startIdle(t)
      let scene = await filled(await startInMemory(t))
      for (const { name, textsOf } of wantedFloods)
        for (const callers of CROWDS) {
          if ((peakMemoryMb(scene.server.pid) ?? 0) > STORED_MB_MAX) {
            t.equal(await scene.server.stop(), 0)
            scene = await filled(await startInMemory(t))
          }
          const order = { url: scene.server.url, callers, texts: textsOf(scene.full) }
          await t.test(`${name}, ${callers} connections`, (t) => flood(t, scene, idle, order))
        }
      t.equal(await scene.server.stop(), 0)
    })
}

/** Floods a service until its other tenant is served as promised, a few times at most. */
const flood = async (t: Test, { server, quiet }: Scene, idle: Idle, order: CrowdOrder): Promise<void> => {
  let faults: readonly string[] = []
  for (let tries = 0; tries === 0 || (faults.length > 0 && tries < TRIES_MAX); tries++) {
    const seen = await watchQuietTenant(server, quiet.apiKey, order, idle)
    t.strictSame(seen.statuses, [201], 'the quiet tenant is refused nothing')
    faults = faultsIn(seen)
    const { write, probe, control, crowd } = seen
    t.comment(
      `p50 ${write.p50} (${control.p50}), max ${write.max} (${control.max}), probe ${probe.max} ms;`,
      `peak ${peakMemoryMb(server.pid)} MB; ${crowd}`,
    )
  }
  t.strictSame(faults, [])
}

type Seen = Awaited<ReturnType<typeof watchQuietTenant>>
/** What took too long. `control`: the same writes to an idle service at the same time. */
const faultsIn = ({ write, probe, control }: Seen): readonly string[] => {
  const faults: string[] = []
  if (write.p50 >= MEDIAN_MS_MAX + control.p50) faults.push(`p50 ${write.p50} ms`)
  if (write.max >= MS_MAX + control.max) faults.push(`at most ${write.max} ms`)
  if (probe.max >= MS_MAX + control.max) faults.push(`/healthz in ${probe.max} ms`)
  return faults
}

const WRITE = {
  method: 'POST',
  path: '/v0/prospect_logs',
  body: { source: 'quiet', payload: {} },
} as const
const PROBE = { method: 'GET', path: '/healthz' } as const

/**
 * While a crowd floods the service: one caller with one small write after the other, and one who asks whether the service
 * lives. At the same time the same writes go to a service that does nothing else.
 */
const watchQuietTenant = async (server: Program, apiKey: string, order: CrowdOrder, idle: Idle) => {
  const small = requestText(WRITE.method, WRITE.path, apiKey, JSON.stringify(WRITE.body))
  const writer = startCrowd(server.url, { callers: 1, request: () => small })
  const crowd = startCrowdProcess(order)
  await pause(SETTLED_MS)
  writer.tally.ms.length = 0

  let isOver = false
  const stopped = pause(MEASURED_MS)
    .then(writer.stop)
    .finally(() => {
      isOver = true
    })
  const { call, close } = createCaller(idle.apiKey, 10_000)
  const repeat = async (ask: () => ReturnType<typeof call>, status: number, otherwiseMs: number) => {
    const ms: number[] = []
    while (!isOver) {
      const answer = await ask()
      ms.push(answer.status === status ? answer.ms : otherwiseMs)
      await pause(50)
    }
    return summaryOf(ms)
  }
  const [probe, control] = await Promise.all([
    repeat(() => call(server.url, PROBE), 200, Number.POSITIVE_INFINITY),
    repeat(() => call(idle.url, WRITE), 201, 0),
  ])
  close()

  const { ms, statuses } = await stopped
  const { statuses: loud } = await crowd.hangUp()
  return {
    write: summaryOf(ms),
    statuses: [...statuses.keys()],
    probe,
    control,
    crowd: [...loud].map(([status, count]) => `${count} × ${status}`).join(', '),
  }
}
const summaryOf = (ms: readonly number[]) => ({
  p50: Math.round(quantileOf(ms, 0.5)),
  max: Math.round(quantileOf(ms, 1)),
})

// Services.

const filled = async (scene: Scene): Promise<FullScene> => ({
  ...scene,
  full: await fillTenant(scene.server.url, scene.loud),
})

const startOn = async (t: Test, kind: Kind): Promise<Scene> => {
  const { env } = await kind.open(t)
  const loud = await seed(env)
  const quiet = await seed(env)
  const world = await createRuntime(readConfig(env), createLog('silent'))
  const survivorId = await fillStore(world, loud.tenantId)
  await world.store.close()
  const server = await startServer(t, { ...env, EVENTS: 'on' })
  return { server, loud: { ...loud, survivorId }, quiet }
}

const startInMemory = async (t: Test): Promise<Scene> => {
  const program = fileURLToPath(new URL('memory-server.ts', import.meta.url))
  const server = await startProgram(t, { EVENTS: 'on' }, undefined, [NODE, program])
  const line = server.logs().find((line) => 'seeds' in line) as LogLine & {
    readonly seeds: readonly [Seed, Seed]
    readonly survivorId: string
  }
  const [loud, quiet] = line.seeds
  return { server, loud: { ...loud, survivorId: line.survivorId }, quiet }
}

/** The service that is not flooded. On SQLite beside each store: a flood that keeps PostgreSQL busy does not excuse itself. */
const startIdle = async (t: Test) => {
  const env = { DATABASE_URL: `sqlite:${newFolder(t)}/idle.db` }
  const { apiKey } = await seed(env)
  const { url } = await startServer(t, env)
  return { url, apiKey }
}
type Idle = Awaited<ReturnType<typeof startIdle>>

floodDatabases()
floodMemory()
