import { type AddressSettings, createAddresses } from '../adapters/webhooks/addresses.ts'
import { createSecrets } from '../adapters/webhooks/secrets.ts'
import { createSendWebhook } from '../adapters/webhooks/send.ts'
import { checkOptions } from '../config/check-options.ts'
import { VERSION } from '../config/version.ts'
import type { Clock } from '../core/ports/world.ts'
import type { WebhookTools } from '../core/webhooks/webhook-tools.ts'

/** How webhooks are sent, and how their secrets are kept. */
export type WebhookOptions = AddressSettings & {
  /** 32 bytes, to encrypt secrets with before they are stored. By default they are stored unencrypted. */
  readonly secretsKey?: Buffer | null | undefined
  /** The key before it, which only decrypts. */
  readonly secretsKeyPrevious?: Buffer | null | undefined
}

/** The time limit of a whole attempt: connecting, sending, and reading the answer. */
const ATTEMPT_MS_MAX = 15_000

/** The tools of the use cases for webhooks. `settings`: the names of the settings that hold the allow-lists. */
export const webhookTools = (options: WebhookOptions = {}, clock: Clock, settings?: string): WebhookTools => {
  const userAgent = `prospect-pages/${VERSION}`
  const checked = checkOptions('webhooks', options)
  const addresses = createAddresses(settings === undefined ? checked : { ...checked, settings })
  return {
    secrets: createSecrets(options.secretsKey ?? null, options.secretsKeyPrevious),
    checkUrl: addresses.checkUrl,
    send: createSendWebhook({ addresses, clock, userAgent, msMax: ATTEMPT_MS_MAX }),
  }
}
