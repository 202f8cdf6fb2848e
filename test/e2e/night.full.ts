import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { createLog } from '../../src/adapters/log.ts'
import { createRuntime } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { secretsOf } from '../../src/core/engine/sealed-secrets.ts'
import { createHook } from '../../src/core/hooks/create-hook.ts'
import type { StoredEndpoint } from '../../src/core/ports/webhooks.ts'
import { createWebhookEndpoint } from '../../src/core/webhooks/create-webhook-endpoint.ts'
import { rotateWebhookSecret } from '../../src/core/webhooks/rotate-webhook-secret.ts'
import { openForSending } from '../../src/core/webhooks/webhook-headers.ts'
import { type Finding, findAttention } from '../../src/maintenance/findings.ts'
import { reencryptSecrets } from '../../src/maintenance/reencrypt-secrets.ts'
import { webhookTools } from '../../src/service/webhook-tools.ts'
import { mountSmallDisk, whyNoSmallDisk } from '../faults/small-disk.ts'
import { breakService, FLOOD, UNFILTERED } from '../support/break.ts'
import { diagnosed } from '../support/doctor.ts'
import { paste } from '../support/paste.ts'
import {
  databaseKinds,
  embeddedDatabase,
  linesOf,
  newFolder,
  runCommand,
  seed,
  until,
} from '../support/program.ts'

t.setTimeout(0)
const has = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
const newKey = () => randomBytes(32).toString('base64')

for (const kind of databaseKinds())
  t.test(`at night, on ${kind.name}`, { skip: kind.skip ?? false }, async (t) => {
    t.teardown(kind.end)
    const disk = kind.name === 'sqlite' && whyNoSmallDisk() === null ? mountSmallDisk(t, 32) : null
    const path = disk ? join(disk.folder, 'test.db') : ''
    const { env, rows } = disk ? embeddedDatabase(path) : await kind.open(t)
    const SECRETS_KEY = newKey()
    const { broken, leaked, flooder, release } = await breakService({ ...env, SECRETS_KEY })
    const backups = kind.name === 'sqlite' ? { BACKUP_DIR: newFolder(t) } : {}
    const settings = { ...env, SECRETS_KEY, ...backups }
    t.teardown(release)
    const status = async () => {
      const { code, stdout, stderr } = await runCommand(['status'], settings)
      t.match({ code, stderr }, { code: 1, stderr: '' })
      return linesOf<Finding>(stdout)
    }
    let findings = await status()

    if (kind.name === 'postgres') {
      const locked = /^could not be checked: page_versions: locked by pid \d+ \(a forgotten psql\)$/
      for (const name of ['failed version', 'stuck version'])
        t.match(
          findings.filter(({ kind }) => kind === name),
          [{ detail: locked }],
          'it is not waited for',
        )
      const { failed } = await diagnosed(t, settings)
      const wrong = failed.map(({ name }) => name).filter((name) => name !== 'durability')
      t.strictSame(wrong, ['erasures', 'webhook secrets', 'locks'])
      const [lock] = findings.filter(({ kind }) => kind === 'lock')
      t.match(lock, { detail: /a forgotten psql.*idle in transaction.*locks page_versions/ })
      const statement = /select .*\)/.exec(lock?.command ?? '')?.[0] ?? ''
      if (has('psql')) t.match(await paste(lock?.command ?? '', settings), { code: 0 })
      else await rows(statement)
      findings = await until('the lock is gone', async () => {
        const found = await findAttention(readConfig(settings), Date.now())
        return found.some(({ kind }) => kind === 'lock') ? null : [...found]
      })
    }

    const isLate = Object.keys(backups).length > 0 ? ['backup'] : []
    const kindsOf = (findings: readonly Finding[]) => findings.map(({ kind }) => kind)
    t.strictSame(kindsOf(findings).sort(), [...Object.keys(broken), ...isLate].sort(), 'and nothing else')
    for (const { kind, tenantId, tenant } of findings)
      if (kind !== 'backup') t.strictSame({ tenantId, tenant }, broken[kind], kind)
    const pasted = await paste(findings.map(({ command }) => command).join('\n'), settings)
    t.match(pasted, { code: 0, stderr: '' })
    for (const word of [
      '"lastError":',
      '"status":"failed"',
      '"lastRefusal":',
      'identifies no one',
      '"erasureId":',
      '"secret":"whsec_',
    ])
      t.match(pasted.stdout, word)

    const [first] = linesOf((await runCommand(['usage'], settings)).stdout)
    t.match(first, { tenantId: flooder.tenantId, apiKeyId: flooder.apiKeyId, requests: FLOOD })
    const stopped = await paste(
      `echo 'key="${leaked.apiKey}"' | prospect-pages keys find --revoke; prospect-pages tenants suspend "$TENANT"`,
      { ...settings, TENANT: broken['webhook endpoint']?.tenantId ?? '' },
    )
    t.match(stopped.stdout, leaked.apiKeyId)
    t.match(stopped.stdout, /"revokedAt":"2/)
    const left = kindsOf(await status())
    const expected = kindsOf(findings).filter(
      (kind) => !['webhook endpoint', 'failed deliveries', 'secret', 'backup'].includes(kind),
    )
    t.strictSame(left, expected, 'nothing of a suspended tenant, no lost secret, and there is a backup')

    if (disk === null) return
    // As a server has it.
    const held = new DatabaseSync(path)
    t.teardown(() => held.close())
    held.prepare('select 1 from tenants').get()
    disk.fill()
    const { named, failed } = await diagnosed(t, settings)
    t.match(named('disk'), { state: 'failed', detail: /^0 bytes free/ })
    t.match(named('writes'), { state: 'failed', detail: /: disk_full; the last one was at 2/ })
    t.strictSame(
      failed.map(({ name }) => name),
      ['disk', 'temporary files', 'writes', 'erasures'],
      'the lost secret was replaced',
    )
    t.strictSame(kindsOf(await findAttention(readConfig(settings), Date.now())), [...left, 'writes'])
  })

for (const kind of databaseKinds())
  t.test(
    `secrets are encrypted with another key, on ${kind.name}`,
    { skip: kind.skip ?? false },
    async (t) => {
      t.teardown(kind.end)
      const { env } = await kind.open(t)
      const before = newKey()
      const after = newKey()
      const lost = newKey()
      const { tenantId } = await seed(env)
      const world = await createRuntime(readConfig(env), createLog('silent'))
      t.teardown(world.store.close)
      const { webhooks, hooks } = world.store
      const toolsOf = (key: string | null) => {
        const tools = webhookTools(
          { secretsKey: key === null ? null : Buffer.from(key, 'base64') },
          world.clock,
        )
        return { ...world, webhooks: tools, hooks: { secrets: tools.secrets, publicUrl: null } }
      }
      const endpoint = { tenantId, url: 'https://crm.example', ...UNFILTERED }
      const hook = { tenantId, source: 'git', description: null, map: {}, each: null }
      const { value: created } = await createWebhookEndpoint(toolsOf(before))({
        ...endpoint,
        headers: { 'x-token': 'secret' },
      })
      const first = { tenantId, webhookEndpointId: created.webhookEndpointId }
      await rotateWebhookSecret(toolsOf(before))({ ...first, overlapHours: 24 })
      await createWebhookEndpoint(toolsOf(null))(endpoint)
      const verify = { preset: 'github', secret: 'shared' } as const
      const { hookId } = (await createHook(toolsOf(before))({ ...hook, verify })).value
      await createHook(toolsOf(before))({ ...hook, verify: { token: true } })
      // Its secret is known; of the overlap, the key is lost.
      const { value: half } = await createWebhookEndpoint(toolsOf(lost))(endpoint)
      const [found] = (await webhooks.list(tenantId)).filter(
        (one) => one.webhookEndpointId === half.webhookEndpointId,
      )
      if (found === undefined) throw new Error('the endpoint is missing')
      const secret = toolsOf(before).webhooks.secrets.seal('whsec_new')
      const until = '2999-01-01T00:00:00.000Z'
      const overlap = {
        previousSecret: `${found.secret}|${until}`,
        previousSecretUntil: until,
        updatedAt: until,
      }
      await webhooks.change({ ...found, secret, ...overlap }, found.updatedAt)

      const settings = { ...env, SECRETS_KEY: after, SECRETS_KEY_PREVIOUS: before }
      const config = readConfig(settings)
      // The first is rotated by a server at the same moment.
      let isFirst = true
      const change: typeof webhooks.change = async (...change) => {
        if (isFirst) await rotateWebhookSecret(toolsOf(before))({ ...first, overlapHours: 24 })
        isFirst = false
        return webhooks.change(...change)
      }
      const store = { ...world.store, webhooks: { ...webhooks, change } }
      t.match(await reencryptSecrets(config, { ...world, store }), {
        rewritten: 6,
        alreadyNew: 0,
        undecipherable: 1,
      })
      const { code, stdout } = await runCommand(['secrets', 'reencrypt'], settings)
      t.match({ code, ...JSON.parse(stdout) }, { code: 1, rewritten: 0, alreadyNew: 7, undecipherable: 1 })
      t.match(JSON.parse(stdout).toReplace, [
        new RegExp(`^prospect-pages api POST .*${half.webhookEndpointId}`),
      ])

      const { open } = toolsOf(after).webhooks.secrets
      t.equal(open((await hooks.find({ tenantId, hookId }))?.secret ?? ''), 'shared')
      const endpoints = await webhooks.list(tenantId)
      const signing = endpoints.map((one) => secretsOf(one, world.clock(), open)?.length ?? null)
      t.strictSame(signing, [3, 1, null], 'those before it still sign')
      t.match(openForSending(endpoints[0] as StoredEndpoint, world.clock(), open)?.headers, {
        'x-token': 'secret',
      })
      const alone = readConfig({ ...env, SECRETS_KEY: after })
      const [only, ...others] = await findAttention(alone, world.clock())
      t.match(only, { kind: 'secret', tenantId, detail: half.webhookEndpointId })
      t.strictSame(others, [])
    },
  )

t.test('a hook that identifies no one is a finding until a delivery identifies someone', async (t) => {
  const { env, rows } = embeddedDatabase(join(newFolder(t), 'test.db'))
  const { tenantId } = await seed(env)
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
  const [now, earlier, longAgo] = [minutesAgo(0), minutesAgo(5), minutesAgo(25 * 60)]
  const nobody = 'The last body identifies no one: there is no usable email or ID at /email.'
  const hooks = [
    ['warned', 'enabled', now, now, nobody],
    ['disabled', 'disabled', now, now, nobody],
    ['identified', 'enabled', earlier, now, nobody],
    ['old', 'enabled', longAgo, longAgo, nobody],
    ['query', 'enabled', now, now, 'The last body was sent with a query, which no place reads.'],
  ]
  for (const [slot, [hookId, state, warnedAt, receivedAt, warning]] of hooks.entries())
    await rows(`
      insert into hooks (tenant_id, hook_id, source, status, rules, secret, slot, created_at, updated_at,
        last_warned_at, last_received_at, last_warning)
      values ('${tenantId}', '${hookId}', 'contact', '${state}', '{}', 'hash', ${slot + 1}, '${now}', '${now}',
        '${warnedAt}', '${receivedAt}', '${warning}')`)
  const findings = await findAttention(readConfig(env), Date.now())
  t.match(findings, [
    {
      kind: 'hook warning',
      tenantId,
      detail: `warned (contact) stores activities of unknown people: ${nobody}`,
    },
  ])
  t.equal(findings.length, 1)
})

t.test('at most 50 findings of a kind are listed, and their commands are quoted', async (t) => {
  const { env, rows } = embeddedDatabase(join(newFolder(t), 'test.db'))
  const { tenantId } = await seed(env)
  const now = new Date().toISOString()
  await rows(`
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 51)
    insert into hooks (tenant_id, hook_id, source, status, rules, secret, slot, created_at, updated_at, last_refused_at, last_refusal)
    select '${tenantId}', 'it''s $(hook) ' || n, 'git', 'enabled', '{}', 'hash', n, '${now}', '${now}', '${now}', 'wrong' from numbers`)
  const findings = await findAttention(readConfig(env), Date.now())
  t.equal(findings.length, 51)
  t.match(findings.at(-1), { kind: 'hook', detail: 'there are more than 50' })
  const command = findings[0]?.command.replace('prospect-pages', "printf '%s\\n'") ?? ''
  const words = spawnSync('sh', ['-c', command], { encoding: 'utf8' }).stdout
  t.match(words, /^api\nGET\n\/v0\/hooks\/it's \$\(hook\) \d+\n--tenant\n/)
})
