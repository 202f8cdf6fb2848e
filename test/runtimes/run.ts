// Runs the programs of docs/library.md on Bun and Deno, and mounted in NestJS and Hono, in a folder where npm has installed
// the package and each of them. `node test/runtimes/run.ts`; needs npm's registry, and skips what it cannot get.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { mustServe } from '../support/must-serve.ts'
import { pack, programs, run, runProgram, saveProgram, unusedPort } from '../support/packed.ts'

t.setTimeout(0)

const NODE = [process.execPath]
const TRIALS = [
  { name: 'Bun', packages: ['bun'], command: ['bun'], files: ['first.mjs', 'server.mjs'] },
  { name: 'Deno', packages: ['deno'], command: ['deno', 'run', '-A'], files: ['first.mjs', 'server.mjs'] },
  {
    name: 'NestJS',
    packages: ['@nestjs/core', '@nestjs/common', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'],
    command: NODE,
    files: ['server.mjs', 'nest.mjs'],
  },
  { name: 'Hono', packages: ['hono', '@hono/node-server'], command: NODE, files: ['server.mjs', 'hono.mjs'] },
]

const archive = await pack(t)
/** Of the registry: its address and proxy, for example. */
const npmSettings = process.env as Record<string, string>

for (const { name, packages, command, files } of TRIALS)
  t.test(`the package works with ${name}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'prospect-pages-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const env = { PATH: `${join(folder, 'node_modules/.bin')}:${process.env['PATH']}` }
    const flags = ['--no-audit', '--no-fund', '--fetch-timeout=60000', '--fetch-retries=1']
    const why = await run('npm', ['install', ...flags, archive, ...packages], {
      cwd: folder,
      env: npmSettings,
    }).then(
      () => null,
      (error: unknown) => error,
    )
    if (why !== null) {
      t.comment(`NOT TESTED WITH ${name.toUpperCase()}: ${why}`)
      t.pass('skipped', { skip: `npm cannot install ${packages.join(' ')}` })
      return
    }
    let apiKey = ''
    for (const file of files) {
      const program = programs().find((one) => one.name === file)
      if (program === undefined) throw new Error(`docs/library.md has no ${file}`)
      const port = unusedPort()
      saveProgram(folder, program, port)
      const { stdout, url } = await runProgram(t, [...command, file], port, { cwd: folder, env })
      apiKey = /pp_\w{36}/.exec(stdout)?.[0] ?? apiKey
      if (url === null) t.match(stdout, /createdProspect: true/)
      else await mustServe(t, url, apiKey)
    }
  })
