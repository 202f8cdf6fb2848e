import t from 'tap'
import { askOn } from '../../src/adapters/postgres/connect.ts'
import { endPool, openPostgres } from '../../src/adapters/postgres/open.ts'
import { readSizes } from '../../src/adapters/postgres/sizes.ts'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import { databaseAt, runCommand } from '../support/program.ts'

const ROLE = 'sizes_role'

t.test(
  'every role sees the size of a database, and a monitor that of the write-ahead log',
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const server = await sharedPostgres()
    t.teardown(server.stop)
    const url = await server.newDatabase()
    t.equal((await runCommand(['migrate'], { DATABASE_URL: url })).code, 0)
    const { rows } = databaseAt(url)
    await rows(`drop role if exists ${ROLE}`)
    await rows(`create role ${ROLE} login`)
    t.teardown(() => rows(`drop role ${ROLE}`))
    const sizes = async () => {
      const sql = openPostgres(url.replace('postgres@', `${ROLE}@`), { max: 1, prepare: false })
      try {
        return await readSizes(askOn(sql))
      } finally {
        await endPool(sql, 1)
      }
    }
    const [found] = await rows<{ bytes: number }>(
      'select pg_database_size(current_database())::float8 as bytes',
    )
    const seen = await sizes()
    t.equal(seen.journalBytes, null)
    t.ok(Math.abs(seen.databaseBytes - Number(found?.bytes)) < 2 ** 20)
    await rows(`grant pg_monitor to ${ROLE}`)
    t.ok(Number((await sizes()).journalBytes) >= 2 ** 20)
  },
)
