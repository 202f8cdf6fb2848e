// The cost of one request, counted instead of timed: `node test/bench/measure-requests.ts`, after `npm run build`. `BENCH_BASES`
// names the folders of other builds to compare with, separated by colons. See README.md, "Requests, counted".
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answerOf, databaseKinds } from '../support/program.ts'
import { type Case, requestCosts } from '../support/request-costs.ts'
import { table } from './table.ts'

const HERE = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const FOLDERS = [...(process.env['BENCH_BASES']?.split(':') ?? []), HERE]
const WARM_UP = 300
const TIMES = 100
const ends: (() => Promise<unknown>)[] = []
const owner = { teardown: (end: () => unknown) => void ends.unshift(async () => end()) } as never

const rows: string[][] = []
for (const kind of databaseKinds())
  for (const callers of [1, 64])
    for (const folder of FOLDERS) {
      const bin = `${folder}/dist/cli/bin.js`
      const { env } = await kind.open(owner)
      const answer = (...args: string[]) => answerOf(args, env, '', bin)
      await answer('migrate')
      const { tenantId } = await answer('tenants', 'create', '--name', 'Tenant')
      const { apiKey } = await answer('keys', 'create', '--tenant', tenantId, '--scope', 'all')
      // Batches are as much work for one caller as other requests for a hundred.
      const cases: Case[] = ['log, known', 'log, new', 'create a page', 'groups', 'read a page']
      const options = { apiKey, bin, callers, times: TIMES, warmUp: Math.ceil(WARM_UP / callers) }
      const sized = { ...options, cases: callers === 1 ? [...cases, 'batch' as const] : cases }
      const plain = await requestCosts(owner, { ...sized, env })
      const counted = await requestCosts(owner, { ...sized, env: { ...env, COUNTS_PROMISES: '1' } })
      for (const [name, { heap, statements, sent, written }] of plain) {
        const { promises = Number.NaN } = counted.get(name) ?? {}
        const kib = heap === null ? '-' : (heap / 1_024).toFixed(1)
        const figures = [promises, statements, sent, written].map((figure) =>
          figure.toFixed(callers > 1 ? 1 : 0),
        )
        rows.push([
          kind.name,
          name,
          `${callers}`,
          folder === HERE ? 'here' : basename(folder),
          ...figures,
          kib,
        ])
      }
    }
rows.sort(([a = '', b = '', c = ''], [d = '', e = '', f = '']) =>
  `${a} ${b} ${c}`.localeCompare(`${d} ${e} ${f}`),
)
const heads = ['', 'case', 'callers', 'build', 'promises', 'statements', 'bytes sent', 'written', 'KiB made']
console.log(table(heads, rows))
for (const end of ends) await end()
process.exit()
