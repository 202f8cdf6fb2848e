// Builds the image with the first tool that works here, or else replays the steps of the Containerfile. Runs the image
// read-only and as its user, and checks what it does. `node test/container/run.ts` takes the name of a way: docker,
// podman, buildah or replay. `CONTAINER_BASE` names another base image.
import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import type { Check } from '../../src/maintenance/check.ts'
import { buildah } from './buildah.ts'
import { docker } from './docker.ts'
import { type Image, ROOT, type Running, type Way } from './image.ts'
import { replay } from './replay.ts'

const ADDED_BYTES_MAX = 20 * 1_048_576
const say = (line: string) => process.stdout.write(`${line}\n`)

const wayHere = (): Way => {
  const name = process.argv[2] ?? ''
  const ways = [docker('docker'), docker('podman'), buildah, replay]
  for (const way of ways.filter((way) => way.name.includes(name))) {
    const obstacle = way.whyNot()
    if (obstacle === null) return way
    say(`not by ${way.name}: ${obstacle}`)
  }
  throw new Error('no such way works here')
}

const checkImage = async (image: Image): Promise<void> => {
  assert.equal(image.user, '1000:1000')
  assert.equal(image.healthCheck[0], 'node', 'the health check needs nothing but Node')
  const { name, description, version, license } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
  for (const [label, value] of Object.entries({ title: name, description, version, licenses: license }))
    assert.equal(image.labels[`org.opencontainers.image.${label}`], value)
  assert.match(
    (await image.run(['--version'])).stdout,
    new RegExp(version),
    'arguments of the image are a command',
  )
  const running = await image.start()
  try {
    await checkRunning(running, image.healthCheck)
  } catch (error) {
    await running.stop()
    throw error
  }
  assert.equal(await running.stop(), 0, 'SIGTERM drains the service')
  say('the service answers, is healthy, and stops')
}

const checkRunning = async (running: Running, healthCheck: readonly string[]): Promise<void> => {
  const { url, exec } = running
  const node = (script: string) => exec(['node', '-e', script])

  const isRoot = process.getuid?.() === 0
  const whoami = await node('process.stdout.write(String(process.getuid()))')
  // A replay by a user who is not root cannot become another.
  if (isRoot || whoami.stdout === '1000') assert.equal(whoami.stdout, '1000', whoami.stderr)
  const writes = await node("require('node:fs').writeFileSync('mine', '')")
  if (isRoot) assert.match(writes.stderr, /EACCES|EROFS/, 'the service cannot write in its folder')
  const countBytes = `const fs = require('node:fs'); let bytes = 0
    for (const file of fs.readdirSync('.', { recursive: true, withFileTypes: true }))
      if (file.isFile()) bytes += fs.statSync(file.parentPath + '/' + file.name).size
    process.stdout.write(String(bytes))`
  const bytes = Number((await node(countBytes)).stdout)
  assert.ok(bytes > 0 && bytes < ADDED_BYTES_MAX, `${bytes} bytes`)
  const packages = (
    await node("process.stdout.write(require('node:fs').readdirSync('node_modules').join(' '))")
  ).stdout
  assert.doesNotMatch(packages, /typescript|biome|\btap\b/, 'no development packages')
  say(`user ${whoami.stdout}, ${(bytes / 1_048_576).toFixed(1)} MiB besides the base`)

  const healthy = async (port: string) => (await exec(healthCheck, { PORT: port })).code
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
  assert.equal(await healthy(running.portInside), 0, 'the health check succeeds')
  assert.equal(await healthy('1'), 1, 'the health check fails on another port')
  const key = /pp_\w{36}/.exec(running.stdout())?.[0] ?? ''
  const logged = await fetch(`${url}/v0/prospect_logs`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: '{"source":"crm","payload":{}}',
  })
  assert.equal(logged.status, 201)
  const doctor = await exec(['prospect-pages', 'doctor'])
  const failed = JSON.parse(doctor.stdout).checks.filter(({ state }: Check) => state === 'failed')
  assert.deepEqual(failed, [])
}

const way = wayHere()
say(`by ${way.name}`)
const image = await way.build()
try {
  await checkImage(image)
} finally {
  await image.remove()
}
