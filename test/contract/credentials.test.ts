import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { endPool, openPostgres } from '../../src/adapters/postgres/open.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { caller, newFolder, seed, startServer, until } from '../support/program.ts'

const skip = whyNoPostgres() ?? false
const ACTIVITY = { source: 'crm', email: 'ada@example.com', payload: {} }

/** A PostgreSQL whose role `service` needs a password on the socket. */
const withPasswords = () =>
  startPostgres({
    prepare: (folder) => {
      const file = join(folder, 'data/pg_hba.conf')
      writeFileSync(file, `local all service scram-sha-256\n${readFileSync(file, 'utf8')}`)
    },
  })

t.test('a password that is replaced in its file needs no restart', { skip }, async (t) => {
  const postgres = await withPasswords()
  t.teardown(postgres.stop)
  const url = await postgres.newDatabase()
  const admin = openPostgres(url, { max: 1 })
  t.teardown(() => endPool(admin, 1))
  await admin.unsafe("create role service superuser login password 'first'")
  const file = join(newFolder(t), 'url')
  const save = (password: string) => writeFileSync(file, url.replace('postgres@', `service:${password}@`))
  save('first')
  const env = { DATABASE_URL_FILE: file }
  const { apiKey } = await seed({ DATABASE_URL: url })
  const server = await startServer(t, env)
  const call = caller(server.url, apiKey)
  const log = async () => (await call('POST', '/v0/prospect_logs', ACTIVITY)).status
  t.equal(await log(), 201)

  const passwords = ['second', 'third']
  for (const password of passwords) {
    await admin.unsafe(`alter role service password '${password}'`)
    save(password)
    await admin.unsafe("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'service'")
    await until('writes are accepted again', async () => (await log()) === 201)
    for (let n = 0; n < 20; n++) t.equal(await log(), 201)
    await until('it is ready', async () => (await fetch(`${server.url}/readyz`)).ok)
  }

  const refused = server.stderr().match(/password authentication failed/g) ?? []
  t.ok(refused.length <= passwords.length, 'at most one connection is refused for each')

  writeFileSync(file, 'not an address')
  await admin.unsafe("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'service'")
  await until('the last good address counts', async () => (await log()) === 201)
  t.equal(await server.stop(), 0)
  t.notOk(server.stderr().includes('third'), 'no password is logged')
})
