import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import t, { type Test } from 'tap'
import { COPIES } from '../../src/adapters/citus/placement.ts'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { type Connected, connect } from '../../src/adapters/postgres/connect.ts'
import { migratePostgres } from '../../src/adapters/postgres/migrate.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { postgresSignals } from '../../src/adapters/postgres/signals.ts'
import type { Ask } from '../../src/adapters/postgres/sql.ts'
import { portsOver } from '../../src/adapters/postgres/store.ts'
import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import { readMigrations } from '../../src/adapters/stores/migrations.ts'
import type { NewLog } from '../../src/core/ports/activities.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { postgresStore as storeOverInstance } from '../../src/entry/postgres.ts'
import { runOn, startCitus, type ThrowawayCitus, whyNoCitus } from './citus.ts'
import { placeOf } from './place.ts'
import { type SharedPostgres, sharedPostgres, whyNoPostgres } from './postgres.ts'
import type { SomeProspect } from './rows.ts'

// A file against three stores may take longer than tap's half minute; `--test-timeout` is the limit.
t.setTimeout(0)

/** A store under test. */
export type TestedStore = {
  readonly store: Store
  /** Another store on the same database, like in another process. On memory, the same store. */
  readonly another: () => Promise<Store>
  /** Rows that no port shows: prospects and logs, oldest first. */
  readonly kept: () => Promise<Kept>
  /** The `DATABASE_URL` of PostgreSQL, the path of SQLite's file, or null on memory. */
  readonly address: string | null
  /** The statements sent so far, or null if the kind does not record them. */
  readonly statements: () => readonly Sent[] | null
  readonly close: () => Promise<void>
}
type Kept = { prospects: SomeProspect[]; logs: NewLog[] }
export type Sent = { readonly text: string; readonly parameters: readonly unknown[] }
/**
 * A kind of store. `instance` is PostgreSQL through an embedder's instance of the driver. `tenant-routed` is a single
 * PostgreSQL with the statements for Citus.
 */
export type StoreKind = {
  readonly name: 'memory' | 'sqlite' | 'postgres' | 'instance' | 'tenant-routed' | 'citus'
  /** Why it cannot be tested here, or null. */
  readonly skip: string | null
  /** Opens an empty, migrated store. On PostgreSQL its database may have served an earlier test, unless `isUnused`. */
  readonly open: (everyEvent?: boolean, isUnused?: boolean) => Promise<TestedStore>
  /** Stops the servers that the kind started. */
  readonly end: () => Promise<void>
}

const WITHOUT_CLUSTER = 'CLUSTER is not set: the statements for a cluster were not tested'

export const storeKinds = (): readonly StoreKind[] => [
  memoryKind(),
  sqliteKind(),
  postgresKind('postgres'),
  postgresKind('instance'),
  postgresKind('tenant-routed', process.env['CLUSTER'] ? whyNoPostgres() : WITHOUT_CLUSTER),
  postgresKind('citus', whyNoCitus(), startDistributed),
]

/** The stores of the service, and an embedder's instance. */
export const EVERY_STORE: readonly StoreKind['name'][] = ['memory', 'sqlite', 'postgres', 'instance']

/** `STORES=postgres,instance` leaves out the others. */
const isWanted = (name: string): boolean => process.env['STORES']?.split(',').includes(name) ?? true

/** Runs the same tests over every kind of store, or over the named ones. Skips a kind that cannot be started here. */
export const overStores = (
  tests: (t: Test, kind: StoreKind) => Promise<void>,
  names: readonly StoreKind['name'][] = ['memory', 'sqlite', 'postgres'],
): void => {
  for (const kind of storeKinds().filter(({ name }) => names.includes(name) && isWanted(name)))
    t.test(`on ${kind.name}`, kind.skip === null ? {} : { skip: kind.skip }, async (t) => {
      t.teardown(kind.end)
      await tests(t, kind)
    })
}

/** A new store that is closed when the test ends. */
export const opened = async (t: Test, kind: StoreKind, isUnused = false): Promise<TestedStore> => {
  const tested = await kind.open(false, isUnused)
  t.teardown(tested.close)
  return tested
}

/** The statements that an act sends. */
export const sentBy = async (
  { statements }: TestedStore,
  act: () => Promise<unknown>,
): Promise<readonly Sent[]> => {
  const before = statements()?.length ?? 0
  await act()
  // Signals are left out, because they are sent after a pause.
  return (
    statements()
      ?.slice(before)
      .filter(({ text }) => !text.startsWith('select pg_notify')) ?? []
  )
}

const memoryKind = (): StoreKind => ({
  name: 'memory',
  skip: null,
  open: async (everyEvent) => {
    const store = memoryStore({ everyEvent })
    return {
      store,
      another: async () => store,
      kept: async () => structuredClone({ prospects: store.kept.prospects(), logs: store.kept.logs() }),
      address: null,
      statements: () => null,
      close: () => store.close(),
    }
  },
  end: async () => {},
})

const PROSPECTS = `
  select tenant_id, prospect_id, email, external_id, name, attributes as attributes, created_at, updated_at
  from prospects
  order by prospect_id`
const LOGS = `
  select tenant_id, prospect_log_id, prospect_id, source, type, payload as payload, email, name, external_id,
    idempotency_key,
    key_scope, request_hash, created_prospect, occurred_at, created_at
  from prospect_logs order by prospect_log_id`
type LogRow = Omit<NewLog, 'payload'> & { payload: string }
const logOf = (row: LogRow): NewLog => ({
  ...row,
  payload: { rawJson: row.payload },
  createdProspect: Boolean(row.createdProspect),
})

export const keptInFile = (path: string): Kept => {
  const database = openDatabase(path, 5_000)
  const prospects = database.all<ProspectRow>(PROSPECTS).map(prospectOf)
  const logs = database.all<LogRow>(LOGS).map(logOf)
  database.close()
  return { prospects, logs }
}
export const keptInPostgres = async (url: string): Promise<Kept> => {
  const sql = openPostgres(url, { max: 1 })
  const asText = PROSPECTS.replace('attributes as attributes', 'attributes::text as attributes')
  const prospects = await sql.unsafe<ProspectRow[]>(asText)
  const logs = await sql.unsafe<LogRow[]>(LOGS.replace('payload as payload', 'payload::text as payload'))
  await sql.end()
  return { prospects: [...prospects].map(prospectOf), logs: [...logs].map(logOf) }
}

type ProspectRow = Omit<SomeProspect, 'attributes'> & { readonly attributes: string | null }
const prospectOf = ({ attributes, ...row }: ProspectRow): SomeProspect => ({
  ...row,
  attributes: attributes === null ? null : { rawJson: attributes },
})

/** The bytes of an empty database with the present schema. */
let migrated: Buffer | undefined
const migratedFile = async (): Promise<Buffer> => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  const path = join(folder, 'test.db')
  const store = sqliteStore({ path, busyMsMax: 5_000 }, readMigrations('sqlite'))
  await store.migrate()
  await store.close()
  const bytes = readFileSync(path)
  rmSync(folder, { recursive: true })
  return bytes
}

export const sqliteKind = (): StoreKind => ({
  name: 'sqlite',
  skip: null,
  open: async (everyEvent = false) => {
    const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
    const path = join(folder, 'test.db')
    migrated ??= await migratedFile()
    writeFileSync(path, migrated)
    const stores: Store[] = []
    const another = async () => {
      const store = sqliteStore({ path, busyMsMax: 5_000, everyEvent }, readMigrations('sqlite'))
      stores.push(store)
      return store
    }
    const store = await another()
    await store.migrate()
    return {
      store,
      another,
      kept: async () => keptInFile(path),
      address: path,
      statements: () => null,
      close: async () => {
        for (const store of stores) await store.close()
        rmSync(folder, { recursive: true, force: true })
      },
    }
  },
  end: async () => {},
})

type Server = Pick<SharedPostgres, 'newMigrated' | 'stop'> & Partial<Pick<ThrowawayCitus, 'atEachNode'>>
const startDistributed = async (): Promise<Server> => {
  const { newDistributed, atEachNode, stop } = await startCitus()
  return { newMigrated: newDistributed, atEachNode, stop }
}

const postgresKind = (
  name: 'postgres' | 'instance' | 'tenant-routed' | 'citus',
  skip = whyNoPostgres(),
  start: () => Promise<Server> = sharedPostgres,
): StoreKind => {
  let server: Promise<Server> | undefined
  let openedStores = 0
  /** Databases of closed stores, with their connections. Emptying one takes a tenth of the time of making one. */
  const free: Used[] = []
  const all: Used[] = []
  return {
    name,
    skip,
    open: async (everyEvent = false, isUnused = false) => {
      server ??= start()
      const { newMigrated, atEachNode } = await server
      let used = isUnused ? undefined : free.pop()
      await used?.empty()
      if (used === undefined) {
        used = usedDatabase(await newMigrated())
        all.push(used)
      }
      const { url, poolAt, instanceAt } = used
      const nodes = atEachNode?.(url) ?? [url]
      const stores: Store[] = []
      const sent: Sent[] = []
      // PostgreSQL is tested without the store for a cluster.
      const isRouted = name === 'tenant-routed' || name === 'citus'
      const cluster = isRouted ? await import('../../src/adapters/citus/store.ts') : null
      const ports = isRouted ? await import('../../src/adapters/citus/ports.ts') : null
      const open = () => {
        const number = stores.length
        if (name === 'instance') return storeOverInstance(instanceAt(number), { everyEvent })
        if (cluster && name === 'citus') {
          // Each store connects to the next node.
          const address = nodes[openedStores++ % nodes.length] ?? url
          const settings = { ...POSTGRES_SETTINGS, everyEvent, url: address }
          return cluster.citusStore(settings, readMigrations('postgres'), undefined, connectNoting(sent))
        }
        return storeOver(noting(poolAt(number).ask, sent), url, everyEvent, ports?.citusPorts())
      }
      const another = async () => {
        const store = open()
        stores.push(store)
        return store
      }
      const store = await another()
      await store.migrate()
      return {
        store,
        another,
        kept: () => keptInPostgres(url),
        address: url,
        statements: () => sent,
        close: async () => {
          for (const store of stores) await store.close()
          free.push(used)
        },
      }
    },
    end: async () => {
      for (const { end } of all) await end()
      await (await server)?.stop()
    },
  }
}

type Used = ReturnType<typeof usedDatabase>
/** A database for one test after another. It keeps its connections, which know its tables and statements. */
const usedDatabase = (url: string) => {
  // Citus refuses to empty tables in parallel.
  const admin = openPostgres(url, {
    max: 1,
    connection: { 'citus.multi_shard_modify_mode': 'sequential' },
  })
  const pools: Connected[] = []
  const instances: ReturnType<typeof strangeInstance>[] = []
  return {
    url,
    // Truncating so many tables takes ten times as long as deleting the few rows of a test.
    empty: async () => {
      await admin.unsafe(`do $$ declare name text; begin
        for name in select tablename from pg_tables where schemaname = 'public' and tablename <> 'schema_migrations'
          order by array_position(array['brands', 'tenants'], tablename::text) nulls first
        loop execute 'delete from ' || name; end loop; end $$`)
    },
    /** Connections for the first store of a test, the second and so on. */
    poolAt: (number: number) => {
      pools[number] ??= connect({ ...POSTGRES_SETTINGS, url })
      return pools[number]
    },
    instanceAt: (number: number) => {
      instances[number] ??= strangeInstance(url)
      return instances[number]
    },
    end: async () => {
      await Promise.all([
        admin.end(),
        ...pools.map((pool) => pool.close()),
        ...instances.map((sql) => sql.end({ timeout: 1 })),
      ])
    },
  }
}

/** Records each statement of a store before it is sent, also within a transaction. */
const noting =
  (ask: Ask, sent: Sent[]): Ask =>
  (statement, tenantId) =>
    ask((sql) => statement(notingIn(sql, sent)), tenantId)
const notingIn = (sql: postgres.Sql, sent: Sent[]): postgres.Sql => {
  const note = (asked: unknown) => {
    // The driver has these members; its types do not.
    const { strings, args } = asked as { strings: readonly string[]; args: readonly unknown[] }
    const text = strings.map((text, i) => (i === 0 ? text : `$${i}${text}`)).join('')
    sent.push({ text, parameters: args })
    return asked
  }
  const unsafe: typeof sql.unsafe = (...statement) => note(sql.unsafe(...statement)) as never
  const begin = (run: (transaction: postgres.Sql) => unknown) =>
    sql.begin((transaction) => run(notingIn(transaction as unknown as postgres.Sql, sent)))
  return new Proxy(sql, {
    apply: (target, self, parts) => note(Reflect.apply(target, self, parts)),
    get: (target, name) => ({ unsafe, begin })[String(name)] ?? Reflect.get(target, name),
  })
}
export const connectNoting =
  (sent: Sent[]): typeof connect =>
  (settings) => {
    const connected = connect(settings)
    return { ...connected, ask: noting(connected.ask, sent) }
  }

/**
 * The store over connections that outlive it. Closing it waits for what it has sent and refuses more. A routed one does as on Citus,
 * without what only Citus can answer: where a tenant lives. That is asked when a look takes too long, so here none does.
 */
const storeOver = (
  send: Ask,
  url: string,
  everyEvent: boolean,
  over: typeof portsOver = portsOver,
): Store => {
  const migrations = readMigrations('postgres')
  const inFlight = new Set<Promise<unknown>>()
  let isClosed = false
  const ask: Ask = async (statement, tenantId) => {
    if (isClosed) throw new Error('the store is closed')
    const sent = send(statement, tenantId)
    inFlight.add(sent)
    return sent.finally(() => inFlight.delete(sent))
  }
  const { watch, notify, close } = postgresSignals(url, ask)
  return {
    ...over(ask, migrations, notify, { everyEvent }),
    migrate: async () => {
      const applied = await migratePostgres(url, migrations, () => {})
      if (over !== portsOver) await runOn(url, COPIES)
      return applied
    },
    watch,
    close: async () => {
      isClosed = true
      await close()
      await Promise.allSettled(inFlight)
    },
  }
}

/** An instance of the driver as the store itself would never open it. */
const strangeInstance = (url: string) => {
  return postgres({
    ...placeOf(url).place,
    max: 5,
    onnotice: () => {},
    connection: { TimeZone: 'Asia/Kolkata' },
    transform: postgres.pascal,
    types: { bigint: postgres.BigInt },
  })
}

export const POSTGRES_SETTINGS = {
  connectionsMax: 10,
  // Longer than in service: a test that fills tables beside five others waits for the disk at times.
  statementMsMax: 60_000,
  lockMsMax: 2_000,
  waitingMax: 10_000,
  waitMsMax: 10_000,
}
