import { createHmac } from 'node:crypto'
import type { Webhook } from '../../core/ports/sending.ts'

export const SECRET_PREFIX = 'whsec_'

/** The headers of one attempt by Standard Webhooks 1.0: its time, and one signature for each secret. */
export const signatureHeaders = ({ eventId, body, secrets }: Webhook, attemptedMs: number) => {
  const timestamp = Math.floor(attemptedMs / 1_000)
  const signatureBy = (secret: string): string => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`).digest('base64')}`
  }
  return {
    'webhook-id': eventId,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': secrets.map(signatureBy).join(' '),
  }
}
