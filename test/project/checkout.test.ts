import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
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
