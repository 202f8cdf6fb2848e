import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { shellFunctions } from '../support/pasted-page.ts'
import {
  embeddedDatabase,
  inherited,
  linesOf,
  newFolder,
  openServer,
  runCommand,
  until,
} from '../support/program.ts'

t.setTimeout(0)
const ROOT = join(import.meta.dirname, '../..')
const hasShell = spawnSync('bash', ['-c', 'command -v curl && command -v openssl']).status === 0

t.test(
  'the recipes in docs/hooks.md work as pasted, each vendor played by curl and openssl',
  { skip: hasShell ? false : 'NO BASH, CURL OR OPENSSL HERE' },
  async (t) => {
    const page = readFileSync(join(ROOT, 'docs/hooks.md'), 'utf8')
    const scripts = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text)
    const folder = newFolder(t)
    const { env } = embeddedDatabase(join(folder, 'test.db'))
    const { apiKey, tenantId, server } = await openServer(
      t,
      { env },
      { PUBLIC_URL: 'https://hooks.example.com/' },
    )
    const run = async (script: string) => {
      const bash = spawn('timeout', ['60', 'bash', '-euo', 'pipefail', '-c', shellFunctions() + script], {
        cwd: folder,
        env: { ...inherited(), URL: server.url, KEY: apiKey },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      return (await bash.stdout.setEncoding('utf8').toArray()).join('')
    }
    const [form = '', attributes = '', typeform = '', stripe = '', github = '', other = ''] = scripts
    t.equal(scripts.length, 6)
    const sent = await run(form)
    t.match(sent, /^http:\/\/127\.0\.0\.1:\d+\/hooks\/hook_\w+\/\w+\nhttps:\/\/www\.example\.com\/thanks\n$/)
    t.equal(await run(attributes), '"attributes":{"company":"Engines","phone":"123"}\n')
    t.equal(await run(typeform), 'false\nada@example.com\n')
    for (const recipe of [stripe, github]) t.equal(await run(recipe), 'false\n', recipe)
    const tried = JSON.parse(await run(other))
    t.match(tried, {
      verified: false,
      reason: 'The signature header x-shop-signature is missing.',
      activities: [{ type: 'order', email: 'ada@example.com', idempotencyKey: '7' }],
    })

    const { path, url, hookId } = JSON.parse(readFileSync(join(folder, 'form.json'), 'utf8'))
    t.equal(url, `https://hooks.example.com${path}`)
    const [, , , token = ''] = path.split('/')
    const received = await until('it is logged', () => {
      const lines = server.logs().filter((line) => line['hookId'] === hookId)
      return lines.length > 0 && lines
    })
    t.match(received.slice(0, 1), [
      { route: '/hooks/{hook_id}/{token}', tenantId, outcome: 'logged', status: 303 },
    ])
    t.notMatch(server.stderr(), token, 'no token is in the logs')
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    t.match(metrics, 'prospect_pages_hooks_received_total{outcome="logged"} 5')
    t.notMatch(metrics, token)

    const stripeId = JSON.parse(readFileSync(join(folder, 'stripe.json'), 'utf8')).hookId
    const body = join(folder, 'body.json')
    const args = ['hooks', 'try', stripeId, '--tenant', tenantId, '--body', body]
    const signed = await runCommand([...args, '--header', 'Stripe-Signature: t=1,v1=00'], env)
    t.match(linesOf(signed.stdout), [
      {
        verified: false,
        reason: 'The signature does not match. Check the secret.',
        activities: [{ source: 'stripe' }],
      },
    ])
    const formId = JSON.parse(readFileSync(join(folder, 'form.json'), 'utf8')).hookId
    const inAddress = ['hooks', 'try', formId, '--tenant', tenantId, '--query', '?email=ada%40example.com']
    t.match(linesOf((await runCommand(inAddress, env)).stdout), [
      { verified: true, warning: null, activities: [{ email: 'ada@example.com' }] },
    ])
    const wrong = await runCommand([...args, '--header', 'nonsense'], env)
    t.match(wrong, { code: 2, stderr: /--header must be 'name: value'/ })
    t.equal(await server.stop(), 0)
  },
)
