import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { unusedPort } from '../support/packed.ts'
import { installClient } from '../support/pasted-page.ts'
import {
  caller,
  embeddedDatabase,
  inherited,
  NODE,
  newFolder,
  openServer,
  until,
} from '../support/program.ts'

t.setTimeout(0)
const ROOT = join(import.meta.dirname, '../..')

/** A folder with the client and the programs of the page. */
const programsOfPage = (t: Test) => {
  const folder = newFolder(t)
  installClient(folder)
  const ports = { 9001: unusedPort(), 9002: unusedPort() }
  const page = readFileSync(join(ROOT, 'docs/client.md'), 'utf8')
  const names = [...page.matchAll(/^```js\n\/\/ (\S+)\n(.*?)^```$/gms)].map(([, name = '', text = '']) => {
    const moved = text.replace('9001', `${ports[9001]}`).replace('9002', `${ports[9002]}`)
    writeFileSync(join(folder, name), moved)
    return name
  })
  return { folder, names, ports }
}

t.test('the programs in docs/client.md work as pasted', async (t) => {
  const { folder, names, ports } = programsOfPage(t)
  t.strictSame(names, ['log.mjs', 'buffer.mjs', 'read.mjs', 'follow.mjs', 'receive.mjs'])
  const database = embeddedDatabase(join(folder, 'test.db'))
  const { apiKey, server } = await openServer(t, database, { EVENTS: 'on' })
  const secret = `whsec_${Buffer.from('a secret of some length').toString('base64')}`
  const run = (name: string) => {
    const env = { ...inherited(), URL: server.url, KEY: apiKey, WEBHOOK_SECRET: secret }
    const child = spawn(NODE, [name], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
    })
    const code = new Promise<number | null>((resolve) => child.once('close', resolve))
    return { code, stdout: () => stdout, stop: () => child.kill('SIGTERM') && code }
  }

  const logging = run('log.mjs')
  t.equal(await logging.code, 0)
  t.match(logging.stdout(), /^prospectlog_\w+\nstored\n\[ .*must be 1 to 100 characters long/)

  const reading = run('read.mjs')
  t.equal(await reading.code, 0)
  t.equal(reading.stdout(), 'webhook { order: 4712 }\norder_placed { order: 4711 }\nSpring\n')

  const buffering = run('buffer.mjs')
  const visit = () =>
    fetch(`http://127.0.0.1:${ports[9001]}/prices`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until('the site answers', visit)
  t.equal(await buffering.stop(), 0)
  t.equal(buffering.stdout(), '', 'everything is sent')
  const { body } = await caller(server.url, apiKey)('GET', '/v0/prospect_logs?source=site')
  t.match(body.items, [{ type: 'visit', payload: { path: '/prices' } }])

  const following = run('follow.mjs')
  await until('the events are there', () => following.stdout().split('\n').length > 3)
  t.equal(await following.stop(), 0)
  t.match(
    following.stdout(),
    /^\d+ prospect_log\.created shop\n\d+ prospect_log\.created shop\n\d+ .* site\n$/,
  )
  t.match(readFileSync(join(folder, 'cursor.txt'), 'utf8'), /^\S+$/)
  t.notOk(existsSync(join(folder, 'cursor.new')), 'the cursor is replaced as a whole')
  const resumed = run('follow.mjs')
  await caller(server.url, apiKey)('POST', '/v0/prospect_logs', { source: 'later', payload: {} })
  await until('the next event is there', () => resumed.stdout() !== '')
  t.match(resumed.stdout(), /^\d+ prospect_log\.created later\n$/, 'it goes on where it was')
  await resumed.stop()

  const receiving = run('receive.mjs')
  const at = new Date()
  const webhook = '{"type":"page.created","data":{}}'
  const receive = (signature: string) =>
    fetch(`http://127.0.0.1:${ports[9002]}`, {
      method: 'POST',
      body: webhook,
      headers: {
        'webhook-id': 'event_1',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
        'webhook-signature': signature,
      },
    }).then(
      ({ status }) => status,
      () => null,
    )
  const sign = new Webhook(secret).sign('event_1', at, webhook)
  t.equal(await until('it receives', () => receive(sign)), 204)
  t.equal(await receive('v1,AAAA'), 400)
  t.equal(receiving.stdout(), 'event_1 page.created\n')
})
