import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  caller,
  type Environment,
  embeddedDatabase,
  newFolder,
  runCommand,
  seed,
  startProgram,
  until,
} from '../support/program.ts'
import { keptFaults, lostOf, versionFaults } from './kept.ts'
import { mountSmallDisk, type SmallDisk, whyNoSmallDisk } from './small-disk.ts'
import { createTraffic } from './traffic.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'
import { limitFiles, remount } from './write-limits.ts'

t.setTimeout(240_000)
const ANSWER_MS_MAX = 15_000
const MEMORY_MB_MAX = 250
const TIMES = 3

/** A running server on a file in this folder, and traffic for it. */
const setting = async (t: Test, folder: string) => {
  const database = embeddedDatabase(join(folder, 'test.db'))
  const { apiKey, pageGroupId } = await seed(database.env)
  const server = await startProgram(t, database.env)
  await server.ready()
  const traffic = createTraffic({ apiKey, pageGroupIds: [pageGroupId], answerMsMax: 2 * ANSWER_MS_MAX })
  t.teardown(async () => traffic.close())
  const count = (status: number) => traffic.answers.filter((answer) => answer.status === status).length
  const more = (status: number, by: number) => {
    const before = count(status)
    return () => count(status) >= before + by
  }
  return { database, apiKey, server, traffic, more }
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
  // What was claimed and could not be settled is nobody's until its lease ends; that end is put forward.
  await database.rows(
    `update page_versions set claimable_at = created_at where status = 'processing' and attempts > 0`,
  )
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

onSmallDisk('a server killed while its disk is full, and started on it: nothing is lost', async (t, disk) => {
  const { database, server, traffic, more, apiKey } = await setting(t, disk.folder)
  const flow = traffic.flow(server.url)
  await until('it serves', more(201, 100))
  disk.fill()
  await until('it refuses', more(503, 30))
  await server.kill()
  await flow.stop()
  const started = await startOrRefusal(t, database.env)
  if (typeof started !== 'string') {
    t.equal((await fetch(`${started.url}/healthz`)).status, 200)
    const { status } = await caller(started.url, apiKey)('POST', '/v0/prospect_logs', {
      source: 'crm',
      payload: {},
    })
    t.equal(status, 503)
    await started.kill()
  } else t.match(started, /full|disk I\/O|unable to open/, 'it says why')
  disk.free()
  const again = await startProgram(t, database.env)
  await again.ready()
  t.strictSame(await lostOf(traffic, database), [])
  await traffic.repeat(again.url)
  t.strictSame(await keptFaults(traffic, database), [])
  t.equal(await again.stop(), 0)
})

onSmallDisk(
  'a file that may only be read is refused at start, and served once it may be written',
  async (t, disk) => {
    const { database, server, traffic } = await setting(t, disk.folder)
    let running = server
    for (const end of ['kill', 'stop'] as const) {
      await traffic.flow(running.url, { writesMax: 200 }).done()
      await running[end]()
      remount(disk.folder, 'ro')
      const refusal = await startOrRefusal(t, database.env)
      t.match(refusal, /ended with 1: .*(unable to open|readonly)/, 'it says why')
      const command = await runCommand(['tenants', 'create', '--name', 'One'], database.env)
      t.match(command, { code: 1, stdout: '', stderr: /unable to open|readonly/ })
      remount(disk.folder, 'rw')
      running = await startProgram(t, database.env)
      await running.ready()
      t.strictSame(await lostOf(traffic, database), [])
    }
    await traffic.repeat(running.url)
    t.strictSame(await keptFaults(traffic, database), [])
    t.equal(await running.stop(), 0)
  },
)

/** A server that listens, or what one that ended said. */
const startOrRefusal = (t: Test, env: Environment) =>
  startProgram(t, env).catch((error: Error) => error.message)
