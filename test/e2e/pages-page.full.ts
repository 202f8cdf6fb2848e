import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { shellFunctions } from '../support/pasted-page.ts'
import { embeddedDatabase, inherited, newFolder, openServer } from '../support/program.ts'

t.setTimeout(0)
const hasShell = spawnSync('bash', ['-c', 'command -v curl']).status === 0

t.test(
  'the life of a page in docs/pages.md works as pasted',
  { skip: hasShell ? false : 'NO BASH OR CURL HERE' },
  async (t) => {
    const { env } = embeddedDatabase(join(newFolder(t), 'test.db'))
    const { apiKey, server } = await openServer(t, { env })
    const page = readFileSync(join(import.meta.dirname, '../../docs/pages.md'), 'utf8')
    const [, life = ''] = /^```sh\n(.*?)^```$/ms.exec(page) ?? []
    const script = shellFunctions() + life
    const bash = spawn('timeout', ['60', 'bash', '-euo', 'pipefail', '-c', `${script}\necho $GROUP $PAGE`], {
      // Names that the reader keeps from the first start.
      env: { ...inherited(), URL: server.url, KEY: apiKey, GROUP: 'mine', PAGE: 'mine' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const printed = (await bash.stdout.setEncoding('utf8').toArray()).join('')
    t.equal(printed, 'published\nready\n2\n1\nscheduled\npublished\nTulips\nnull\narchived\nmine mine\n')
  },
)
