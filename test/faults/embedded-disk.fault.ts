import { spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { caller, type Environment, newFolder, runCommand, until } from '../support/program.ts'
import { ANSWER_MS_MAX, embeddedScene, startOrRefusal } from './embedded-scene.ts'
import { keptFaults, lostWrites, versionFaults } from './kept.ts'
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from './small-disk.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'

t.setTimeout(0)
const DISK_MEGABYTES = 24
const MEMORY_MB_MAX = 250
/** How often the server gets no space. */
const TIMES = 2
const RETURN_MS_MAX = 2_000
const SETTLED_MS_MAX = 30_000
const READ_ONLY = /read-only file system/
/** Of pino. */
const WARN_LEVEL = 40

/** A running server on a file in this folder, and traffic for it. */
const setUp = async (t: Test, folder: string) => {
  const scene = await embeddedScene(t, folder)
  const server = await scene.start()
  const { answers } = scene.traffic
  const countAnswers = (status: number) => answers.filter((answer) => answer.status === status).length
  return {
    ...scene,
    server,
    /** Waits for so many more answers with a status: 201 for what is stored, 503 for what is refused. */
    moreAnswers: (status: number, count: number) => {
      const enough = countAnswers(status) + count
      return until(`${count} more answers are ${status}`, () => countAnswers(status) >= enough)
    },
  }
}
type Scene = Awaited<ReturnType<typeof setUp>>

type Space = { readonly take: () => void; readonly giveBack: () => void }

/** Takes the space of a server under load away and gives it back, and checks that it refuses and then serves again. */
const starve = async (t: Test, scene: Scene, { take, giveBack }: Space): Promise<void> => {
  const { apiKey, moreAnswers, server, traffic } = scene
  const flow = traffic.flow(server.url)
  let slowestReturnMs = 0
  for (let time = 0; time < TIMES; time++) {
    await moreAnswers(201, 100)
    take()
    await moreAnswers(503, 30)
    t.equal((await fetch(`${server.url}/healthz`)).status, 200, 'the server is alive')
    const { status } = await caller(server.url, apiKey)('GET', '/v0/page_groups')
    t.equal(status, 200, 'it still reads')
    t.equal((await fetch(`${server.url}/readyz`)).status, 503, 'it is not ready')
    giveBack()
    const givenBackAt = performance.now()
    await moreAnswers(201, 1)
    slowestReturnMs = Math.max(slowestReturnMs, Math.round(performance.now() - givenBackAt))
    await server.ready()
  }
  await flow.stop()
  await traffic.repeat(server.url)
  await scene.endLeases()

  const faults = await faultsOf(scene)
  t.strictSame(faults, [], 'nothing is lost, doubled or left unpublished')
  t.ok(slowestReturnMs < RETURN_MS_MAX, `it served again after ${slowestReturnMs} ms`)
  const memoryMb = peakMemoryMb(server.pid)
  if (memoryMb !== null) t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB of memory`)
  t.comment(
    figuresOf(traffic, faults, { rounds: TIMES, 'peak MB': memoryMb, 'returned ms': slowestReturnMs }),
  )
  t.equal(await server.stop(), 0)
}

/** Wrong answers and wrong rows, in words. */
const faultsOf = async ({ traffic, database }: Scene): Promise<string[]> => [
  ...answerFaults(traffic.answers, { msMax: ANSWER_MS_MAX }),
  ...(await keptFaults(traffic, database)),
  ...(await versionFaults(database, SETTLED_MS_MAX)),
]

/** Runs a test on a small disk, if one can be mounted here. */
const onSmallDisk = (title: string, test: (t: Test, disk: SmallDisk) => Promise<void>) =>
  t.test(title, { skip: whyNoSmallDisk() ?? false }, async (t) => {
    const disk = mountSmallDisk(t, DISK_MEGABYTES)
    if (disk === null) {
      t.pass('no small disk', { skip: 'NO SMALL DISK HERE: none could be mounted' })
      return
    }
    await test(t, disk)
  })

onSmallDisk('while the disk is full, writes are refused and reads are not', async (t, disk) => {
  const scene = await setUp(t, disk.folder)
  await starve(t, scene, { take: disk.fill, giveBack: disk.free })
})

t.test('while files may not grow, writes are refused and reads are not', async (t) => {
  const scene = await setUp(t, newFolder(t))
  const { pid } = scene.server
  const whyNot = limitFileSize(pid, 'unlimited')
  if (whyNot !== null) {
    t.pass(whyNot, { skip: `NO PRLIMIT HERE: ${whyNot}` })
    return
  }
  await starve(t, scene, {
    take: () => t.equal(limitFileSize(pid, 1), null),
    giveBack: () => t.equal(limitFileSize(pid, 'unlimited'), null),
  })
})

onSmallDisk('a server killed on a full disk, and started there again, loses nothing', async (t, disk) => {
  const { database, server, traffic, moreAnswers, apiKey, start } = await setUp(t, disk.folder)
  const flow = traffic.flow(server.url)
  await moreAnswers(201, 100)
  disk.fill()
  await moreAnswers(503, 30)
  await server.kill()
  await flow.stop()
  const complaint = await refusesToWrite(t, database.env, apiKey)
  t.match(complaint, /full|disk I\/O|unable to open/, 'the server says why')

  disk.free()
  const next = await start()
  t.strictSame(await lostWrites(traffic, database), [])
  await traffic.repeat(next.url)
  t.strictSame(await keptFaults(traffic, database), [])
  t.equal(await next.stop(), 0)
})

onSmallDisk('a server on a disk with room for small writes only is not ready', async (t, disk) => {
  const { server, apiKey } = await setUp(t, disk.folder)
  const logStatus = async (payloadBytes: number): Promise<number> => {
    const activity = { source: 'crm', payload: { text: 'x'.repeat(payloadBytes) } }
    return (await caller(server.url, apiKey)('POST', '/v0/prospect_logs', activity)).status
  }
  const readiness = async (): Promise<number> => (await fetch(`${server.url}/readyz`)).status
  const smallBytes = 10
  const largeBytes = 900_000

  disk.fill()
  disk.leave(600_000)
  t.equal(await logStatus(smallBytes), 201)
  t.equal(await readiness(), 200, 'ready, as no write has failed')
  t.equal(await logStatus(largeBytes), 503)
  t.equal(await logStatus(smallBytes), 201, 'there is room for a small one')
  t.equal(await readiness(), 503, 'not ready, as a write has failed')
  disk.free()
  await until('the server is ready', async () => (await readiness()) === 200)
  t.equal(await logStatus(largeBytes), 201)
  t.equal(await server.stop(), 0)
})

onSmallDisk('nothing is written to a read-only file, and nothing in it is lost', async (t, disk) => {
  const { database, server, traffic, start } = await setUp(t, disk.folder)
  let running = server
  for (const end of ['kill', 'stop'] as const) {
    await traffic.flow(running.url, { writesMax: 200 }).done()
    await running[end]()
    remount(disk.folder, 'ro')
    const refusal = await startOrRefusal(t, database.env)
    t.match(refusal, /ended with 1: .*read-only file system/, 'the server says why it does not start')
    const command = await runCommand(['tenants', 'create', '--name', 'One'], database.env)
    t.match(command, { code: 1, stdout: '', stderr: READ_ONLY }, 'and so does a command')

    remount(disk.folder, 'rw')
    running = await start()
    t.strictSame(await lostWrites(traffic, database), [], `nothing is lost after a ${end}`)
  }
  await traffic.repeat(running.url)
  t.strictSame(await keptFaults(traffic, database), [])
  t.equal(await running.stop(), 0)
})

/** Checks that a server either exits with 1, or keeps running and refuses writes. Returns what it says. */
const refusesToWrite = async (t: Test, env: Environment, apiKey: string): Promise<string> => {
  const started = await startOrRefusal(t, env)
  if (typeof started === 'string') {
    t.match(started, /ended with 1:/)
    return started
  }
  const activity = { source: 'crm', payload: {} }
  const { status, headers } = await caller(started.url, apiKey)('POST', '/v0/prospect_logs', activity)
  t.equal(status, 503)
  t.match(headers.get('retry-after'), /^\d+$/)
  t.equal((await fetch(`${started.url}/healthz`)).status, 200, 'the server is alive')
  await until('the log has a warning', () => started.logs().some(({ level }) => level >= WARN_LEVEL))
  await started.kill()
  return started.stderr()
}

/** Makes a mounted disk read-only, or writable again. Throws if it is in use. */
const remount = (folder: string, how: 'ro' | 'rw'): void => {
  const why = run('mount', ['-o', `remount,${how}`, folder])
  if (why !== null) throw new Error(why)
}

/** Limits how large the files of another process may grow. Returns the error if that is impossible here, or null. */
const limitFileSize = (pid: number, bytes: number | 'unlimited'): string | null =>
  run('prlimit', ['--pid', `${pid}`, `--fsize=${bytes}:unlimited`])

/** Runs a command, and returns its error or null. */
const run = (command: string, args: readonly string[]): string | null => {
  const { error, status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (error !== undefined) return error.message
  return status === 0 ? null : stderr.trim()
}
