import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newApiKeyText } from '../../src/core/tenants/api-key-text.ts'
import { runOn, startCitus, type ThrowawayCitus, whyNoCitus } from '../support/citus.ts'
import { SIGNED, signatureOf } from '../support/hooks.ts'
import { fillSource, postgresRows } from '../support/moving.ts'
import { paste } from '../support/paste.ts'
import { postgresBin, startPostgres } from '../support/postgres.ts'
import { answerOf, caller, newFolder, seed, startServer, until } from '../support/program.ts'

const CITUS = { DATABASE_CLUSTER: 'citus' }
const PACKAGE = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(PACKAGE, 'docs/citus.md'), 'utf8')
const BLOCKS = [...PAGE.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text)
const NOT_COPIED =
  'select 1 from api_keys where not is_copied union all select 1 from hooks where not is_copied'

/** The commands of the page with this text, pasted in a folder where `sql` is that of the package. */
const pasted = async (t: Test, has: string, env: Record<string, string>, folder: string) => {
  const block = BLOCKS.find((text) => text.includes(has)) ?? has
  const commands = block.replaceAll('sql/', `${PACKAGE}/sql/`)
  const { code, stderr } = await paste(
    commands,
    { ...env, PATH: `${postgresBin()}:${process.env['PATH']}` },
    folder,
  )
  t.equal(code, 0, stderr)
}

/** A cluster with rows in every table, a tenant with a key and a hook, and copies of all keys and hooks. */
const filled = async (t: Test, citus: ThrowawayCitus) => {
  const path = join(newFolder(t), 'test.db')
  await fillSource(path, 300)
  const url = await citus.newDistributed()
  const env = { DATABASE_URL: url, ...CITUS }
  await answerOf(['move', '--from', `sqlite:${path}`, '--to', url], CITUS)
  // The rows are old.
  await runOn(url, ['update tenants set retention_days = 0'])
  const { apiKey, tenantId } = await seed(env)
  const server = await startServer(t, env)
  const { body: hook } = await caller(server.url, apiKey)('POST', '/v0/hooks', {
    source: 'vendor',
    verify: SIGNED,
  })
  await until('keys and hooks are copied', async () => {
    await caller(server.url, newApiKeyText())('GET', '/v0/page_groups')
    await fetch(server.url + hook.path, { method: 'POST', body: '{}' })
    return (await runOn(url, [NOT_COPIED])).length === 0
  })
  await server.stop()
  return { url, apiKey, tenantId, hook }
}

t.test('backups of a cluster', { skip: whyNoCitus() ?? false }, async (t) => {
  const citus = await startCitus()
  t.teardown(citus.stop)
  const { url, apiKey, hook } = await filled(t, citus)
  const rows = await postgresRows(url)
  const folder = newFolder(t)
  const allAreServed = async (t: Test, env: Record<string, string>) => {
    const server = await startServer(t, env)
    t.equal((await caller(server.url, apiKey)('GET', '/v0/page_groups')).status, 200)
    const headers = { 'x-signature': signatureOf('{}'), 'content-type': 'application/json' }
    t.equal((await fetch(server.url + hook.path, { method: 'POST', body: '{}', headers })).status, 200)
    await server.stop()
  }

  await t.test('the dump of the page is restored into a new cluster, every row', async (t) => {
    await pasted(t, 'pg_dump', { OWNER_URL: url }, folder)
    const target = await citus.newDistributed()
    await pasted(t, '--dbname="$OWNER_URL"', { OWNER_URL: target }, folder)
    t.strictSame(await postgresRows(target), rows)
    await allAreServed(t, { DATABASE_URL: target, ...CITUS })
  })

  await t.test('the same dump is restored into one PostgreSQL, every row', async (t) => {
    const plain = await startPostgres({})
    t.teardown(plain.stop)
    const target = await plain.newDatabase()
    await runOn(target, ['create role prospect_pages login'])
    await pasted(t, '--dbname="$ONE_URL"', { ONE_URL: target, ...CITUS }, folder)
    t.strictSame(await postgresRows(target), rows)
    await allAreServed(t, { DATABASE_URL: target })
  })

  await t.test(
    'without the coordinator everything is copied from a worker, and keys and hooks from their copies',
    async (t) => {
      const target = await citus.newDistributed()
      const [, worker] = citus.atEachNode(url)
      // The new database needs the coordinator, so the old one is lost to the workers alone.
      await runOn(worker, ["update pg_dist_node set nodename = '/nowhere' where groupid = 0"])
      await t.rejects(runOn(worker, ['select 1 from api_keys']))
      await pasted(t, 'WORKER_URL', { WORKER_URL: worker, OWNER_URL: target }, folder)
      const { usage_counts: _, ...found } = await postgresRows(target)
      const { usage_counts: __, ...expected } = rows
      const withoutUse = (keys: readonly string[] = []) =>
        keys
          .map((key) => key.replace(/"last_(used|received|refused)_at":[^,}]*|"last_refusal":[^,}]*/g, ''))
          .sort()
      t.strictSame(withoutUse(found['api_keys']), withoutUse(expected['api_keys']))
      t.strictSame(withoutUse(found['hooks']), withoutUse(expected['hooks']))
      t.strictSame({ ...found, api_keys: [], hooks: [] }, { ...expected, api_keys: [], hooks: [] })
      await allAreServed(t, { DATABASE_URL: target, ...CITUS })
    },
  )

  await t.test(
    'keys that an older backup of the coordinator lacks are added, and revoked ones end',
    async (t) => {
      const url = await citus.newDistributed()
      const [{ n: before } = {}] = await runOn(url, ['select count(*)::int as n from api_keys'])
      t.equal(before, 0)
      const row = (revokedAt: string | null) =>
        JSON.stringify({
          apiKeyId: 'apikey_a',
          start: 'pp_a',
          scopes: ['pages:read'],
          createdAt: '2026-01-01T00:00:00Z',
          revokedAt,
        })
      const copy = (revokedAt: string | null) =>
        `insert into identity_copies values ('hash', 'tenant_a', '${row(revokedAt)}', '${revokedAt}')
        on conflict (key) do update set row = excluded.row`
      const restore = readFileSync(join(PACKAGE, 'sql/keys-from-copies.sql'), 'utf8').split(/;$/m).slice(0, 3)
      const state = ['select key_hash, revoked_at is not null as is_revoked from api_keys']
      await runOn(url, ["insert into tenants values ('tenant_a', 'A', now())", copy(null), ...restore])
      t.strictSame(await runOn(url, state), [{ keyHash: 'hash', isRevoked: false }])
      await runOn(url, [copy('2026-01-02T00:00:00Z'), ...restore])
      await runOn(url, [copy(null), ...restore])
      t.strictSame(await runOn(url, state), [{ keyHash: 'hash', isRevoked: true }])
    },
  )
})
