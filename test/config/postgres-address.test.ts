import t from 'tap'
import { postgresUrl } from '../../src/config/database-address.ts'
import { readPostgresAddress } from '../../src/config/postgres-address.ts'

const at = (host: string, port = 5432) => ({ host, port, name: host })
const folder = (path: string, port = 5432) => ({ path: `${path}/.s.PGSQL.${port}` })
const read = (uri: string, environment = {}) => readPostgresAddress(uri, environment)
const refusal = (uri: string, environment = {}): string => {
  try {
    read(uri, environment)
    return 'it was read'
  } catch (error) {
    return (error as Error).message
  }
}

t.test("every example of libpq's chapter on connection URIs is read", async (t) => {
  for (const [uri, expected] of [
    ['postgresql://', { servers: [at('localhost')], database: undefined }],
    ['postgresql://localhost', { servers: [at('localhost')] }],
    ['postgresql://localhost:5433', { servers: [at('localhost', 5433)] }],
    ['postgresql://localhost/mydb', { database: 'mydb' }],
    ['postgresql://user@localhost', { user: 'user', password: undefined }],
    ['postgresql://user:secret@localhost', { user: 'user', password: 'secret' }],
    [
      'postgresql://other@localhost/otherdb?connect_timeout=10&application_name=myapp',
      { user: 'other', database: 'otherdb', connectMsMax: 10_000, session: { application_name: 'myapp' } },
    ],
    [
      'postgresql://host1:123,host2:456/somedb?target_session_attrs=any&application_name=myapp',
      { servers: [at('host1', 123), at('host2', 456)], targetSessionAttrs: 'any', database: 'somedb' },
    ],
    [
      'postgresql://user@localhost:5433/mydb?options=-c%20synchronous_commit%3Doff',
      { session: { options: '-c synchronous_commit=off' } },
    ],
    ['postgresql:///mydb?host=localhost&port=5433', { servers: [at('localhost', 5433)], database: 'mydb' }],
    ['postgresql://[2001:db8::1234]/database', { servers: [at('2001:db8::1234')], database: 'database' }],
    ['postgresql:///dbname?host=/var/lib/postgresql', { servers: [folder('/var/lib/postgresql')] }],
    ['postgresql://%2Fvar%2Flib%2Fpostgresql/dbname', { servers: [folder('/var/lib/postgresql')] }],
  ] as const)
    t.match(read(uri), expected, uri)
})

t.test('addresses as vendors document them are read, or refused by what to write instead', async (t) => {
  for (const [uri, expected] of [
    [
      'postgresql://a:b@ep-x.eu.aws.neon.tech/neondb?sslmode=require',
      { ssl: { mode: 'require', checks: 'nothing' } },
    ],
    ['postgres://postgres.ref:b@aws-0-eu.pooler.supabase.com:6543/postgres', { user: 'postgres.ref' }],
    [
      'postgres://app:pw@/app?host=/cloudsql/p:eu:i',
      { servers: [folder('/cloudsql/p:eu:i')], database: 'app' },
    ],
    [
      'postgres://me@x.rds.amazonaws.com/app?sslmode=verify-full&sslrootcert=/etc/ssl/global-bundle.pem',
      { ssl: { mode: 'require', checks: 'host', files: { ca: '/etc/ssl/global-bundle.pem' } } },
    ],
    ['postgres://app:pw@top2.nearest.of.app.internal:5432/app?sslmode=disable', { ssl: { mode: 'disable' } }],
    ['postgres://u:p@ec2-1.compute-1.amazonaws.com:5432/d1', { ssl: { mode: 'prefer' } }],
    ['postgres://app@[::1]:5433/app', { servers: [at('::1', 5433)] }],
    ['postgres://app@%2Ftmp%2Fsocket/app', { servers: [folder('/tmp/socket')] }],
    ['postgres://db.example/app?hostaddr=10.0.0.7', { servers: [{ host: '10.0.0.7', name: 'db.example' }] }],
    [
      'postgres://a,b:5433,[::1]/app',
      { servers: [at('a'), at('b', 5433), at('::1')], targetSessionAttrs: 'read-write' },
    ],
    [
      'postgres://me@h/db?ssl=true&keepalives_idle=30&gssencmode=prefer&channel_binding=disable',
      { session: {} },
    ],
    ['postgres://me@h/db?sslrootcert=system', { ssl: { mode: 'require', checks: 'host', files: {} } }],
    ['postgres://me@h/db?sslmode=require&sslrootcert=/ca', { ssl: { checks: 'authority' } }],
    ['postgres://me@h/db?sslmode=require&sslnegotiation=direct', { ssl: { isDirect: true } }],
    ['postgres://me:p%40%2F@h/d%20b', { password: 'p@/', database: 'd b' }],
    ['postgres://h/db?search_path=app', { session: { search_path: 'app' } }],
  ] as const)
    t.match(read(uri), expected, uri)
  for (const [query, detail] of [
    ['channel_binding=require', /channel_binding\. Remove it: sslmode=verify-full/],
    ['gssencmode=require', /gssencmode\. Remove it: sslmode/],
    ['pgbouncer=true', /pgbouncer\. Remove it: set DATABASE_POOLER=true/],
    ['schema=public', /schema\. Remove it: options=-csearch_path%3DNAME/],
    ['sslpassword=hidden', /sslpassword\. Remove it: it is not supported/],
    ['service=x', /service\. Remove it: it is not supported/],
    ['sslmode=allow', /sslmode=allow: it must be prefer here/],
    ['sslmode=no-verify', /sslmode=no-verify: it must be require here/],
    ['sslmode=verify_full', /sslmode=verify_full: it must be verify-full here/],
    ['sslmode=on', /one of disable, prefer, require, verify-ca, verify-full/],
    ['sslrootcert=system&sslmode=require', /needs sslmode=verify-full/],
    ['sslnegotiation=direct', /needs sslmode=require or higher/],
    ['sslcert=/c', /both sslcert and sslkey/],
    ['target_session_attrs=standby', /use read-write, primary or any/],
    ['target_session_attrs=readwrite', /=readwrite: /],
    ['hostaddr=db', /IP address as hostaddr/],
    ['port=0', /port from 1 to 65535/],
    ['port=1,2', /as many ports/],
    ['connect_timeout=soon', /whole number of seconds/],
    ['sslcrl=/crl.pem', /sslcrl\. Remove it: it is not supported/],
    ['require_auth=md5', /require_auth\. Remove it/],
    ['min_protocol_version=3.0', /min_protocol_version\. Remove it/],
    ['replication=database', /replication\. Remove it/],
    ['client_encoding=latin1', /client_encoding\. Remove it/],
    ['x=%00', /%00/],
  ] as const) {
    t.match(refusal(`postgres://u:hidden@h/db?${query}`), detail, query)
    t.notMatch(refusal(`postgres://u:hidden@h/db?${query}`), /hidden/, query)
  }
  for (const uri of ['postgres://app@::1/app', 'postgres://app@[::1/app', 'postgres://h:port/db'])
    t.match(refusal(uri), /an IPv6 address is written in brackets/, uri)
})

t.test('what an address leaves out comes from the variables of libpq', async (t) => {
  const environment = {
    PGHOST: '/run/postgresql',
    PGPORT: '5433',
    PGUSER: 'me',
    PGPASSWORD: 'secret',
    PGDATABASE: 'app',
    PGSSLMODE: 'verify-ca',
    PGSSLROOTCERT: '/ca.pem',
    PGTARGETSESSIONATTRS: 'primary',
  }
  t.match(read('postgres:///', environment), {
    servers: [folder('/run/postgresql', 5433)],
    user: 'me',
    password: 'secret',
    database: 'app',
    ssl: { mode: 'require', checks: 'authority', files: { ca: '/ca.pem' } },
    targetSessionAttrs: 'primary',
  })
  t.match(read('postgres://you:other@db:5/x?sslmode=disable', environment), {
    servers: [at('db', 5)],
    user: 'you',
    password: 'other',
    database: 'x',
    ssl: { mode: 'disable' },
  })
  t.match(read('postgres://db/x', { PGSSLMODE: 'require' }), { ssl: { mode: 'require' } })
  t.match(refusal('postgres://db/x', { PGSSLMODE: 'allow' }), /sslmode=allow/)
  t.match(refusal('postgres://db/x', { PGCHANNELBINDING: 'require' }), /channel_binding\. Remove it/)
})

t.test('a variable of libpq that is the reason for a refusal is named', async (t) => {
  const named = (uri: string, environment: Record<string, string>) => {
    try {
      return postgresUrl(uri, environment)
    } catch (error) {
      const { parameter = 'the address', message } = error as Error & { parameter?: string }
      return `${parameter} ${message}`
    }
  }
  const others = { PATH: '/bin', PGUSER: 'me', PGPASSWORD: 'hidden', PGSSLROOTCERT: '/ca.pem' }
  for (const [environment, start] of [
    [{ PGSSLMODE: 'bogus' }, 'PGSSLMODE has sslmode=bogus: '],
    [{ PGPORT: '0' }, 'PGPORT must have a port '],
    [{ PGSSLCERT: '/cert.pem' }, 'PGSSLCERT must have both '],
    [{ PGTARGETSESSIONATTRS: 'standby' }, 'PGTARGETSESSIONATTRS has '],
    [{ PGCONNECT_TIMEOUT: 'soon' }, 'PGCONNECT_TIMEOUT must have '],
    [{ PGCHANNELBINDING: 'require' }, 'PGCHANNELBINDING has the parameter channel_binding. Remove it'],
    [{ PGSSLMODE: 'bogus', PGPORT: 'x' }, 'PGPORT '],
  ] as const)
    t.ok(named('postgres://db/app', { ...others, ...environment }).startsWith(start), start)
  t.match(named('postgres://db:0/app', { ...others, PGPORT: '5432' }), /^the address must have a port/)
  t.match(
    named('postgres://db:5/app', { ...others, PGPORT: '0' }),
    /^postgres:/,
    'the address has its own port',
  )
})
