import { createSecrets } from '../adapters/webhooks/secrets.ts'
import type { Config } from '../config/config.ts'
import { decideAndSave } from '../core/engine/decide-and-save.ts'
import { isoTime, laterThan } from '../core/engine/times.ts'
import type { StoredHook } from '../core/ports/hooks.ts'
import type { Secrets } from '../core/ports/secrets.ts'
import type { Needs } from '../core/ports/store.ts'
import type { StoredEndpoint } from '../core/ports/webhooks.ts'
import { examineSecrets } from './examine-secrets.ts'
import { commandOf } from './findings.ts'
import { readDatabase } from './read-database.ts'
import { resealed } from './reseal.ts'

type Deps = Omit<Needs<'webhooks' | 'hooks'>, 'newId'>
/**
 * Encrypts the secrets of every endpoint and hook with SECRETS_KEY, one after the other, while others use and change
 * them. Another run completes an interrupted one. Returns how many, and the command that replaces each first lost one.
 */
export const reencryptSecrets = (config: Config, { store, clock }: Deps) => {
  const { reseal } = createSecrets(config.secretsKey, config.secretsKeyPrevious)
  const rewrite = (tenantId: string, id: string) =>
    decideAndSave({
      recall: async () => {
        const endpoints = await store.webhooks.list(tenantId)
        const endpoint = endpoints.find(({ webhookEndpointId }) => webhookEndpointId === id)
        return endpoint ?? (await store.hooks.find({ tenantId, hookId: id }))
      },
      decide: (found) => ({ answer: null, change: found && encrypted(found, clock(), reseal) }),
      record: ({ before, after }) =>
        'hookId' in after
          ? store.hooks.change(after, before.updatedAt)
          : store.webhooks.change(after, before.updatedAt),
    })
  return readDatabase(config, async ({ read }) => {
    const { sum, lost } = await examineSecrets(read, config, clock(), rewrite)
    return { ...sum, toReplace: lost.map(commandOf) }
  })
}

const encrypted = (before: StoredEndpoint | StoredHook, nowMs: number, reseal: Secrets['reseal']) => {
  const updatedAt = laterThan(before.updatedAt, isoTime(nowMs))
  return { before, after: { ...before, ...resealed(before, nowMs, reseal).sealed, updatedAt } }
}
