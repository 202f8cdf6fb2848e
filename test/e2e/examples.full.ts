import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLog } from '../../src/adapters/log.ts'
import { COMMANDS } from '../../src/cli/main.ts'
import { createRuntime } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { createHook } from '../../src/core/hooks/create-hook.ts'
import { createWebhookEndpoint } from '../../src/core/webhooks/create-webhook-endpoint.ts'
import { webhookTools } from '../../src/service/webhook-tools.ts'
import { paste } from '../support/paste.ts'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import {
  answerOf,
  type Environment,
  embeddedDatabase,
  newFolder,
  runCommand,
  seed,
} from '../support/program.ts'

t.setTimeout(0)
t.jobs = 2

const hasShell = spawnSync('bash', ['-c', 'command -v sed']).status === 0
const skip = hasShell ? false : 'NO BASH OR SED HERE: the examples of the help were not tested'

/** The target of the move: a separate PostgreSQL server. */
const newDatabaseFor = async (t: Test, line: string): Promise<Environment> => {
  if (!line.includes('NEW_DATABASE_URL')) return {}
  const postgres = await sharedPostgres()
  t.teardown(postgres.stop)
  return { NEW_DATABASE_URL: await postgres.newDatabase() }
}
/** Endpoints are created over HTTP. */
const newEndpoint = async (env: Environment, tenantId: string): Promise<string> => {
  const world = await createRuntime(readConfig(env), createLog('silent'))
  const all = {
    types: null,
    sources: null,
    logTypes: null,
    headers: null,
    method: 'POST',
    body: null,
  } as const
  const endpoint = { tenantId, url: 'https://example.com', ...all, description: null }
  const { value: created } = await createWebhookEndpoint({
    ...world,
    webhooks: webhookTools({}, world.clock),
  })(endpoint)
  await world.store.close()
  return created.webhookEndpointId
}
const newHook = async (env: Environment, tenantId: string): Promise<string> => {
  const world = await createRuntime(readConfig(env), createLog('silent'))
  const hooks = { secrets: webhookTools({}, world.clock).secrets, publicUrl: null }
  const hook = {
    tenantId,
    source: 'form',
    verify: { token: true },
    description: null,
    map: {},
    each: null,
  } as const
  const { hookId } = (await createHook({ ...world, hooks })(hook)).value
  await world.store.close()
  return hookId
}
const noWhereTo = ({ words }: { words: string }) => (words === 'move' ? whyNoPostgres() : null)

for (const { words, examples } of COMMANDS.filter(({ words }) => words !== 'serve'))
  t.test(
    `the examples of ${words} work as pasted`,
    { skip: skip || (noWhereTo({ words }) ?? false), buffered: true },
    async (t) => {
      for (const line of Object.values(examples)) {
        const folder = newFolder(t)
        const SECRETS_KEY = randomBytes(32).toString('base64')
        const embedded = { DATABASE_URL: `sqlite:${join(folder, 'test.db')}`, SECRETS_KEY }
        const env = { ...embedded, ...(await newDatabaseFor(t, line)) }
        const { tenantId, apiKeyId, apiKey: KEY, pageGroupId } = await seed(env)
        const ENDPOINT = line.includes('$ENDPOINT') ? await newEndpoint(env, tenantId) : ''
        const HOOK = line.includes('$HOOK') ? await newHook(env, tenantId) : ''
        const ids = { TENANT: tenantId, KEY_ID: apiKeyId, GROUP: pageGroupId, ENDPOINT, HOOK, KEY }
        if (words === 'restore') await answerOf(['backup', join(folder, line.split(' ').at(-1) ?? '')], env)
        const pasted = await paste(line, { ...env, ...ids }, folder)
        // A move reports its progress on stderr.
        t.match(pasted, { code: 0, ...(words !== 'move' && { stderr: '' }) }, line)
      }
    },
  )

t.test('the examples of the command-line page work as pasted', { skip, buffered: true }, async (t) => {
  const page = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8')
  const examples = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, example = '']) => example)
  t.ok(examples.length > 0)
  for (const example of examples) {
    const env = { DATABASE_URL: `sqlite:${join(newFolder(t), 'test.db')}` }
    await seed(env)
    t.match(await paste(example, env), { code: 0, stdout: /./, stderr: '' }, example)
  }
})

t.test('a reader that leaves early does not stop a command', { skip }, async (t) => {
  const env = { DATABASE_URL: `sqlite:${join(newFolder(t), 'test.db')}` }
  const { tenantId } = await seed(env)
  const logs = Array.from({ length: 20 }, () => '{"source":"crm","payload":{}}').join('\\n')
  const line = `printf '${logs}' | prospect-pages prospect-logs import --tenant ${tenantId} --file - | true`
  t.match(await paste(line, env), { code: 0, stderr: '' })
  const { rows } = embeddedDatabase(env.DATABASE_URL.slice('sqlite:'.length))
  t.equal((await rows('select prospect_log_id from prospect_logs')).length, 20)
})

t.test('help is available in three ways, for a command and for a group', async (t) => {
  const helpOf = async (args: string) => {
    const { code, stdout, stderr } = await runCommand(args.split(' '), { PORT: 'x' })
    t.match({ code, stderr }, { code: 0, stderr: '' }, args)
    return stdout
  }
  const [create, ...same] = await Promise.all(
    ['keys create --help', 'help keys create', 'keys create -h --tenant x'].map(helpOf),
  )
  t.match(create, /^prospect-pages keys create --tenant T .*\n {2}issues an API key/)
  for (const help of same) t.equal(help, create)
  const keys = await helpOf('keys --help')
  t.strictSame(keys.match(/^ {2}keys \w+/gm), [
    '  keys create',
    '  keys list',
    '  keys find',
    '  keys revoke',
    '  keys rotate',
  ])
})
