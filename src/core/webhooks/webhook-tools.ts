import type { Secrets } from '../ports/secrets.ts'
import type { SendWebhook } from '../ports/sending.ts'

/** The dependencies of webhooks besides a store. */
export type WebhookTools = {
  readonly secrets: Secrets
  /** The fault of a URL, such as `must be https`; null if it may be sent to. */
  readonly checkUrl: (url: string) => string | null
  readonly send: SendWebhook
}
