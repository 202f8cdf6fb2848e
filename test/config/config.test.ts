import t from 'tap'
import { readConfig } from '../../src/config/config.ts'
import { settingsHelp } from '../../src/config/settings.ts'
import { DomainFailure, type Fault } from '../../src/core/engine/failures.ts'

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
  t.match(config, {
    database: { kind: 'sqlite', path: 'data/prospect-pages.db' },
    databaseDirectUrl: null,
    namer: null,
    requireIdentity: false,
    rateLimitPerMinute: null,
    bodyBytesMax: 1_048_576,
    metrics: true,
  })
  const empty = Object.fromEntries(settingsHelp().map(({ name }) => [name, '']))
  t.strictSame(readConfig({ ...empty, UNRELATED: 'x' }), config)
})

t.test('the default that help shows is the default', async (t) => {
  const shown = Object.fromEntries(settingsHelp().map(({ name, default: fallback }) => [name, fallback]))
  t.strictSame(readConfig(shown), readConfig({}))
})

t.test('a host that webhooks may be sent to has no port', async (t) => {
  const faultsIn = (hosts: string) => faultsOf({ WEBHOOKS_ALLOWED_HOSTS: hosts })
  t.strictSame(faultsIn('receiver,10.0.0.1,fd00::1'), [])
  const detail = 'must be host names or addresses without a port, separated by commas'
  for (const hosts of ['receiver:8080', '10.0.0.1:80', '[fd00::1]'])
    t.strictSame(faultsIn(hosts), [{ detail, parameter: 'WEBHOOKS_ALLOWED_HOSTS' }])
})

const POSTGRES = 'postgres://localhost/db'

t.test('a number is a whole one within its bounds, in plain digits', async (t) => {
  const fitting = {
    DATABASE_URL: POSTGRES,
    BODY_BYTES_MAX: '1024',
    BATCH_BYTES_MAX: '1024',
    BODY_BYTES_HELD_MAX: '100000000000',
  }
  const numbers = settingsHelp().filter(({ name }) => /_(MAX|MS|MINUTE|DAYS)$|^PORT$/.test(name))
  t.ok(numbers.length > 10)
  for (const { name } of numbers) {
    const faultOf = (value: unknown) => {
      const [fault, ...more] = faultsOf({ ...fitting, [name]: String(value) })
      t.strictSame(more, [])
      return fault
    }
    const detail = faultOf('two')?.detail ?? ''
    const [, min = '', max = ''] =
      /^must be a whole number from (\d+) to (\d+)(?:, or none)?$/.exec(detail) ?? []
    t.ok(Number(min) < Number(max), `${name}: ${detail}`)
    for (const good of [min, max]) t.equal(faultOf(good), undefined, `${name}: ${good}`)
    const outside = [Number(min) - 1, Number(max) + 1]
    for (const bad of [...outside, '1.5', '1e3', '0x10', '９', '9'.repeat(400)])
      t.strictSame(faultOf(bad), { parameter: name, detail }, `${name}: ${bad}`)
    for (const bad of [' 2000', '2000 '])
      t.match(faultOf(bad)?.detail, /^has a blank at its (start|end)$/, bad)
  }
})

t.test('no limit of failed authentications is the word none: an empty setting is the default', async (t) => {
  t.equal(readConfig({ FAILED_AUTH_PER_MINUTE: 'none' }).failedAuthPerMinute, null)
  t.equal(readConfig({ FAILED_AUTH_PER_MINUTE: '' }).failedAuthPerMinute, 60)
  t.match(faultsOf({ FAILED_AUTH_PER_MINUTE: '0' }), [{ detail: /, or none$/ }])
  for (const name of ['RATE_LIMIT_PER_MINUTE', 'RETENTION_DAYS']) {
    t.match(faultsOf({ [name]: '0' }), [{ detail: /, or none$/ }])
    for (const given of ['none', '']) t.strictSame(readConfig({ [name]: given }), readConfig({}))
  }
})

t.test('a network has an address and no more bits than that', async (t) => {
  const faultsOfNetwork = (given: string) => namesOf(faultsOf({ WEBHOOKS_ALLOWED_NETWORKS: given }))
  for (const good of ['10.0.0.0/8', '10.0.0.1/32', 'fd00::/8', '::1/128'])
    t.strictSame(faultsOfNetwork(good), [], good)
  for (const bad of ['10.0.0.1/33', '::1/129', '10.0.0.1', 'localhost/8', '10.0.0.0/-8'])
    t.strictSame(faultsOfNetwork(bad), ['WEBHOOKS_ALLOWED_NETWORKS'], bad)
})

t.test('the largest body fits even if another one of its size is held', async (t) => {
  const detail = 'must be at least twice BODY_BYTES_MAX and BATCH_BYTES_MAX'
  for (const [body, batch] of [
    ['1000000', '1024'],
    ['1024', '1000000'],
  ]) {
    const settings = { BODY_BYTES_MAX: body, BATCH_BYTES_MAX: batch, BODY_BYTES_HELD_MAX: '1999999' }
    t.strictSame(faultsOf(settings), [{ parameter: 'BODY_BYTES_HELD_MAX', detail }])
    t.strictSame(faultsOf({ ...settings, BODY_BYTES_HELD_MAX: '2000000' }), [])
  }
})

t.test('every setting but free text is checked', async (t) => {
  const freeText = ['NAMER_MODEL', 'NAMER_API_KEY', 'BACKUP_DIR', 'BACKUP_COMMAND']
  const checked = settingsHelp()
    .map(({ name }) => name)
    .filter((name) => !freeText.includes(name))
  t.strictSame(
    namesOf(faultsOf(Object.fromEntries(checked.map((name) => [name, '\u0000 nonsense'])))),
    checked.sort(),
  )
})

t.test('all faults are reported at once, and none shows the value', async (t) => {
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
  const others = ['mysql://localhost/db', 'sqlite:', 'sqlite', 'postgres:', 'memory', 'memory:x', 'x.db']
  for (const other of [...others, 'http://localhost', ' memory:', 'POSTGRES_URL'])
    t.strictSame(namesOf(faultsOf({ DATABASE_URL: other })), ['DATABASE_URL'], other)
})

t.test('a file that would lie where nobody expects it is refused with the right form', async (t) => {
  const detail = 'must be sqlite:PATH, such as sqlite:data/file.db or sqlite:/srv/file.db, without // or ~'
  for (const form of ['//data/x.db', '//x.db', '//./x.db', '~/x.db', '~', '//~/x.db', '///~/x.db'])
    t.strictSame(faultsOf({ DATABASE_URL: `sqlite:${form}` }), [{ parameter: 'DATABASE_URL', detail }], form)
  for (const path of [
    '///srv/x.db',
    '../x.db',
    './~x.db',
    'data//x.db',
    'x~',
    'a%20b.db',
    '100%.db',
    'a b&c.db',
  ])
    t.match(readConfig({ DATABASE_URL: `sqlite:${path}` }).database, { path })
})

t.test('a path that another program would cut off is refused, with what to write', async (t) => {
  const detailOf = (DATABASE_URL: string) => {
    const [fault, ...others] = faultsOf({ DATABASE_URL })
    t.strictSame([fault?.parameter, others], ['DATABASE_URL', []])
    return fault?.detail
  }
  const form = /^must be sqlite:PATH, such as sqlite:data\/file.db or sqlite:\/srv\/file.db, without /
  for (const path of ['data#1.db', '/srv/C#/x.db', '#', 'x.db#top', 'x.db?mode=rwc', '?', 'file:x.db']) {
    t.match(detailOf(`sqlite:${path}`), form, path)
  }
  for (const path of ['file:x.db', 'file:///srv/x.db', 'file:x.db?mode=ro'])
    t.match(detailOf(path), form, path)
  t.match(detailOf('sqlite:data#1.db'), /without #, .*: rename the file or folder$/)
  t.match(detailOf('sqlite:file:x.db'), /without file:/)
})

t.test('a password with unescaped delimiters is refused, and no part of it is shown', async (t) => {
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
      detail: /@ as %40, \/ as %2F, \? as %3F, # as %23 and % as %25$/,
    })
    t.notMatch(JSON.stringify(fault), 'secret', password)
    t.strictSame(more, [])
  }
})

t.test('a namer needs an address and a model', async (t) => {
  const NAMER_URL = 'https://localhost/v1'
  t.strictSame(readConfig({ NAMER_URL, NAMER_MODEL: 'm' }).namer, {
    url: NAMER_URL,
    model: 'm',
    apiKey: undefined,
    extraBody: undefined,
  })
  t.match(readConfig({ NAMER_URL, NAMER_MODEL: 'm', NAMER_API_KEY: 'k' }).namer, { apiKey: 'k' })
  t.equal(readConfig({ NAMER_MODEL: 'm', NAMER_API_KEY: 'k' }).namer, null)
  const NAMER_EXTRA_BODY = '{"max_tokens":null}'
  t.match(readConfig({ NAMER_URL, NAMER_MODEL: 'm', NAMER_EXTRA_BODY }).namer, {
    extraBody: { max_tokens: null },
  })
  for (const bad of ['null', '[]', '1', '"x"', '{"a":secret}', '{'])
    t.strictSame(faultsOf({ NAMER_EXTRA_BODY: bad }), [
      { parameter: 'NAMER_EXTRA_BODY', detail: 'must be a JSON object' },
    ])
  t.strictSame(namesOf(faultsOf({ NAMER_URL })), ['NAMER_MODEL'])
  for (const bad of ['localhost', '/v1', 'https://', 'ftp://localhost', 'http:///v1', 'http://a b'])
    t.strictSame(namesOf(faultsOf({ NAMER_URL: bad, NAMER_MODEL: 'm' })), ['NAMER_URL'], bad)
})

t.test('a pooler requires PostgreSQL, and a direct address requires a pooler', async (t) => {
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

t.test('a cluster is Citus, and requires PostgreSQL', async (t) => {
  t.equal(readConfig({ DATABASE_URL: POSTGRES }).databaseCluster, null)
  t.equal(readConfig({ DATABASE_URL: POSTGRES, DATABASE_CLUSTER: 'citus' }).databaseCluster, 'citus')
  for (const [DATABASE_URL, DATABASE_CLUSTER] of [
    [POSTGRES, 'Citus'],
    [POSTGRES, 'true'],
    ['sqlite:x.db', 'citus'],
    ['memory:', 'citus'],
  ])
    t.strictSame(namesOf(faultsOf({ DATABASE_URL, DATABASE_CLUSTER })), ['DATABASE_CLUSTER'])
})

t.test('flags and log levels accept only their words', async (t) => {
  t.equal(readConfig({ REQUIRE_IDENTITY: 'true' }).requireIdentity, true)
  for (const bad of ['1', 'yes', 'TRUE', 'true '])
    t.strictSame(namesOf(faultsOf({ REQUIRE_IDENTITY: bad })), ['REQUIRE_IDENTITY'], bad)
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    t.equal(readConfig({ LOG_LEVEL: level }).logLevel, level)
  t.strictSame(namesOf(faultsOf({ LOG_LEVEL: 'INFO' })), ['LOG_LEVEL'])
  t.strictSame(namesOf(faultsOf({ LOG_LEVELS: 'name' })), ['LOG_LEVELS'])
})

t.test('METRICS turns the metrics off', async (t) => {
  t.equal(readConfig({ METRICS: 'off' }).metrics, false)
  for (const wrong of ['false', 'OFF', 'none', '0'])
    t.strictSame(namesOf(faultsOf({ METRICS: wrong })), ['METRICS'], wrong)
})

t.test('a setting with an invisible character or a blank around it is refused by what it has', async (t) => {
  const faultIn = (name: string, value: string) => {
    const [fault, ...more] = faultsOf({ [name]: value })
    t.match([fault?.parameter, more.length], [name, 0], name)
    return fault?.detail
  }
  for (const [value, detail] of [
    ['postgres://db/app\r', 'has a carriage return at its end'],
    ['sqlite:data/a.db\r\n', 'has a carriage return at its end'],
    ['memory:\n', 'has a line end at its end'],
    ['\tsqlite:a.db', 'has a tab at its start'],
    ['sqlite:a.db ', 'has a blank at its end'],
    ['sqlite:a b.db  ', 'has a blank at its end'],
    ['sqlite:a\u200b.db', 'has the invisible character U+200B in it'],
    ['sqlite:\u0000a.db', 'has the invisible character U+0000 in it'],
  ] as const)
    t.equal(faultIn('DATABASE_URL', value), detail)
  for (const { name, default: fallback } of settingsHelp())
    t.equal(faultIn(name, `${fallback}\r`), 'has a carriage return at its end', name)
  t.equal(faultIn('BACKUP_DIR', ' /srv'), 'has a blank at its start')
  t.equal(faultIn('NAMER_API_KEY', 'key\n'), 'has a line end at its end')
  t.match(faultIn('DATABASE_URL', 'sqlite:/srv/a.db?mode=rwc'), / without \?: it takes no parameters$/)
  t.match(faultIn('DATABASE_URL', 'sqlite:a.db?'), / without \?/)
})

t.test('a secret may be in a file, without its last line end', async (t) => {
  const key = Buffer.alloc(32, 7).toString('base64')
  const folder = t.testdir({
    url: 'postgres://me:secret@db/app\n',
    crlf: 'memory:\r\n',
    key,
    empty: '\n',
    two: 'memory:\n\n',
  })
  const file = (name: string) => `${folder}/${name}`
  t.match(readConfig({ DATABASE_URL_FILE: file('url') }).database, { url: 'postgres://me:secret@db/app' })
  t.match(readConfig({ DATABASE_URL_FILE: file('crlf') }).database, { kind: 'memory' })
  const keys = {
    SECRETS_KEY_FILE: file('key'),
    SECRETS_KEY_PREVIOUS_FILE: file('key'),
    NAMER_API_KEY_FILE: file('key'),
  }
  t.match(readConfig(keys), { secretsKey: Buffer.alloc(32, 7), secretsKeyPrevious: Buffer.alloc(32, 7) })
  t.match(
    readConfig({ DATABASE_POOLER: 'true', DATABASE_URL: POSTGRES, DATABASE_DIRECT_URL_FILE: file('url') }),
    {
      databaseDirectUrl: /^postgres/,
    },
  )
  for (const [environment, detail] of [
    [
      { DATABASE_URL: 'memory:', DATABASE_URL_FILE: file('url') },
      'cannot be set together with DATABASE_URL_FILE',
    ],
    [{ DATABASE_URL_FILE: file('none') }, 'cannot be read from the file of DATABASE_URL_FILE (ENOENT)'],
    [{ DATABASE_URL_FILE: folder }, 'cannot be read from the file of DATABASE_URL_FILE (EISDIR)'],
    [{ DATABASE_URL_FILE: file('empty') }, 'is empty in the file of DATABASE_URL_FILE'],
    [{ DATABASE_URL_FILE: file('two') }, 'has a line end at its end'],
  ] as const)
    t.strictSame(faultsOf(environment), [{ parameter: 'DATABASE_URL', detail }])
})

t.test('a variable of libpq has its fault once, whichever addresses use it', async (t) => {
  const both = { DATABASE_URL: POSTGRES, DATABASE_POOLER: 'true', DATABASE_DIRECT_URL: POSTGRES }
  t.match(faultsOf({ ...both, PGSSLMODE: 'bogus' }), [
    { parameter: 'PGSSLMODE', detail: /^has sslmode=bogus: it must be one of disable, / },
  ])
  t.strictSame(faultsOf({ DATABASE_URL: 'memory:', PGSSLMODE: 'bogus' }), [], 'nothing uses it')
})
