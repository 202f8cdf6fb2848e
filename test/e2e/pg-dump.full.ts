import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import type { Check } from '../../src/maintenance/check.ts'
import { fillSource, postgresRows } from '../support/moving.ts'
import { postgresBin } from '../support/postgres.ts'
import { answerOf, databaseAt, databaseKinds, inherited, newFolder, runCommand } from '../support/program.ts'

t.setTimeout(0)
const [kind] = databaseKinds().filter(({ name }) => name === 'postgres')
if (kind === undefined) throw new Error('there is a kind on PostgreSQL')
const bin = postgresBin()
const why =
  kind.skip ?? (bin !== null && existsSync(join(bin, 'pg_dump')) ? null : 'NO PG_DUMP HERE: it was not tried')

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
/** The documented command line that starts with this program. */
const commandOf = (program: string): string =>
  new RegExp(`^(?:[A-Z_]+=\\S+ )?${program} [^#\\n]*`, 'm').exec(page)?.[0].trim() ?? ''

/** Runs a line of a shell, with the programs of the PostgreSQL under test before all others. */
const shell = (
  line: string,
  cwd: string,
  env: Record<string, string>,
): Promise<{ code: number | null; said: string }> =>
  new Promise((resolve, reject) => {
    const PATH = `${bin}${delimiter}${process.env['PATH']}`
    const child = spawn('sh', ['-c', line], {
      cwd,
      env: { ...inherited(), ...env, PATH },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, said }))
  })

t.test(
  'PostgreSQL is backed up and restored by the documented commands',
  { skip: why ?? false },
  async (t) => {
    t.teardown(kind.end)
    const folder = newFolder(t)
    const path = join(folder, 'test.db')
    await fillSource(path)
    const DATABASE_URL = String((await kind.open(t)).env['DATABASE_URL'])
    await answerOf(['move', '--from', `sqlite:${path}`, '--to', DATABASE_URL], {})
    const NEW_DATABASE_URL = String((await kind.open(t)).env['DATABASE_URL'])
    const { rows } = databaseAt(DATABASE_URL)
    await rows('create role somewhere_else; grant select on all tables in schema public to somewhere_else')
    for (const program of ['pg_dump', 'pg_restore']) {
      const line = commandOf(program)
      t.match(line, /DATABASE_URL/)
      t.strictSame(await shell(line, folder, { DATABASE_URL, NEW_DATABASE_URL }), { code: 0, said: '' }, line)
      // Where it is restored there need not be the roles that were.
      if (program === 'pg_dump') await rows('drop owned by somewhere_else; drop role somewhere_else')
    }
    t.strictSame(await postgresRows(NEW_DATABASE_URL), await postgresRows(DATABASE_URL))
    t.match(await answerOf(['migrate'], { DATABASE_URL: NEW_DATABASE_URL }), { applied: [] })
    const { code, stdout } = await runCommand(['doctor'], { DATABASE_URL: NEW_DATABASE_URL })
    const checks: Check[] = JSON.parse(stdout).checks
    t.equal(checks.find(({ name }) => name === 'migrations')?.state, 'ok', `${code}`)
  },
)

t.test(
  'a schema named in the address is backed up and restored by the same commands',
  { skip: why ?? false },
  async (t) => {
    t.teardown(kind.end)
    const folder = newFolder(t)
    const written = /Write them as\s+`\?(options=\S+)`/.exec(page)?.[1] ?? ''
    t.match(written, /search_path%3Dapp$/)
    const inSchema = (url: string) => `${url}${url.includes('?') ? '&' : '?'}${written}%20-cwork_mem%3D4MB`
    const plain = String((await kind.open(t)).env['DATABASE_URL'])
    const empty = String((await kind.open(t)).env['DATABASE_URL'])
    const DATABASE_URL = inSchema(plain)
    const NEW_DATABASE_URL = inSchema(empty)
    await databaseAt(plain).rows('create schema app; create schema other; create table other.rows (a int)')
    t.match(await answerOf(['migrate'], { DATABASE_URL }), { applied: ['0001_init.sql'] })
    await answerOf(['tenants', 'create', '--name', 'Acme'], { DATABASE_URL })
    for (const program of ['pg_dump', 'pg_restore']) {
      const line = commandOf(program).replace('pg_dump', 'pg_dump --schema=app')
      t.strictSame(await shell(line, folder, { DATABASE_URL, NEW_DATABASE_URL }), { code: 0, said: '' }, line)
    }
    t.match(await answerOf(['migrate'], { DATABASE_URL: NEW_DATABASE_URL }), { applied: [] })
    t.match(await answerOf(['tenants', 'list'], { DATABASE_URL: NEW_DATABASE_URL }), { name: 'Acme' })
    const schemas = "select nspname as name from pg_namespace where nspname in ('app', 'other')"
    t.strictSame([...(await databaseAt(empty).rows(schemas))], [{ name: 'app' }])
  },
)
