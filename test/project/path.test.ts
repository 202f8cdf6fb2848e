import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { sharedPostgres, whyNoPostgres } from '../support/postgres.ts'
import { NODE } from '../support/program.ts'

type Files = readonly (readonly [file: string, lines: number])[]
const PROGRAM = fileURLToPath(new URL('../support/path.ts', import.meta.url))

// Whoever follows one request reads these. They get fewer, not more, but for a line or two where each operation is declared.
const MOST = {
  log: ['log an activity of a new prospect', 40, 3_900],
  read: ['read a page', 32, 2_990],
} as const

t.test('few files are entered', { skip: whyNoPostgres() ?? false }, async (t) => {
  const postgres = await sharedPostgres()
  t.teardown(postgres.stop)
  // The coverage of the tests would count these calls, too.
  const { NODE_V8_COVERAGE, ...inherited } = process.env
  const env = { ...inherited, DATABASE_URL: await postgres.newDatabase() }
  const { stdout } = await promisify(execFile)(NODE, [PROGRAM], { env })
  const entered = JSON.parse(stdout) as Readonly<Record<keyof typeof MOST, Files>>
  for (const name of ['log', 'read'] as const) {
    const [what, filesMax, linesMax] = MOST[name]
    const files = entered[name]
    const lines = files.reduce((sum, [, lines]) => sum + lines, 0)
    t.comment(`${what}: ${files.length} files, ${lines} lines`)
    t.ok(files.length <= filesMax && lines <= linesMax, what, { files })
  }
})
