import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../src/config.ts'
import { SETTINGS } from '../src/settings.ts'
import { startPostgres, whyNoPostgres } from './support/postgres.ts'
import { newFolder, runCommand } from './support/program.ts'

const root = new URL('../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const config = readConfig({})
const UNIT = read('deploy/prospect-pages.service')
const COMPOSE = read('deploy/compose.yaml')

/** The values of one directive of the unit. */
const directive = (name: string): string[] =>
  [...UNIT.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value as string)

const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' })
const whyNoSystemd =
  analyze('--version').status === 0 ? false : 'NO SYSTEMD HERE: its unit was not looked at by it'

t.test('systemd understands the unit, and finds it little exposed', { skip: whyNoSystemd }, async (t) => {
  const folder = join(newFolder(t), 'unit')
  mkdirSync(folder)
  const path = join(folder, 'prospect-pages.service')
  writeFileSync(path, UNIT)
  t.match(analyze('verify', path), { status: 0, stderr: '' })
  const judged = analyze('security', '--offline=true', '--threshold=20', '--no-pager', path)
  t.equal(judged.status, 0, judged.stdout.trim().split('\n').at(-1) ?? '')
})

t.test('the unit gives what the settings need, and takes what the service does not', async (t) => {
  for (const [name, value] of [
    ['DynamicUser', 'yes'],
    ['StateDirectory', 'prospect-pages'],
    ['StateDirectoryMode', '0700'],
    ['NoNewPrivileges', 'yes'],
    ['CapabilityBoundingSet', ''],
    ['ProtectSystem', 'strict'],
    ['ProtectHome', 'yes'],
    ['PrivateDevices', 'yes'],
    ['RestrictAddressFamilies', 'AF_INET AF_INET6 AF_UNIX'],
    ['Restart', 'on-failure'],
  ] as const)
    t.strictSame(directive(name), [value], name)
  t.strictSame(directive('MemoryDenyWriteExecute'), [], 'V8 compiles')
  const [files = '', stop = ''] = [directive('LimitNOFILE')[0], directive('TimeoutStopSec')[0]]
  t.ok(Number(files) >= config.connectionsMax + config.databaseConnectionsMax + 64)
  t.ok(Number(stop.replace('s', '')) * 1_000 > config.drainMsMax + 10_000)
  const environment = Object.fromEntries(directive('Environment').map((one) => one.split(/=(.*)/)))
  const { NODE_ENV, ...settings } = environment
  t.equal(NODE_ENV, 'production')
  for (const name of Object.keys(settings)) t.ok(name in SETTINGS, name)
  t.match(readConfig(settings).database, {
    kind: 'sqlite',
    path: '/var/lib/prospect-pages/prospect-pages.db',
  })
})

t.test('the compose file holds no secret, and shuts both containers', async (t) => {
  const [, services = ''] = COMPOSE.split(/^services:$/m)
  const parts =
    services
      .split(/^networks:$/m)[0]
      ?.split(/^ {2}(?=[\w-]+:$)/m)
      .slice(1) ?? []
  t.match(parts, [/^prospect-pages:/, /^postgres:/])
  for (const part of parts) {
    const name = part.split(':')[0]
    for (const line of [
      'restart: unless-stopped',
      'read_only: true',
      'cap_drop:\n      - ALL',
      'security_opt:\n      - no-new-privileges:true',
    ])
      t.ok(part.includes(`    ${line}\n`), `${name}: ${line}`)
    for (const [, value] of part.matchAll(/^\s+\w*PASSWORD: (.*)$/gm))
      t.match(value, /^\$\{POSTGRES_PASSWORD:\?[^}]+\}$/, `${name}: from the environment, and required`)
  }
  const [service = '', postgres = ''] = parts
  t.match(service, /condition: service_healthy/)
  t.match(read('Containerfile'), /^HEALTHCHECK /m, 'the service brings its own health check')
  t.match(postgres, /healthcheck:\n\s+test: \[CMD, pg_isready/)
  t.match(postgres, /volumes:\n\s+- postgres:/)
  t.notMatch(postgres, /ports:/)
  for (const [, address] of service.matchAll(/^ {6}- (\S+):8080:8080$/gm)) t.equal(address, '127.0.0.1')
  const grace = Number(/stop_grace_period: (\d+)s/.exec(service)?.[1])
  t.ok(grace * 1_000 > config.drainMsMax + 10_000)
  t.match(read('.gitignore'), /^\.env$/m)
  const own = [...service.matchAll(/^ {6}([A-Z_]+): (.*)$/gm)].filter(([, name]) => name !== 'PGPASSWORD')
  const settings = Object.fromEntries(own.map(([, name, value]) => [name, value]))
  for (const name of Object.keys(settings)) t.ok(name in SETTINGS, name)
  t.match(readConfig(settings), { database: { kind: 'postgres' }, wrongKeysPerMinute: null })
})

t.test(
  'a password that stands apart from the address is used',
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const file = join(newFolder(t), 'password')
    // PostgreSQL may run as another user.
    spawnSync('chmod', ['755', join(file, '..')])
    writeFileSync(file, 'apart\n')
    process.env['PGPASSWORD'] = 'apart'
    const postgres = await startPostgres({ initdb: ['-A', 'scram-sha-256', `--pwfile=${file}`] })
    t.teardown(postgres.stop)
    const DATABASE_URL = await postgres.newDatabase()
    delete process.env['PGPASSWORD']
    t.match(await runCommand(['migrate'], { DATABASE_URL, PGPASSWORD: 'apart' }), { code: 0 })
    t.match(await runCommand(['migrate'], { DATABASE_URL, PGPASSWORD: 'wrong' }), { code: 1 })
  },
)

t.test('the files for nginx and Caddy go with the defaults of the settings', async (t) => {
  const nginx = read('deploy/nginx.conf')
  const caddy = read('deploy/Caddyfile')
  const seconds = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1])
  t.ok(seconds(nginx, /^ {2}keepalive_timeout (\d+)s;$/m) * 1_000 < config.keepAliveMs)
  t.ok(seconds(caddy, /^\s+keepalive (\d+)s$/m) * 1_000 < config.keepAliveMs)
  t.ok(seconds(nginx, /client_max_body_size (\d+)m;/) * 1_048_576 > config.bodyBytesMax)
  t.ok(seconds(caddy, /max_size (\d+)MB/) * 1_000_000 > config.bodyBytesMax)
  t.ok(seconds(nginx, /proxy_read_timeout (\d+)s;/) * 1_000 > 2 * config.statementMsMax)
})

t.test('an image is built from what its file copies, and from nothing else', async (t) => {
  const copied = [...read('Containerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names]) =>
    String(names).split(' '),
  )
  const [first, ...kept] = read('.dockerignore').trim().split('\n')
  t.equal(first, '*')
  t.strictSame(kept.sort(), [...new Set(copied)].map((name) => `!${name}`).sort())
})

t.test('the README names them', async (t) => {
  const readme = read('README.md')
  for (const name of ['Caddyfile', 'compose.yaml', 'nginx.conf', 'prospect-pages.service'])
    t.ok(readme.includes(`(deploy/${name})`), name)
})
