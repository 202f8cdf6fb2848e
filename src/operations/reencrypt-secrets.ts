import { createSecrets } from '../adapters/webhooks/secrets.ts'
import type { Config } from '../config/config.ts'
import { resealed } from '../core/engine/sealed-secrets.ts'
import { isoTime } from '../core/engine/times.ts'
import { untilRecorded } from '../core/engine/until-recorded.ts'
import type { Needs } from '../core/ports/store.ts'
import { examineSecrets } from './examine-secrets.ts'
import { commandOf } from './findings.ts'
import { readDatabase } from './read-database.ts'

type Deps = Omit<Needs<'webhooks' | 'hooks'>, 'newId'>
/**
 * Encrypts the secrets of every endpoint and hook with SECRETS_KEY, one after the other, while others use and change
 * them. Another run completes an interrupted one. Returns how many, and the command that replaces each first lost one.
 */
export const reencryptSecrets = (config: Config, { store, clock }: Deps) => {
  const { reseal } = createSecrets(config.secretsKey, config.secretsKeyPrevious)
  const rewrite = (tenantId: string, id: string) =>
    untilRecorded(async () => {
      const endpoints = await store.webhooks.list(tenantId)
      const endpoint = endpoints.find(({ webhookEndpointId }) => webhookEndpointId === id)
      const found = endpoint ?? (await store.hooks.find({ tenantId, hookId: id }))
      if (!found) return null
      // Always later, so that another writer that read it before is overtaken.
      const updatedAt = isoTime(Math.max(clock(), Date.parse(found.updatedAt) + 1))
      const changes = { ...resealed(found, clock(), reseal).sealed, updatedAt }
      return 'hookId' in found
        ? store.hooks.change({ ...found, ...changes }, found.updatedAt)
        : store.webhooks.change({ ...found, ...changes }, found.updatedAt)
    })
  return readDatabase(config, async ({ read }) => {
    const { sum, lost } = await examineSecrets(read, config, clock(), rewrite)
    return { ...sum, toReplace: lost.map(commandOf) }
  })
}
