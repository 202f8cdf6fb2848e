import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { endPool, openPostgres } from '../../src/adapters/postgres/open.ts'
import { withTimeout } from '../../src/adapters/postgres/with-timeout.ts'
import { explain } from '../../src/cli/refusals.ts'
import { diagnosed } from '../support/doctor.ts'
import { postgresBin, startPostgres, UNPRIVILEGED, whyNoPostgres } from '../support/postgres.ts'
import { newFolder } from '../support/program.ts'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const skip = whyNoPostgres() ?? (hasOpenssl ? false : 'openssl is not installed')
/** An address of this machine for each server, so that all can use one port. */
const address = (number: number) => `127.${1 + (process.pid % 250)}.${(process.pid >> 8) % 250}.${number}`
const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

t.test('TLS to PostgreSQL is as strict as the mode says, as with psql', { skip }, async (t) => {
  const folder = newFolder(t)
  const at = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => {
    const { status, stderr } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
  }
  for (const name of ['ca', 'other'])
    openssl(
      'req',
      '-x509',
      ...EC,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
      '-subj',
      `/CN=${name}`,
      '-days',
      '2',
    )
  const start = async (name: string, number: number, days: string) => {
    const host = address(number)
    writeFileSync(at('names'), `subjectAltName=DNS:db.example.test,IP:${host}\n`)
    openssl(
      'req',
      '-new',
      ...EC,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-subj',
      '/CN=db.example.test',
    )
    const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names']
    openssl('x509', '-req', '-in', `${name}.csr`, ...signed, '-days', days, '-out', `${name}.crt`)
    chmodSync(at(`${name}.key`), 0o600)
    if (process.getuid?.() === 0)
      for (const file of [`${name}.key`, `${name}.crt`]) chownSync(at(file), UNPRIVILEGED, UNPRIVILEGED)
    const files = { ssl: 'on', ssl_cert_file: at(`${name}.crt`), ssl_key_file: at(`${name}.key`) }
    const server = await startPostgres({
      settings: { listen_addresses: host, ...(days === 'none' ? {} : files) },
    })
    t.teardown(server.stop)
    return host
  }
  chmodSync(folder, 0o755)
  const right = await start('right', 2, '2')
  const expired = await start('expired', 3, '-1')
  const plain = address(4)
  const withoutTls = await startPostgres({ settings: { listen_addresses: plain } })
  t.teardown(withoutTls.stop)

  const ask = async (url: string): Promise<string> => {
    const sql = openPostgres(url, { max: 1 })
    try {
      const [row] = await withTimeout(
        sql<{ ssl: boolean }[]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`,
        9_000,
      )
      return row?.ssl ? 'TLS' : 'plain'
    } catch (error) {
      const { text, remedy } = explain(error, 'tenants list')
      return `${text} ${remedy}`
    } finally {
      await endPool(sql, 0)
    }
  }
  const psql = join(postgresBin() ?? '', 'psql')
  const withPsql = (url: string): string => {
    const query = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'
    const { status, stdout } = spawnSync(psql, [url, '-Atc', query], {
      encoding: 'utf8',
      env: { HOME: folder, PGCONNECT_TIMEOUT: '9' },
    })
    return status !== 0 ? 'refused' : stdout.trim() === 't' ? 'TLS' : 'plain'
  }
  const ca = `sslrootcert=${at('ca.crt')}`
  const other = `sslrootcert=${at('other.crt')}`
  const named = (host: string, query: string, name = 'db.example.test') =>
    `postgres://postgres@${name}/postgres?hostaddr=${host}&${query}`
  const byIp = (host: string, query: string) => `postgres://postgres@${host}/postgres?${query}`
  const authority = /sslrootcert=FILE/
  const name = /Hostname\/IP does not match.*Write a host/
  for (const [what, url, ours, theirs] of [
    ['right name, no mode', named(right, ''), 'TLS', 'TLS'],
    ['right name, disable', named(right, 'sslmode=disable'), 'plain', 'plain'],
    ['right name, prefer', named(right, 'sslmode=prefer'), 'TLS', 'TLS'],
    ['right name, require', named(right, 'sslmode=require'), 'TLS', 'TLS'],
    ['right name, verify-ca', named(right, `sslmode=verify-ca&${ca}`), 'TLS', 'TLS'],
    ['right name, verify-full', named(right, `sslmode=verify-full&${ca}`), 'TLS', 'TLS'],
    ['unknown authority, require', byIp(right, 'sslmode=require'), 'TLS', 'TLS'],
    ['unknown authority, verify-ca', named(right, 'sslmode=verify-ca'), authority, 'refused'],
    ['unknown authority, verify-full', named(right, 'sslmode=verify-full'), authority, 'refused'],
    ['other authority, require', named(right, `sslmode=require&${other}`), authority, 'refused'],
    ['other authority, verify-full', named(right, `sslmode=verify-full&${other}`), authority, 'refused'],
    ['other authority, prefer', named(right, `sslmode=prefer&${other}`), 'plain', 'plain'],
    ['wrong name, require', named(right, 'sslmode=require', 'other.example'), 'TLS', 'TLS'],
    ['wrong name, verify-ca', named(right, `sslmode=verify-ca&${ca}`, 'other.example'), 'TLS', 'TLS'],
    ['wrong name, verify-full', named(right, `sslmode=verify-full&${ca}`, 'other.example'), name, 'refused'],
    ['right IP, verify-full', byIp(right, `sslmode=verify-full&${ca}`), 'TLS', 'TLS'],
    ['wrong IP, verify-full', named(right, `sslmode=verify-full&${ca}`, '127.0.0.9'), name, 'refused'],
    ['expired, require', named(expired, 'sslmode=require'), 'TLS', 'TLS'],
    ['expired, verify-ca', named(expired, `sslmode=verify-ca&${ca}`), /expired.*Renew/, 'refused'],
    ['expired, verify-full', named(expired, `sslmode=verify-full&${ca}`), /expired.*Renew/, 'refused'],
    ['no TLS, no mode', byIp(plain, ''), 'plain', 'plain'],
    ['no TLS, prefer', byIp(plain, 'sslmode=prefer'), 'plain', 'plain'],
    ['no TLS, require', byIp(plain, 'sslmode=require'), /offers no TLS.*Turn on ssl/, 'refused'],
    ['no TLS, verify-full', byIp(plain, `sslmode=verify-full&${ca}`), /offers no TLS/, 'refused'],
    [
      'no such file',
      named(right, 'sslmode=verify-full&sslrootcert=/nowhere.pem'),
      /\/nowhere\.pem: no such file/,
      'refused',
    ],
  ] as const) {
    const found = await ask(url)
    t.match(found, ours, what)
    const theirsFound = existsSync(psql) ? withPsql(url) : theirs
    t.equal(theirsFound, theirs, `${what}: psql`)
    t.comment(`| ${what} | ${found} | ${theirsFound} |`)
    if (ours instanceof RegExp && what !== 'no such file') {
      const [check] = (await diagnosed(t, { DATABASE_URL: url })).failed
      t.ok(
        found.toLowerCase().includes(`${check?.remedy}`.toLowerCase()),
        `${what}: doctor has the same remedy`,
      )
    }
  }
})
