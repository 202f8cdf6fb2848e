import { spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { caller, type Environment, newFolder, runCommand, until } from '../support/program.ts'
import { ANSWER_MS_MAX, embeddedScene, startOrRefusal } from './embedded-scene.ts'
import { keptFaults, lostWrites, versionFaults } from './kept.ts'
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from './small-disk.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'

t.setTimeout(0)
const MEMORY_MB_MAX = 250
const TIMES = 2

/** A running server on a file in this folder, and traffic for it. */
const setting = async (t: Test, folder: string) => {
  const scene = await embeddedScene(t, folder)
  const server = await scene.start()
  const { answers } = scene.traffic
  const count = (status: number) => answers.filter((answer) => answer.status === status).length
  const more = (status: number, by: number) => {
    const before = count(status)
    return () => count(status) >= before + by
  }
  return { ...scene, server, more }
}
type Setting = Awaited<ReturnType<typeof setting>>

/** Load on a server that cannot write now and then: refused meanwhile, served again afterwards, nothing lost. */
const starve = async (t: Test, it: Setting, take: () => void, giveBack: () => void) => {
  const { database, apiKey, server, traffic, more } = it
  const flow = traffic.flow(server.url)
  let slowestReturnMs = 0
  for (let time = 0; time < TIMES; time++) {
    await until('it serves', more(201, 100))
    take()
    await until('it refuses', more(503, 30))
    t.equal((await fetch(`${server.url}/healthz`)).status, 200, 'it lives')
    t.equal((await caller(server.url, apiKey)('GET', '/v0/page_groups')).status, 200, 'what is there is read')
    giveBack()
    const returned = performance.now()
    await until('it serves again', more(201, 1))
    slowestReturnMs = Math.max(slowestReturnMs, Math.round(performance.now() - returned))
  }
  await flow.stop()
  await traffic.repeat(server.url)
  await it.endLeases()
  const faults = [
    ...answerFaults(traffic.answers, { msMax: ANSWER_MS_MAX }),
    ...(await keptFaults(traffic, database)),
    ...(await versionFaults(database, 30_000)),
  ]
  t.strictSame(faults, [])
  t.ok(slowestReturnMs < 2_000, `it served again after ${slowestReturnMs} ms`)
  const memoryMb = peakMemoryMb(server.pid)
  if (memoryMb !== null) t.ok(memoryMb < MEMORY_MB_MAX, `${memoryMb} MB at most`)
  t.comment(
    figuresOf(traffic, faults, { rounds: TIMES, 'peak MB': memoryMb, 'returned ms': slowestReturnMs }),
  )
  t.equal(await server.stop(), 0)
}

const DISK_MEGABYTES = 24

/** Runs a test on a small disk where there can be one. */
const onSmallDisk = (title: string, test: (t: Test, disk: SmallDisk) => Promise<void>) =>
  t.test(title, { skip: whyNoSmallDisk() ?? false }, async (t) => {
    const disk = mountSmallDisk(t, DISK_MEGABYTES)
    if (disk === null) {
      t.pass('no small disk', { skip: 'NO SMALL DISK HERE: none could be mounted' })
      return
    }
    await test(t, disk)
  })

onSmallDisk('a full disk: writes are refused until there is space again', async (t, disk) => {
  await starve(t, await setting(t, disk.folder), disk.fill, disk.free)
})

t.test('files that may not grow: writes are refused until they may again', async (t) => {
  const it = await setting(t, newFolder(t))
  const why = limitFiles(it.server.pid, 'unlimited')
  if (why !== null) {
    t.pass(why, { skip: `NO PRLIMIT HERE: ${why}` })
    return
  }
  const limit = (bytes: number | 'unlimited') => () => {
    t.equal(limitFiles(it.server.pid, bytes), null)
  }
  await starve(t, it, limit(1), limit('unlimited'))
})

onSmallDisk('a server killed on a full disk, and started there again: nothing is lost', async (t, disk) => {
  const { database, server, traffic, more, apiKey, start } = await setting(t, disk.folder)
  const flow = traffic.flow(server.url)
  await until('it serves', more(201, 100))
  disk.fill()
  await until('it refuses', more(503, 30))
  await server.kill()
  await flow.stop()
  t.match(await refused(t, database.env, apiKey), /full|disk I\/O|unable to open/, 'it says why')
  disk.free()
  const again = await start()
  t.strictSame(await lostWrites(traffic, database), [])
  await traffic.repeat(again.url)
  t.strictSame(await keptFaults(traffic, database), [])
  t.equal(await again.stop(), 0)
})

onSmallDisk('a disk on which only small writes pass is not ready', async (t, disk) => {
  const { server, apiKey } = await setting(t, disk.folder)
  const call = caller(server.url, apiKey)
  const log = async (bytes: number) => {
    const activity = { source: 'crm', payload: { text: 'x'.repeat(bytes) } }
    return (await call('POST', '/v0/prospect_logs', activity)).status
  }
  const readiness = async () => (await fetch(`${server.url}/readyz`)).status
  disk.fill()
  disk.leave(600_000)
  t.equal(await log(10), 201)
  t.equal(await readiness(), 200)
  t.equal(await log(900_000), 503)
  t.equal(await log(10), 201, 'there is room for a small one')
  t.equal(await readiness(), 503)
  disk.free()
  await until('it is ready', async () => (await readiness()) === 200)
  t.equal(await log(900_000), 201)
  t.equal(await server.stop(), 0)
})

onSmallDisk('a file that may only be read: nothing is written to it, and nothing lost', async (t, disk) => {
  const { database, server, traffic, start } = await setting(t, disk.folder)
  let running = server
  for (const end of ['kill', 'stop'] as const) {
    await traffic.flow(running.url, { writesMax: 200 }).done()
    await running[end]()
    remount(disk.folder, 'ro')
    const refusal = await startOrRefusal(t, database.env)
    t.match(refusal, /ended with 1: .*read-only file system/, 'it says why')
    const command = await runCommand(['tenants', 'create', '--name', 'One'], database.env)
    t.match(command, { code: 1, stdout: '', stderr: WHY_READ_ONLY })
    remount(disk.folder, 'rw')
    running = await start()
    t.strictSame(await lostWrites(traffic, database), [], `after a ${end}`)
  }
  await traffic.repeat(running.url)
  t.strictSame(await keptFaults(traffic, database), [])
  t.equal(await running.stop(), 0)
})

const WHY_READ_ONLY = /read-only file system/

/** A server that cannot write either exits with 1, or refuses writes and keeps running. */
const refused = async (t: Test, env: Environment, apiKey: string): Promise<string> => {
  const started = await startOrRefusal(t, env)
  if (typeof started === 'string') {
    t.match(started, /ended with 1:/)
    return started
  }
  const activity = { source: 'crm', payload: {} }
  const { status, headers } = await caller(started.url, apiKey)('POST', '/v0/prospect_logs', activity)
  t.match({ status, retry: headers.get('retry-after') }, { status: 503, retry: /^\d+$/ })
  t.equal((await fetch(`${started.url}/healthz`)).status, 200, 'it lives')
  await until('the log says something', () => started.logs().some(({ level }) => level >= 40))
  await started.kill()
  return started.stderr()
}

/** Lets a mounted disk be read only, or written again; throws where it is in use. */
const remount = (folder: string, how: 'ro' | 'rw'): void => {
  const why = run('mount', ['-o', `remount,${how}`, folder])
  if (why !== null) throw new Error(why)
}

/** Limits how large a file another process may write; `unlimited` lifts the limit. Why it cannot, or null. */
const limitFiles = (pid: number, bytes: number | 'unlimited'): string | null =>
  run('prlimit', ['--pid', `${pid}`, `--fsize=${bytes}:unlimited`])

/** The error, or null. */
const run = (command: string, args: readonly string[]): string | null => {
  const { error, status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (error !== undefined) return error.message
  return status === 0 ? null : stderr.trim()
}
