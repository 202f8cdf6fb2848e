import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'

t.setTimeout(0)
type Locked = {
  readonly engines?: { readonly node?: string }
  readonly integrity?: string
  readonly optional?: true
  readonly os?: readonly string[] | string
  readonly hasInstallScript?: true
}
const { satisfies } = createRequire(createRequire(import.meta.url).resolve('c8'))('semver')
const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'))
const { '': root, ...packages } = lock.packages as Record<string, Locked>
const locked = Object.entries(packages)

t.test('each package is locked by its hash, and npm warns of none on Node 20.20', async (t) => {
  const namesOf = (entries: typeof locked) => entries.map(([name]) => name)
  t.strictSame(namesOf(locked.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))), [])
  const required = locked.filter(([, { optional }]) => !optional)
  const refusing = required.filter(([, { engines }]) => !satisfies('20.20.0', engines?.node ?? '*'))
  t.strictSame(namesOf(refusing), [])
})

t.test('no package needs a script at installation, and npm is told to run none', async (t) => {
  const { allowScripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const scripted = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => name)
  t.strictSame(
    scripted.map((name) => name.replace('node_modules/', '')).filter((name) => allowScripts[name] !== false),
    [],
  )
})

t.test('a platform installs its Node and its PostgreSQL alone, from the lock file', async (t) => {
  const { optionalDependencies } = root as unknown as { optionalDependencies: Record<string, string> }
  const names = Object.keys(optionalDependencies)
  t.ok(names.length > 0)
  for (const name of names) t.match([packages[`node_modules/${name}`]?.os].flat(), [/^(linux|darwin)$/], name)
})

/** A folder with the scripts of the checkout, whose build and program only print that they ran. */
const startIn = (t: Test, name = '') => {
  const parent = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  t.teardown(() => rmSync(parent, { recursive: true }))
  const folder = join(parent, name)
  mkdirSync(folder, { recursive: true })
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const build = `mkdir -p dist/cli && cp src/*.ts dist && echo "console.log('started')" >dist/cli/bin.js && echo built`
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ type: 'module', scripts: { ...scripts, build } }),
  )
  writeFileSync(join(folder, 'tsconfig.json'), '{}')
  cpSync(new URL('../../bin/start.js', import.meta.url), join(folder, 'bin/start.js'))
  return { folder, start: () => spawnSync('npm', ['start', '--silent'], { cwd: folder, encoding: 'utf8' }) }
}

t.test('npm start before npm ci says what is missing', async (t) => {
  const { status, stderr } = startIn(t).start()
  t.equal(status, 1)
  t.match(stderr, /^Run npm ci first\.$/m)
})

t.test('npm start builds once, and again if a source is newer than what was built', async (t) => {
  const { folder, start } = startIn(t)
  for (const name of ['src', 'node_modules']) mkdirSync(join(folder, name))
  const source = join(folder, 'src/one.ts')
  const setTime = (path: string, seconds: number) =>
    utimesSync(join(folder, path), Date.now() / 1_000 + seconds, Date.now() / 1_000 + seconds)
  writeFileSync(source, '1')
  for (const minutes of [1, 2]) {
    setTime('src/one.ts', 60 * minutes - 30)
    const first = minutes === 1 ? ' (first start only)' : ''
    t.equal(start().stdout, `Building …${first}\nbuilt\nstarted\n`)
    setTime('dist/cli/bin.js', 60 * minutes)
    t.equal(start().stdout, 'started\n')
  }
})

const page = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
t.test('a checkout is started and upgraded by the lines of README and docs/upgrading.md', async (t) => {
  const { folder: origin } = startIn(t, 'origin')
  const shell = (line: string, cwd: string) => {
    const env = {
      ...process.env,
      GIT_CONFIG_GLOBAL: '/dev/null',
      npm_config_offline: 'true',
      npm_config_loglevel: 'silent',
    }
    const { status, stdout, stderr } = spawnSync('sh', ['-c', line], { cwd, env, encoding: 'utf8' })
    t.equal(status, 0, `${line}: ${stderr}`)
    return stdout
  }
  const commit = (content: string) => {
    writeFileSync(join(origin, 'src/one.ts'), content)
    shell(
      'git add . && git -c user.name=me -c user.email=me@example.com commit --quiet --message change',
      origin,
    )
  }
  for (const name of ['src', 'dependency']) mkdirSync(join(origin, name))
  writeFileSync(join(origin, 'dependency/package.json'), '{"name":"dependency","version":"1.0.0"}')
  writeFileSync(join(origin, '.gitignore'), 'node_modules/\ndist/\n')
  shell('git init --quiet && npm install --save ./dependency && rm -r node_modules', origin)
  commit('1')
  const [, start = ''] = /```sh\n(.*?)\n```/s.exec(page('README.md')) ?? []
  const here = join(origin, '../prospect-pages')
  shell(`git clone --quiet ${origin} ${here}`, origin)
  t.equal(shell(start, here).replace(/^(?!built|started).*\n/gm, ''), 'built\nstarted\n')
  commit('2')
  const [, upgrade = ''] = /In a checkout, stop it, then run `(.*?)`/.exec(page('docs/upgrading.md')) ?? []
  t.equal(shell(upgrade, here).replace(/^(?!built|started).*\n/gm, ''), 'built\nstarted\n')
  t.equal(readFileSync(join(here, 'dist/one.ts'), 'utf8'), '2')
})
