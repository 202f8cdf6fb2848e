import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort, shellFunctions, whyNoShell } from '../support/pasted-page.ts'
import { caller, embeddedDatabase, inherited, newFolder, openServer } from '../support/program.ts'

t.setTimeout(0)
const ROOT = join(import.meta.dirname, '../..')

t.test('the calls and the receiver in docs/events.md work as pasted', { skip: whyNoShell }, async (t) => {
  const port = await freePort()
  const page = readFileSync(join(ROOT, 'docs/events.md'), 'utf8').replaceAll('9000', String(port))
  const pasted = (language: string) =>
    [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text)
  const folder = newFolder(t)
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(ROOT, 'node_modules/standardwebhooks'), join(folder, 'node_modules/standardwebhooks'))
  const [receiver = ''] = pasted('js')
  writeFileSync(join(folder, 'receiver.mjs'), receiver)
  const { env } = embeddedDatabase(join(folder, 'test.db'))
  const { apiKey, server } = await openServer(t, { env }, { WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8' })
  // As the first start and the README log it: the reader's prospect exists before.
  const ada = { source: 'crm', email: 'ada@example.com', payload: {} }
  await caller(server.url, apiKey)('POST', '/v0/prospect_logs', ada)

  const run = async (script: string) => {
    const bash = spawn('timeout', ['60', 'bash', '-euo', 'pipefail', '-c', shellFunctions() + script], {
      cwd: folder,
      env: { ...inherited(), URL: server.url, KEY: apiKey },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return (await bash.stdout.setEncoding('utf8').toArray()).join('')
  }
  const [feed = '', webhooks = ''] = pasted('sh')
  t.equal(await run(webhooks), '204\ntrue\n2\nwhsec_\n')
  const lines = readFileSync(join(folder, 'received.txt'), 'utf8').trim().split('\n')
  const [tested, ...others] = lines.map((line) => line.replace(/^event_\w{26} /, ''))
  t.equal(tested, 'webhook_endpoint.test undefined')
  for (const type of ['prospect.created', 'prospect_log.created'])
    t.ok(
      others.some((line) => line.startsWith(`${type} prospect_`)),
      type,
    )
  t.equal(await run(feed), 'false\n')
})
