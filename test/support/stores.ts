import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from '../../src/adapters/memory/store.ts'
import { postgresStore } from '../../src/adapters/postgres/store.ts'
import { readMigrations } from '../../src/adapters/read-migrations.ts'
import { sqliteStore } from '../../src/adapters/sqlite/store.ts'
import type { NewLog, ProspectChange, Store } from '../../src/core/ports.ts'
import { openPostgres } from '../../src/adapters/postgres/connect.ts'
import { openDatabase } from '../../src/adapters/sqlite/open.ts'
import { startPostgres, type ThrowawayPostgres, whyNoPostgres } from './postgres.ts'

/** A store under test. `kept` shows what the ports do not: the rows of logs and prospects, oldest first. */
export type TestedStore = {
  readonly store: Store
  /** Another store on the same database, as another process would have it; the same store on memory. */
  readonly another: () => Promise<Store>
  readonly kept: () => Promise<{ prospects: ProspectChange[]; logs: NewLog[] }>
  /** Statements sent so far; null where there are none to count. */
  readonly statements: () => readonly Sent[] | null
  readonly close: () => Promise<void>
}
export type Sent = { readonly text: string; readonly parameters: readonly unknown[] }
/** One of the three kinds. `open` makes a new, empty, migrated one each time. */
export type StoreKind = {
  readonly name: 'memory' | 'sqlite' | 'postgres'
  /** Why it cannot be tested here, or null. */
  readonly skip: string | null
  readonly open: () => Promise<TestedStore>
  /** Ends what the kind itself started. */
  readonly end: () => Promise<void>
}

export const storeKinds = (): readonly StoreKind[] => [memoryKind(), sqliteKind(), postgresKind()]

const memoryKind = (): StoreKind => ({
  name: 'memory',
  skip: null,
  open: async () => {
    const store = memoryStore()
    return {
      store,
      another: async () => store,
      kept: async () => ({ prospects: store.kept.prospects(), logs: store.kept.logs() }),
      statements: () => null,
      close: () => store.close(),
    }
  },
  end: async () => {},
})

const PROSPECTS = `
  select tenant_id, prospect_id, email, email_hash, name, created_at from prospects order by prospect_id`
const LOGS = `
  select tenant_id, prospect_log_id, prospect_id, source, type, payload as payload, email, name, idempotency_key,
    request_hash, created_prospect, created_at
  from prospect_logs order by prospect_log_id`
type LogRow = Omit<NewLog, 'payload'> & { payload: string }
const logOf = (row: LogRow): NewLog => ({
  ...row,
  payload: { rawJson: row.payload },
  createdProspect: Boolean(row.createdProspect),
})

const sqliteKind = (): StoreKind => ({
  name: 'sqlite',
  skip: null,
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
    const path = join(folder, 'test.db')
    const opened: Store[] = []
    const another = async () => {
      const store = sqliteStore({ path, busyMsMax: 5_000 }, readMigrations('sqlite'))
      opened.push(store)
      return store
    }
    const store = await another()
    await store.migrate()
    return {
      store,
      another,
      kept: async () => {
        const database = openDatabase(path, 5_000)
        const prospects = database.all<ProspectChange>(PROSPECTS)
        const logs = database.all<LogRow>(LOGS).map(logOf)
        database.close()
        return { prospects, logs }
      },
      statements: () => null,
      close: async () => {
        for (const store of opened) await store.close()
        rmSync(folder, { recursive: true, force: true })
      },
    }
  },
  end: async () => {},
})

const postgresKind = (): StoreKind => {
  let server: Promise<ThrowawayPostgres> | undefined
  return {
    name: 'postgres',
    skip: whyNoPostgres(),
    open: async () => {
      server ??= startPostgres()
      const url = await (await server).newDatabase()
      const opened: Store[] = []
      const sent: Sent[] = []
      const another = async () => {
        const store = postgresStore(
          {
            ...POSTGRES_SETTINGS,
            url,
            onStatement: (text, parameters) => sent.push({ text, parameters }),
          },
          readMigrations('postgres'),
        )
        opened.push(store)
        return store
      }
      const store = await another()
      await store.migrate()
      return {
        store,
        another,
        kept: async () => {
          const sql = openPostgres(url, { max: 1 })
          const prospects = [...(await sql.unsafe<ProspectChange[]>(PROSPECTS))]
          const logs = await sql.unsafe<LogRow[]>(LOGS.replace('payload as payload', 'payload::text as payload'))
          await sql.end()
          return { prospects, logs: [...logs].map(logOf) }
        },
        statements: () => sent,
        close: async () => {
          for (const store of opened) await store.close()
        },
      }
    },
    end: async () => (await server)?.stop(),
  }
}

export const POSTGRES_SETTINGS = {
  connectionsMax: 10,
  statementMsMax: 5_000,
  lockMsMax: 2_000,
  waitingMax: 10_000,
  waitMsMax: 10_000,
}
