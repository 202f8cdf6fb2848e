import { readFileSync } from 'node:fs'
import t from 'tap'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import { readyToRead } from '../../src/core/engine/obstacles.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { RemovalPosition } from '../../src/core/ports/tenants.ts'
import { fillTenant } from '../store-contract/filled-tenant.ts'
import { verbs } from '../store-contract/verbs.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { answerOf, runCommand } from '../support/program.ts'
import { POSTGRES_SETTINGS } from '../support/stores.ts'
import { useEverything } from '../support/use-everything.ts'

t.setTimeout(0)
const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const ROLES = read('sql/roles.sql')
/** The grants that serving needs, and those that only commands need. */
const [TO_SERVE = '', FOR_COMMANDS = ''] = ROLES.split(/^-- II\..*$/m)
/** The statements of SECURITY.md for an administrator: first for the cluster, then for the new database. */
const [IN_CLUSTER = '', IN_DATABASE = ''] = [...read('SECURITY.md').matchAll(/^```sql\n([^`]*)```$/gm)].map(
  ([, block]) => block as string,
)

const statementsIn = (text: string): string[] =>
  text
    .replaceAll(/--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim().replaceAll(/\s+/g, ' '))
    .filter((statement) => statement !== '')

/** Each single thing that is granted, as what `grant` and `revoke` take: `update (name) on prospects`. */
const grantsIn = (text: string): string[] =>
  statementsIn(text).flatMap((statement) => {
    const [, privileges = '', tables = ''] =
      /^grant (.*) on ([\w, ]+) to prospect_pages$/.exec(statement) ?? []
    const single = [...privileges.matchAll(/(\w+)(?: \(([^)]*)\))?/g)].flatMap(([, privilege, columns]) =>
      columns === undefined ? [privilege] : columns.split(', ').map((column) => `${privilege} (${column})`),
    )
    return tables.split(', ').flatMap((table) => single.map((one) => `${one} on ${table}`))
  })

/** A deleted tenant that has nothing: each statement needs its grants all the same. */
const removeAll = async (store: Pick<Store, 'tenants'> | null): Promise<void> => {
  let after: RemovalPosition | null = null
  do after = (await store?.tenants.removeSome({ tenantId: 'nobody', after, max: 1 })) ?? null
  while (after !== null)
}

/** A cluster in which SECURITY.md was followed, migrated by the owner. */
const setting = async () => {
  const postgres = await startPostgres()
  const admin = await postgres.newDatabase()
  const as = (role: string, database = 'prospect_pages') =>
    admin.replace('postgres@', `${role}@`).replace(/\/test_\w+/, `/${database}`)
  const run = async (url: string, statements: readonly string[]) => {
    const sql = openPostgres(url, { max: 1, onnotice: () => {} })
    try {
      for (const statement of statements) await sql.unsafe(statement)
    } finally {
      await sql.end()
    }
  }
  await run(admin, statementsIn(IN_CLUSTER))
  await run(as('postgres'), statementsIn(IN_DATABASE))
  const owner = as('prospect_pages_owner')
  const server = as('prospect_pages')
  await answerOf(['migrate'], { DATABASE_URL: owner })
  await run(owner, statementsIn(ROLES))
  return { postgres, admin, as, run, owner, server, env: { DATABASE_URL: server } }
}

t.test('with the documented roles', { skip: whyNoPostgres() ?? false }, async (t) => {
  const { postgres, as, run, owner, server, env } = await setting()
  t.teardown(postgres.stop)

  t.test('every command and the whole service work as the role that serves', async (t) => {
    await useEverything(t, env)
  })

  t.test('that role can neither change the schema nor rewrite what was logged or published', async (t) => {
    for (const statement of [
      'create table mine (id text)',
      'create temporary table mine (id text)',
      'create schema mine',
      'create role mine',
      'alter table pages add column mine text',
      'drop table pages',
      'truncate pages',
      'delete from schema_migrations',
      'insert into schema_migrations (number, name, checksum, version) values (99, $$x$$, $$$$, $$$$)',
      'update api_keys set tenant_id = tenant_id',
      'update api_keys set key_hash = key_hash',
      'update api_keys set scopes = scopes',
      'update prospect_logs set payload = payload',
      'update page_versions set content = content',
      'set role prospect_pages_owner',
    ])
      await t.rejects(run(server, [statement]), { code: '42501' }, statement)
    await t.rejects(run(as('prospect_pages', 'postgres'), ['create table mine (id text)']), {
      code: '42501',
    })
  })

  t.test('none of the grants could be left out, and serving needs none of those for commands', async (t) => {
    const store = postgresStore({ ...POSTGRES_SETTINGS, url: server }, readMigrations('postgres'))
    t.teardown(store.close)
    const things = await fillTenant(store)
    /**
     * The first verbs that are not permitted now, at most `max`: of those for callers and the publisher, or of those for
     * commands.
     */
    const refused = async (forCommands: boolean, max: number): Promise<string[]> => {
      // The first number of a tenant takes another statement than those after it.
      await run(owner, ['delete from events', 'delete from event_counts'])
      const asked = verbs
        .filter(({ serves }) => (serves === 'commands') === forCommands)
        .map(({ name, ask }) => ({ name, ask: () => ask(store, things.tenant, things) }))
      const others = [
        // That it notices another verb's refusal says nothing about what it needs itself.
        { name: 'ready', ask: () => readyToRead(store) },
        { name: 'remove a tenant', ask: () => removeAll(forCommands ? null : store) },
      ]
      const names: string[] = []
      for (const { name, ask } of [...asked, ...others]) {
        const why = await ask().then(
          () => undefined,
          (error: { code?: string }) => error,
        )
        if (why !== undefined && why.code !== '42501') throw why
        if (why !== undefined) names.push(name)
        if (names.length === max) return names
      }
      return names
    }
    const eachIsNeeded = async (grants: readonly string[], forCommands: boolean) => {
      t.strictSame(await refused(forCommands, Infinity), [])
      for (const grant of grants) {
        await run(owner, [`revoke ${grant} from prospect_pages`])
        t.ok((await refused(forCommands, 1)).length > 0, `needed: ${grant}`)
        await run(owner, [`grant ${grant} to prospect_pages`])
      }
    }
    const serving = grantsIn(TO_SERVE)
    const commands = grantsIn(FOR_COMMANDS)
    t.ok(serving.length > 20 && commands.length > 5, `${serving.length} and ${commands.length} grants`)
    await eachIsNeeded(commands, true)
    await run(
      owner,
      commands.map((grant) => `revoke ${grant} from prospect_pages`),
    )
    await eachIsNeeded(serving, false)
    await t.rejects(store.apiKeys.add(things.key), { code: '42501' }, 'without the others it makes no key')
    await run(owner, statementsIn(ROLES))
  })

  t.test('where there is something to migrate, that role refuses to start and changes nothing', async (t) => {
    await run(owner, ['delete from schema_migrations'])
    for (const command of ['serve', 'migrate']) {
      const { code, stderr } = await runCommand([command], { ...env, PORT: '0' })
      t.equal(code, 1)
      t.match(stderr, /permission denied/)
    }
  })
})
