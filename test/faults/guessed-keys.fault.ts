import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { newApiKeyText } from '../../src/core/tenants/api-key-text.ts'
import { startPostgres, whyNoPostgres } from '../support/postgres.ts'
import { databaseAt, seed, startServer } from '../support/program.ts'
import { countOf, requestText, startCrowd } from './crowd.ts'

t.setTimeout(0)
t.test(
  'guessed keys, without a limit, cost no tenant an answer',
  { skip: whyNoPostgres() ?? false },
  async (t) => {
    const postgres = await startPostgres()
    t.teardown(postgres.stop)
    const { env } = databaseAt(await postgres.newDatabase())
    const known = await seed(env)
    const unused = await seed(env)
    const server = await startServer(t, { ...env, FAILED_AUTH_PER_MINUTE: 'none' })
    const request = (apiKey: string) =>
      requestText('POST', '/v0/prospect_logs', apiKey, '{"source":"crm","payload":{}}')
    const one = (apiKey: string, requestsMax: number) =>
      startCrowd(server.url, { callers: 1, requestsMax, request: () => request(apiKey) }).done()
    await one(known.apiKey, 1)

    const guesses = startCrowd(server.url, {
      callers: 200,
      pipelined: 16,
      request: () => request(newApiKeyText()),
    })
    await pause(1_000)
    for (const { apiKey } of [known, unused, known])
      t.strictSame([...(await one(apiKey, 20)).statuses], [[201, 20]])
    const guessed = await guesses.stop()
    t.strictSame([...guessed.statuses.keys()], [401])
    t.comment(`${countOf(guessed)} keys were guessed`)
  },
)
