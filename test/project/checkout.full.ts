import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'

type Locked = { readonly engines?: { readonly node?: string }; readonly optional?: true }
const { satisfies } = createRequire(createRequire(import.meta.url).resolve('fastify'))('semver')

t.test('a checkout installs at most 300 packages, and npm warns of none on Node 20.20', async (t) => {
  const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'))
  const { '': _ownPackage, ...packages } = lock.packages as Record<string, Locked>
  const required = Object.entries(packages).filter(([, { optional }]) => !optional)
  const refusing = required.filter(([, { engines }]) => !satisfies('20.20.0', engines?.node ?? '*'))
  t.strictSame(refusing, [])
  t.ok(required.length > 100 && required.length <= 300, `${required.length} packages`)
})

t.test('npm start before npm ci says what is missing', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts }))
  const { status, stderr } = spawnSync('npm', ['start'], { cwd: folder, encoding: 'utf8' })
  t.equal(status, 1)
  t.match(stderr, /^Run npm ci first\.$/m)
})
