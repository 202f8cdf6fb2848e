import { readFileSync } from 'node:fs'
import inspector from 'node:inspector/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { createLog } from '../../src/adapters/log.ts'
import { compose, createRuntime } from '../../src/compose/service.ts'
import { loadTelemetry } from '../../src/compose/telemetry.ts'
import { readConfig } from '../../src/config/config.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import { createTenant } from '../../src/core/tenants/create-tenant.ts'
import { issueApiKey } from '../../src/core/tenants/issue-api-key.ts'
import { caller } from './program.ts'

// Serves from the database in DATABASE_URL, and prints the files of `src` that a request enters, by its name.

const SRC = new URL('../../src/', import.meta.url).href
const config = readConfig({ DATABASE_URL: process.env['DATABASE_URL'], PORT: '0', LOG_LEVEL: 'error' })
const runtime = await createRuntime(config, createLog('error'), await loadTelemetry(config))
const service = compose(config, runtime)
const port = await service.listen()
await service.start()
const { tenantId } = await createTenant(runtime)({ name: 'T' })
const { apiKey } = await issueApiKey(runtime)({ tenantId, name: null, scopes: SCOPES, lifeMs: null })
const call = caller(`http://127.0.0.1:${port}`, apiKey)

const session = new inspector.Session()
session.connect()
await session.post('Profiler.enable')
// Once: it throws away what is compiled, and a request that is slow meets more of the background.
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
const enteredBy = async (request: () => Promise<unknown>) => {
  await pause(100)
  // Counts start at zero again after each.
  await session.post('Profiler.takePreciseCoverage')
  await request()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const isEntered = ({ functions }: (typeof result)[number]) =>
    functions.some(({ functionName, ranges: [range] }) => range?.count && (functionName || range.startOffset))
  return result
    .filter((script) => script.url.startsWith(SRC) && isEntered(script))
    .map(({ url }) => [url.slice(SRC.length), readFileSync(new URL(url), 'utf8').split('\n').length - 1])
}

const log = (email: string) => () =>
  call('POST', '/v0/prospect_logs', { source: 's', email, payload: {}, idempotencyKey: email })
const { pageGroupId } = (await call('POST', '/v0/page_groups', { name: 'n', title: 't' })).body
const pages = `/v0/page_groups/${pageGroupId}/pages`
const { pageId } = (await call('POST', pages, {})).body
const read = () => call('GET', `${pages}/${pageId}`)
for (const request of [log('a@example.com'), log('b@example.com'), read, read]) await request()
// The background may do something at that moment: of eight requests, what each of them entered.
const byEach = async (requestOf: (i: number) => () => Promise<unknown>) => {
  const each: (readonly unknown[])[][] = []
  for (const i of [1, 2, 3, 4, 5, 6, 7, 8]) each.push(await enteredBy(requestOf(i)))
  const isIn = (files: (readonly unknown[])[], name: unknown) => files.some(([file]) => file === name)
  return each[0]?.filter(([name]) => each.every((files) => isIn(files, name)))
}
const entered = { log: await byEach((i) => log(`new${i}@example.com`)), read: await byEach(() => read) }
process.stdout.write(JSON.stringify(entered))
await service.close()
