import t from 'tap'
import { readConfig } from '../src/config.ts'
import { DomainFailure, type Fault } from '../src/core/failures.ts'
import { settingsHelp } from '../src/settings.ts'

type Environment = Readonly<Record<string, string | undefined>>

const faultsOf = (environment: Environment): readonly Fault[] => {
  try {
    readConfig(environment)
  } catch (error) {
    if (error instanceof DomainFailure && error.kind === 'invalid_request') return error.facts.errors ?? []
    throw error
  }
  return []
}
const namesOf = (faults: readonly Fault[]) => faults.map(({ parameter }) => parameter).sort()

t.test('without settings the defaults hold, and an empty variable counts as not set', async (t) => {
  const config = readConfig({})
  t.strictSame(config, {
    host: '127.0.0.1',
    port: 8080,
    workers: 1,
    database: { kind: 'sqlite', path: 'data/prospect-pages.db' },
    databasePooler: false,
    databaseDirectUrl: null,
    logLevel: 'info',
    metrics: true,
    namer: null,
    namerMsMax: 10_000,
    namerCallsMax: 4,
    requireIdentity: false,
    rateLimitPerMinute: null,
    failedAuthPerMinute: 60,
    bodyBytesMax: 1_048_576,
    bodyBytesHeldMax: 67_108_864,
    headersMsMax: 10_000,
    requestMsMax: 30_000,
    keepAliveMs: 65_000,
    drainMsMax: 10_000,
    connectionsMax: 10_000,
    unsentBytesMax: 67_108_864,
    requestsInFlightMax: 2_000,
    requestsAtOnceMax: 256,
    queuedCallsMax: 2_000,
    databaseConnectionsMax: 10,
    statementMsMax: 5_000,
    publisherPollMs: 1_000,
    docs: true,
  })
  const empty = Object.fromEntries(settingsHelp().map(({ name }) => [name, '']))
  t.strictSame(readConfig({ ...empty, UNRELATED: 'x' }), config)
})

t.test('what help shows as a default is one', async (t) => {
  const shown = Object.fromEntries(settingsHelp().map(({ name, default: fallback }) => [name, fallback]))
  t.strictSame(readConfig(shown), readConfig({}))
})

const POSTGRES = 'postgres://localhost/db'

/** What goes together with either end of the others' bounds. */
const FITTING = {
  DATABASE_URL: POSTGRES,
  BODY_BYTES_MAX: '1024',
  BODY_BYTES_HELD_MAX: '100000000000',
}
const BOUNDS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  PORT: [0, 65_535],
  WORKERS: [1, 64],
  NAMER_MS_MAX: [1, 600_000],
  NAMER_CALLS_MAX: [1, 1_000],
  RATE_LIMIT_PER_MINUTE: [1, 1_000_000_000],
  FAILED_AUTH_PER_MINUTE: [1, 1_000_000_000],
  BODY_BYTES_MAX: [1_024, 67_108_864],
  BODY_BYTES_HELD_MAX: [2_048, 100_000_000_000],
  HEADERS_MS_MAX: [100, 600_000],
  REQUEST_MS_MAX: [100, 600_000],
  KEEP_ALIVE_MS: [1, 86_400_000],
  DRAIN_MS_MAX: [0, 600_000],
  CONNECTIONS_MAX: [1, 1_000_000],
  UNSENT_BYTES_MAX: [1_048_576, 100_000_000_000],
  REQUESTS_IN_FLIGHT_MAX: [1, 1_000_000],
  REQUESTS_AT_ONCE_MAX: [1, 1_000_000],
  QUEUED_CALLS_MAX: [1, 1_000_000],
  DATABASE_CONNECTIONS_MAX: [1, 1_000],
  STATEMENT_MS_MAX: [100, 600_000],
  PUBLISHER_POLL_MS: [10, 600_000],
}
for (const [name, [min, max]] of Object.entries(BOUNDS))
  t.test(`${name} is a whole number from ${min} to ${max}`, async (t) => {
    const setTo = (value: unknown) => faultsOf({ ...FITTING, [name]: String(value) })
    for (const good of [min, max]) t.strictSame(setTo(good), [], String(good))
    for (const bad of [
      min - 1,
      max + 1,
      '1.5',
      '1e3',
      '0x10',
      ' 2000',
      '2000 ',
      'two',
      '９',
      '9'.repeat(400),
    ]) {
      const [fault, ...more] = setTo(bad)
      t.match(fault, { parameter: name, detail: `must be a whole number from ${min} to ${max}` }, String(bad))
      t.strictSame(more, [])
    }
  })

t.test('no limit of wrong keys is a word, for an empty setting is the default', async (t) => {
  t.equal(readConfig({ FAILED_AUTH_PER_MINUTE: 'none' }).failedAuthPerMinute, null)
  t.equal(readConfig({ FAILED_AUTH_PER_MINUTE: '' }).failedAuthPerMinute, 60)
})

t.test('one body must find its place among those that are held, whoever else holds some', async (t) => {
  const settings = { BODY_BYTES_MAX: '1000000', BODY_BYTES_HELD_MAX: '1999999' }
  t.strictSame(faultsOf(settings), [
    { parameter: 'BODY_BYTES_HELD_MAX', detail: 'must be at least twice BODY_BYTES_MAX' },
  ])
  t.strictSame(faultsOf({ ...settings, BODY_BYTES_HELD_MAX: '2000000' }), [])
})

t.test('every setting but free text is checked', async (t) => {
  const freeText = ['HOST', 'NAMER_MODEL', 'NAMER_API_KEY']
  const checked = settingsHelp()
    .map(({ name }) => name)
    .filter((name) => !freeText.includes(name))
  t.strictSame(
    namesOf(faultsOf(Object.fromEntries(checked.map((name) => [name, '\u0000 nonsense'])))),
    checked.sort(),
  )
})

t.test('all faults are told at once, and none tells the value', async (t) => {
  const environment = {
    PORT: 'secret',
    DATABASE_URL: 'mysql://somebody:secret@localhost/db',
    LOG_LEVEL: 'secret',
    NAMER_URL: 'ftp://somebody:secret@localhost',
    REQUIRE_IDENTITY: 'secret',
    BODY_BYTES_MAX: 'secret',
  }
  const faults = faultsOf(environment)
  t.strictSame(namesOf(faults), Object.keys(environment).sort())
  t.notMatch(JSON.stringify(faults), /secret/)
})

t.test('the database is PostgreSQL, a file or memory, and nothing else', async (t) => {
  const databaseOf = (DATABASE_URL: string) => readConfig({ DATABASE_URL }).database
  const url = 'postgres://somebody:secret@localhost:5432/db?sslmode=require'
  t.strictSame(databaseOf(url), { kind: 'postgres', url })
  t.match(databaseOf('postgresql://localhost/db'), { kind: 'postgres' })
  t.strictSame(databaseOf('sqlite:/var/lib/pages.db'), { kind: 'sqlite', path: '/var/lib/pages.db' })
  t.strictSame(databaseOf('memory:'), { kind: 'memory' })
  const others = [
    'mysql://localhost/db',
    'sqlite:',
    'sqlite',
    'postgres:',
    'postgres://',
    'memory',
    'memory:x',
    'x.db',
  ]
  for (const other of [...others, 'http://localhost', ' memory:', 'POSTGRES_URL'])
    t.strictSame(namesOf(faultsOf({ DATABASE_URL: other })), ['DATABASE_URL'], other)
})

t.test(
  'a password that parts its address is refused, for a piece of it would be taken for a host',
  async (t) => {
    const fine = [
      'postgres://u:p%40%2F%3F%23@h/db',
      'postgres://u@h,g:5433/db?a=b&c=/d',
      'postgres:///db?host=/run',
    ]
    for (const DATABASE_URL of fine) t.strictSame(faultsOf({ DATABASE_URL }), [], DATABASE_URL)
    for (const password of [
      'a@secret',
      'a@secret,b',
      '1/secret',
      '1?secret',
      '1#secret',
      '/secret',
      '%zzsecret',
    ]) {
      const [fault, ...more] = faultsOf({ DATABASE_URL: `postgres://u:${password}@h/db` })
      t.match(fault, {
        parameter: 'DATABASE_URL',
        detail: /@ is written %40, \/ %2F, \? %3F, # %23 and % %25$/,
      })
      t.notMatch(JSON.stringify(fault), 'secret', password)
      t.strictSame(more, [])
    }
  },
)

t.test('a namer needs an address and a model', async (t) => {
  const NAMER_URL = 'https://localhost/v1'
  t.strictSame(readConfig({ NAMER_URL, NAMER_MODEL: 'm' }).namer, {
    url: NAMER_URL,
    model: 'm',
    apiKey: undefined,
  })
  t.match(readConfig({ NAMER_URL, NAMER_MODEL: 'm', NAMER_API_KEY: 'k' }).namer, { apiKey: 'k' })
  t.equal(readConfig({ NAMER_MODEL: 'm', NAMER_API_KEY: 'k' }).namer, null)
  t.strictSame(namesOf(faultsOf({ NAMER_URL })), ['NAMER_MODEL'])
  for (const bad of ['localhost', '/v1', 'https://', 'ftp://localhost', 'http:///v1', 'http://a b'])
    t.strictSame(namesOf(faultsOf({ NAMER_URL: bad, NAMER_MODEL: 'm' })), ['NAMER_URL'], bad)
})

t.test('several workers need a database that they can share', async (t) => {
  t.equal(readConfig({ WORKERS: '2', DATABASE_URL: POSTGRES }).workers, 2)
  for (const DATABASE_URL of ['', 'sqlite:x.db', 'memory:']) {
    t.strictSame(namesOf(faultsOf({ WORKERS: '2', DATABASE_URL })), ['WORKERS'], DATABASE_URL)
    t.strictSame(faultsOf({ WORKERS: '1', DATABASE_URL }), [])
  }
  t.strictSame(namesOf(faultsOf({ WORKERS: '2', DATABASE_URL: 'nonsense' })), ['DATABASE_URL'])
})

t.test('a pooler stands before PostgreSQL, and only then PostgreSQL has another address', async (t) => {
  const DATABASE_URL = 'postgres://pooler/db'
  const DATABASE_DIRECT_URL = POSTGRES
  const DATABASE_POOLER = 'true'
  t.match(readConfig({ DATABASE_URL, DATABASE_POOLER }), { databasePooler: true, databaseDirectUrl: null })
  t.match(readConfig({ DATABASE_URL, DATABASE_POOLER, DATABASE_DIRECT_URL }), {
    database: { url: DATABASE_URL },
    databaseDirectUrl: POSTGRES,
  })
  for (const other of ['sqlite:x.db', 'memory:'])
    t.strictSame(namesOf(faultsOf({ DATABASE_URL: other, DATABASE_POOLER })), ['DATABASE_POOLER'], other)
  t.strictSame(namesOf(faultsOf({ DATABASE_URL, DATABASE_DIRECT_URL })), ['DATABASE_DIRECT_URL'])
  for (const bad of ['sqlite:x.db', 'memory:', 'postgres', 'localhost', 'mysql://localhost/db'])
    t.strictSame(
      namesOf(faultsOf({ DATABASE_URL, DATABASE_POOLER, DATABASE_DIRECT_URL: bad })),
      ['DATABASE_DIRECT_URL'],
      bad,
    )
})

t.test('flags and log levels are words of a list', async (t) => {
  t.equal(readConfig({ REQUIRE_IDENTITY: 'true' }).requireIdentity, true)
  for (const bad of ['1', 'yes', 'TRUE', 'true '])
    t.strictSame(namesOf(faultsOf({ REQUIRE_IDENTITY: bad })), ['REQUIRE_IDENTITY'], bad)
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    t.equal(readConfig({ LOG_LEVEL: level }).logLevel, level)
  t.strictSame(namesOf(faultsOf({ LOG_LEVEL: 'INFO' })), ['LOG_LEVEL'])
})

t.test('figures are there unless METRICS is off', async (t) => {
  t.equal(readConfig({ METRICS: 'off' }).metrics, false)
  for (const wrong of ['false', 'OFF', 'none', '0'])
    t.strictSame(namesOf(faultsOf({ METRICS: wrong })), ['METRICS'], wrong)
})
