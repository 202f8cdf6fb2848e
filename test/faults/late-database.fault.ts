import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { startProgram, until } from '../support/program.ts'
import { watchHealth } from './health.ts'
import { BACK_MS_MAX, faultsAfterwards, openScene, served } from './postgres-scene.ts'
import { answerFaults, figuresOf, peakMemoryMb } from './verdict.ts'

const LATE_MS = 20_000

t.setTimeout(0)
t.test('the database comes long after the server', { skip: whyNoPostgres() ?? false }, async (t) => {
  const postgres = await startPostgres()
  t.teardown(postgres.stop)
  const scene = await openScene(t, postgres)
  const { env, traffic, callMsMax } = scene
  await postgres.halt()

  const server = await startProgram(t, env)
  const health = watchHealth(t, server.url)
  const flow = traffic.flow(server.url)
  const comesAt = performance.now() + LATE_MS
  while (performance.now() < comesAt) {
    const { status, headers } = await fetch(`${server.url}/readyz`)
    t.match({ status, retry: headers.get('retry-after') }, { status: 503, retry: /^\d+$/ }, 'it is not ready')
    await pause(1_000)
  }
  t.notOk(
    traffic.answers.some(({ status }) => status !== 503),
    'nothing is done without a database',
  )
  await postgres.start()
  const isThereAt = performance.now()
  const [backMs, readyMs] = await Promise.all([
    served(scene, isThereAt),
    until(
      'it is ready',
      async () => (await fetch(`${server.url}/readyz`)).ok && performance.now() - isThereAt,
    ),
  ])
  t.ok(backMs <= BACK_MS_MAX, `it served ${backMs} ms after its database`)
  t.ok(readyMs <= BACK_MS_MAX, `it was ready ${Math.round(readyMs)} ms after its database`)
  await flow.stop()
  await traffic.repeat(server.url)
  t.strictSame(await health.stop(), [], 'it tells that it lives all along')
  const faults = await faultsAfterwards(scene)
  t.strictSame(faults, [], 'nothing is lost, doubled or left half done')
  t.strictSame(answerFaults(traffic.answers, { msMax: callMsMax }), [], 'every answer is one that may be')
  const figures = { 'back after ms': backMs, 'peak MB': peakMemoryMb(server.pid) }
  t.equal(await server.stop(), 0)
  t.comment(`late database: ${figuresOf(traffic, faults, figures)}`)
})
