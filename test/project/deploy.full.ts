import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import { llmsText } from '../../src/adapters/http/llms.ts'
import { readConfig } from '../../src/config/config.ts'
import { SECRETS, SETTINGS } from '../../src/config/settings.ts'
import { DESCRIPTION, VERSION } from '../../src/config/version.ts'
import { openScene } from '../support/api.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { newFolder, runProcess } from '../support/program.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const config = readConfig({})
const UNIT = read('deploy/prospect-pages.service')
const COMPOSE = read('deploy/compose.yaml')

/** The values of one directive of the unit. */
const directive = (name: string): string[] =>
  [...UNIT.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value as string)

const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' })
const whyNoSystemd =
  analyze('--version').status === 0 ? false : 'systemd is not installed: the unit was not verified'

t.test('systemd verifies the unit and rates its exposure as low', { skip: whyNoSystemd }, async (t) => {
  const folder = join(newFolder(t), 'unit')
  mkdirSync(folder)
  const path = join(folder, 'prospect-pages.service')
  writeFileSync(path, UNIT)
  t.match(analyze('verify', path), { status: 0, stderr: '' })
  const backup = ['service', 'timer'].map((kind) => join(folder, `prospect-pages-backup.${kind}`))
  for (const unit of backup) writeFileSync(unit, read(`deploy/${unit.slice(folder.length + 1)}`))
  t.match(analyze('verify', ...backup), { status: 0, stderr: '' })
  const judged = analyze('security', '--offline=true', '--threshold=20', '--no-pager', path)
  t.equal(judged.status, 0, judged.stdout.trim().split('\n').at(-1) ?? '')
})

t.test('the unit gives the service what its default settings need', async (t) => {
  const [files = '', stop = ''] = [directive('LimitNOFILE')[0], directive('TimeoutStopSec')[0]]
  t.ok(Number(files) >= config.connectionsMax + config.databaseConnectionsMax + 64)
  t.ok(Number(stop.replace('s', '')) * 1_000 > config.drainMsMax + 10_000)
  const { NODE_ENV, NODE_OPTIONS, MALLOC_MMAP_THRESHOLD_, ...settings } = Object.fromEntries(
    directive('Environment').map((one) => one.split(/=(.*)/)),
  )
  for (const name of Object.keys(settings)) t.ok(name in SETTINGS, name)
  t.match(readConfig(settings).database, { kind: 'sqlite' })
  const [state, backups] = (directive('StateDirectory')[0] ?? '').split(' ')
  const isInside = settings['DATABASE_URL']?.startsWith(`sqlite:/var/lib/${state}/`)
  t.ok(isInside, 'the file is in the only writable folder')
  const [, dir = ''] = /Under systemd, use `BACKUP_DIR=(.*?)`/.exec(read('docs/operations.md')) ?? []
  t.equal(`${state}/${dir}`, backups, 'systemd makes the folder that the guide names for backups')
})

/** Settings as a file of `deploy/` gives them; each `…_FILE` is read from `folder`, by the last part of its path. */
const configOf = (settings: Readonly<Record<string, string>>, folder: string) =>
  readConfig(
    Object.fromEntries(
      Object.entries(settings).map(([name, value]) => {
        const isFile = SECRETS.has(name.replace(/_FILE$/, '')) && name.endsWith('_FILE')
        t.ok(isFile || name in SETTINGS, name)
        return [name, isFile ? join(folder, basename(value)) : value]
      }),
    ),
  )
const pairsIn = (text: string, pattern: RegExp): Record<string, string> =>
  Object.fromEntries([...text.matchAll(pattern)].map(([, name = '', value = '']) => [name, value]))

t.test(
  'the compose file gets its secrets from the files that its comments make, and waits for a drain',
  async (t) => {
    const folder = newFolder(t)
    mkdirSync(join(folder, 'deploy'))
    const [, lines = ''] = /^#\n((?:# {3}.*\n)+?)# {3}cd \.\.\/\.\.$/m.exec(COMPOSE) ?? []
    const made = spawnSync('sh', ['-euc', lines.replace(/^# {3}/gm, '')], { cwd: folder, encoding: 'utf8' })
    t.match(made, { status: 0, stderr: '' })
    const [service = '', postgres = ''] =
      COMPOSE.match(/^ {2}(prospect-pages|postgres):\n(?: {4}.*\n|\n)+/gm) ?? []
    const files = join(folder, 'deploy/secrets')
    const config = configOf(pairsIn(service, /^ {6}([A-Z_]+): (.*)$/gm), files)
    const password = readFileSync(join(files, 'postgres_password'), 'utf8').trim()
    t.match(config.database, {
      kind: 'postgres',
      url: `postgres://prospect_pages:${password}@postgres/prospect_pages`,
    })
    t.equal(config.secretsKey?.length, 32)
    for (const part of [service, postgres])
      for (const [, name] of part.matchAll(/_FILE: \/run\/secrets\/(\w+)$/gm)) {
        t.ok(part.includes(`\n      - ${name}\n`), `${name} is mounted`)
        t.match(COMPOSE, `  ${name}:\n    file: secrets/${name}\n`)
        t.ok(statSync(join(files, `${name}`)).mode & 0o004, 'the users of the containers can read it')
      }
    t.equal(statSync(files).mode & 0o077, 0)
    const grace = Number(/stop_grace_period: (\d+)s/.exec(service)?.[1])
    t.ok(grace * 1_000 > config.drainMsMax + 10_000)
  },
)

t.test('the compose file of the embedded database keeps it, and its backups, in a volume', async (t) => {
  const compose = read('deploy/compose-embedded.yaml')
  const settings = pairsIn(compose, /^ {6}([A-Z_]+): (.*)$/gm)
  t.match(configOf(settings, ''), { backupDir: '/data/backups', failedAuthPerMinute: null })
  t.match(compose, '      - data:/data\n')
  const containerfile = read('Containerfile')
  t.match(containerfile, /DATABASE_URL=sqlite:\/data\//)
  t.match(containerfile, /mkdir -p \/data\/backups && chown -R 1000:0 \/data && chmod -R g=u \/data/)
  const grace = Number(/stop_grace_period: (\d+)s/.exec(compose)?.[1])
  t.ok(grace * 1_000 > config.drainMsMax + 10_000)
})

t.test('one description of the product is everywhere', async (t) => {
  const { api } = await openScene()
  const bodyOf = async (target: string, accept = '*/*') =>
    Buffer.from((await api({ method: 'GET', target, headers: { accept } })).body as string).toString()
  const shown = [
    JSON.parse(read('package.json')).description,
    read('README.md').replaceAll('\n', ' '),
    read('Containerfile'),
    llmsText(''),
    await bodyOf('/openapi.json'),
    await bodyOf('/'),
    await bodyOf('/', 'text/html'),
  ]
  for (const text of shown) t.ok(`${text}`.includes(DESCRIPTION), `${text}`.slice(0, 80))
})

t.test('each pod may use the memory that floods take', async (t) => {
  const [, documentedMb] = /below (\d+) MB in every flood/.exec(read('SECURITY.md')) ?? []
  const limits = [...read('deploy/kubernetes.yaml').matchAll(/limits:\n +memory: (\d+)Gi/g)]
  t.equal(limits.length, 2)
  for (const [, gib] of limits) t.ok(Number(gib) * 1_024 > Number(documentedMb))
})

t.test('a password outside of the URL is used', { skip: whyNoPostgres() ?? false }, async (t) => {
  const file = join(newFolder(t), 'password')
  // PostgreSQL may run as another user, who must be able to read it.
  spawnSync('chmod', ['755', join(file, '..')])
  writeFileSync(file, 'apart\n')
  process.env['PGPASSWORD'] = 'apart'
  const postgres = await startPostgres({ initdb: ['-A', 'scram-sha-256', `--pwfile=${file}`] })
  t.teardown(postgres.stop)
  const DATABASE_URL = await postgres.newDatabase()
  delete process.env['PGPASSWORD']
  t.match(await runProcess(['migrate'], { DATABASE_URL, PGPASSWORD: 'apart' }), { code: 0 })
  t.match(await runProcess(['migrate'], { DATABASE_URL, PGPASSWORD: 'wrong' }), { code: 1 })
})

t.test(
  'in a checkout npx finds the program, offline and unasked, even if it looked before the first build',
  async (t) => {
    const folder = newFolder(t)
    for (const part of ['package.json', 'bin'])
      cpSync(new URL(part, root), join(folder, part), { recursive: true })
    const env = { PATH: process.env['PATH'], HOME: folder, npm_config_offline: 'true' }
    const npx = () => spawnSync('npx', ['prospect-pages', 'tenants'], { cwd: folder, env, encoding: 'utf8' })
    t.match(npx(), { status: 1, stderr: /not built yet: run npm ci/ })
    for (const built of ['first', 'second']) {
      rmSync(join(folder, 'dist'), { recursive: true, force: true })
      mkdirSync(join(folder, 'dist/cli'), { recursive: true })
      writeFileSync(join(folder, 'dist/cli/bin.js'), `console.log('${built}', process.argv[2])`)
      t.match(npx(), { status: 0, stdout: `${built} tenants\n` })
    }
  },
)

t.test('the files for nginx and Caddy fit the default settings', async (t) => {
  const nginx = read('deploy/nginx.conf')
  const caddy = read('deploy/Caddyfile')
  const seconds = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1])
  t.ok(seconds(nginx, /^ {2}keepalive_timeout (\d+)s;$/m) * 1_000 < config.keepAliveMs)
  t.ok(seconds(caddy, /^\s+keepalive (\d+)s$/m) * 1_000 < config.keepAliveMs)
  t.ok(seconds(nginx, /client_max_body_size (\d+)m;/) * 1_048_576 > config.bodyBytesMax)
  t.equal(seconds(nginx, /larger than (\d+) MiB/), seconds(nginx, /client_max_body_size (\d+)m;/))
  t.ok(seconds(caddy, /max_size (\d+)MB/) * 1_000_000 > config.bodyBytesMax)
  t.ok(seconds(nginx, /proxy_read_timeout (\d+)s;/) * 1_000 > 2 * config.statementMsMax)
})

t.test('the file for Kubernetes fits the service: its settings, probes, port, user and drain', async (t) => {
  const parts = read('deploy/kubernetes.yaml').split(/^---$/m)
  const kinds = parts.map((part) => /^kind: (\w+)$/m.exec(part)?.[1])
  t.strictSame(kinds, ['Service', 'Deployment', 'PodDisruptionBudget', 'StatefulSet'])
  const containerfile = read('Containerfile')
  const folder = newFolder(t)
  writeFileSync(join(folder, 'DATABASE_URL'), 'postgres://prospect_pages:secret@postgres/prospect_pages')
  writeFileSync(join(folder, 'SECRETS_KEY'), `${Buffer.alloc(32).toString('base64')}\n`)
  const { call } = await openScene()
  for (const part of [parts[1], parts[3]].map(String)) {
    const all = (pattern: RegExp) => [...part.matchAll(pattern)].map(([, value = '']) => value)
    const settings = pairsIn(part, /^ {12}- name: ([A-Z_]+)\n {14}value: (.*)$/gm)
    t.match(configOf(settings, folder), { failedAuthPerMinute: null, secretsKey: Buffer.alloc(32) })
    for (const path of Object.values(settings).filter((value) => value.startsWith('/run/')))
      t.equal(dirname(path), all(/name: secrets\n {14}mountPath: (.*)$/gm)[0], path)
    t.ok(part.includes('fsGroup: 1000\n'), 'the user can read them')
    const probes = all(/^ {14}path: (.*)$/gm)
    t.strictSame(probes, ['/healthz', '/readyz'])
    for (const target of probes) t.equal((await call(`GET ${target}`)).status, 200, target)
    t.match(containerfile, `EXPOSE ${all(/containerPort: (\d+)/g)[0]}\n`)
    t.match(containerfile, `USER ${all(/runAsUser: (\d+)/g)[0]}:${all(/runAsGroup: (\d+)/g)[0]}\n`)
    t.equal(all(/image: ghcr\.io\/.+:(.+)/g)[0], VERSION)
    const waitS = Number(all(/command: \[sleep, "(\d+)"\]/g)[0] ?? 0)
    const graceS = Number(all(/terminationGracePeriodSeconds: (\d+)/g)[0])
    t.ok((graceS - waitS) * 1_000 > config.drainMsMax + 10_000)
  }
})
