import type { WebhookEndpoint } from '../../shapes/webhook.ts'

/** A webhook to send: the bytes of its body are signed with each secret. */
export type Webhook = {
  readonly url: string
  readonly secrets: readonly string[]
  /** Headers sent besides those of every webhook. */
  readonly headers: Readonly<Record<string, string>>
  readonly eventId: string
  readonly method: WebhookEndpoint['method']
  readonly body: string
  /** How many webhooks, one after another, led to this one, including it. */
  readonly hops: number
}
/** A receiver's response: no status if there was none. */
export type WebhookAnswer = {
  readonly status: number | null
  /** Null if it was delivered. */
  readonly error: string | null
  readonly retryAfterMs: number | null
  readonly ms: number
  /** The beginning of its body, if it may be shown. */
  readonly answer?: string | null
  /** Not sent, because this process must not call the address: that is not the fault of the receiver. */
  readonly isRefused?: boolean
}
/** Sends one webhook within its time limit. The connection is kept for others unless `isKept` is false. Never throws. */
export type SendWebhook = (webhook: Webhook, stop: AbortSignal, isKept?: boolean) => Promise<WebhookAnswer>
