import { existsSync } from 'node:fs'
import { totalmem } from 'node:os'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { startPostgres } from '../support/postgres.ts'
import { removeFolder } from './folders.ts'

export type BenchPostgres = Awaited<ReturnType<typeof startBenchPostgres>>
/** Where a database is, as each driver wants to hear it. */
export type Address = { readonly url: string; readonly folder: string; readonly name: string }

const MIB = 2 ** 20
const ENDING_MS = 500

/** A throwaway PostgreSQL that flushes every commit, with the memory that it would have on a dedicated machine. */
export const startBenchPostgres = async () => {
  const server = await startPostgres({ durable: true })
  const ask = async (url: string, ...statements: string[]) => {
    const sql = openPostgres(url, { max: 1, onnotice: () => {} })
    try {
      for (const statement of statements) await sql.unsafe(statement)
    } finally {
      await sql.end({ timeout: 5 })
    }
  }
  const home = await server.newDatabase()
  // Where the benchmark is interrupted.
  process.once('exit', () => {
    const { folder } = addressOf(home)
    if (!existsSync(folder)) return
    void server.halt('SIGQUIT')
    // It still writes while it ends, and nothing else can be waited for here.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ENDING_MS)
    removeFolder(folder)
  })
  const sharedBuffersMib = Math.min(2_048, Math.floor(totalmem() / 4 / MIB))
  await ask(
    home,
    `alter system set shared_buffers = '${sharedBuffersMib}MB'`,
    "alter system set max_wal_size = '4GB'",
  )
  await server.halt()
  await server.start()

  return {
    version: server.version,
    sharedBuffersMib,
    newDatabase: async (): Promise<Address> => addressOf(await server.newDatabase()),
    /** The same rows again, for one contestant alone. */
    copyOf: async (original: Address, name: string): Promise<Address> => {
      await ask(home, `create database ${name} template ${original.name}`)
      return addressOf(original.url.replace(`/${original.name}?`, `/${name}?`))
    },
    /** So that no measurement pays for the writes of the one before it. */
    checkpoint: () => ask(home, 'checkpoint'),
    stop: server.stop,
  }
}

const addressOf = (url: string): Address => {
  const { pathname, searchParams } = new URL(url)
  return { url, name: pathname.slice(1), folder: searchParams.get('host') ?? '' }
}
