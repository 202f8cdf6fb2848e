import openapi from '../../src/adapters/http/openapi.json' with { type: 'json' }
import { createNewId } from '../../src/adapters/ids.ts'
import { composeApi } from '../../src/compose/api.ts'
import { webhooksOf } from '../../src/compose/service.ts'
import { readConfig } from '../../src/config/config.ts'
import { SCOPES } from '../../src/core/ports/api-keys.ts'
import type { Store } from '../../src/core/ports/store.ts'

/** Bodies of responses by tenant and path. */
export type Answers = Readonly<Record<string, string>>

/** Paths whose response depends on the time of the call or on a key, or repeats that of others. */
const NOT_READ = ['/v0/prospect_log_counts', '/v0/api_keys/self', '/v0/prospects/{prospect_id}/export']
const READS = Object.entries(openapi.paths).flatMap(([path, operations]) =>
  'get' in operations && !NOT_READ.includes(path) ? [path] : [],
)
const LISTS = READS.filter((path) => !path.includes('{'))

/** Reads everything that the API shows on a store: each list, and everything below its items. */
export const readEverything = async (store: Store): Promise<Answers> => {
  const config = readConfig({})
  const newId = createNewId()
  const answers: Record<string, string> = {}
  for (const { tenantId } of await store.tenants.list('', 100)) {
    const { api } = composeApi({
      store,
      clock: Date.now,
      newId,
      background: 'elsewhere',
      keysRememberedMsMax: 0,
      settings: { ...config, rateLimitPerMinute: null },
      webhooks: webhooksOf(config, Date.now),
      publicUrl: null,
      caller: { tenantId, apiKeyId: null, scopes: SCOPES },
      ready: () => store.ready(),
      newRequestId: () => 'request',
      onAnswered: () => {},
      onError: (error) => {
        throw error
      },
    })
    const read = async (target: string, path: string): Promise<void> => {
      const { body, status } = await api({ method: 'GET', target, headers: {}, body: NO_BODY })
      if (status !== 200) throw new Error(`${target}: ${body}`)
      answers[`${tenantId} ${target}`] = String(body)
      const answer = JSON.parse(String(body))
      const below = READS.filter(
        (one) => one.startsWith(`${path}/`) && !one.slice(path.length + 1).includes('/'),
      )
      if (!answer.items) {
        for (const list of below) await read(target + list.slice(path.length), list)
        return
      }
      for (const item of answer.items)
        for (const one of below) {
          const name = one
            .slice(path.length + 2, -1)
            .replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase())
          await read(`${target}/${item[name]}`, one)
        }
    }
    for (const list of LISTS) await read(list, list)
  }
  return answers
}

const NO_BODY = { bytesMax: 0, batchBytesMax: 0, read: async () => Buffer.alloc(0) }
