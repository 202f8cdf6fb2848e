import { createHmac } from 'node:crypto'
import type { Api } from '../../src/adapters/http/requests.ts'
import type { Hook, NewHook } from '../../src/shapes/hook.ts'
import { caller } from './api.ts'

/** The secret that most tests sign with. */
export const SECRET = 'made up'
export const SIGNED = {
  hmac: { algorithm: 'sha256', encoding: 'hex', header: 'x-signature' },
  secret: SECRET,
} as const
export const signatureOf = (body: string | Uint8Array, secret = SECRET): string =>
  createHmac('sha256', secret).update(body).digest('hex')

type Posted = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The body of a JSON answer. */
  readonly json: Received
}
type Received = {
  readonly prospectLogIds?: readonly string[]
  readonly replayed?: boolean
  readonly ignored?: string
  readonly code?: string
  readonly detail?: string
}

/** Hooks of the tenant of a key, and what vendors send to them. */
export const hooksOver = (api: Api, apiKey: string) => {
  const call = caller(api, apiKey)
  const create = async (fields: object = {}): Promise<Hook> => {
    const json = { source: 'vendor', verify: SIGNED, ...fields } satisfies Partial<NewHook> | object
    const created = await call('POST /v0/hooks', { json })
    if (created.status !== 201) throw new Error(created.body)
    return created.json as unknown as Hook
  }
  /** As a vendor does: without an API key. */
  const send = async (
    path: string,
    body: string | Uint8Array = '{}',
    headers: Readonly<Record<string, string>> = {},
    method = 'POST',
    bytesMax = 1_048_576,
  ): Promise<Posted> => {
    const bytes = Buffer.from(body)
    const answer = await api({
      method,
      target: path,
      headers: { 'content-type': 'application/json', 'content-length': `${bytes.length}`, ...headers },
      body: { bytesMax, read: async () => bytes },
    })
    const text = String(answer.body)
    return { ...answer, text, json: text.startsWith('{') ? JSON.parse(text) : {} }
  }
  /** With a signature of `SIGNED`. */
  const deliver = ({ path }: Pick<Hook, 'path'>, body: string | Uint8Array, headers: object = {}) =>
    send(path, body, { 'x-signature': signatureOf(body), ...headers })
  /** All that was logged, newest first. */
  const logs = async () => {
    const { body } = await call('GET /v0/prospect_logs?limit=100')
    return JSON.parse(body).items as Record<string, string>[]
  }
  /** The payloads as they are stored, byte for byte. */
  const payloads = async () => {
    const { body } = await call('GET /v0/prospect_logs?limit=100')
    return [...body.matchAll(/"payload":(.*?),"email":/gs)].map(([, payload]) => payload)
  }
  const read = async ({ hookId }: Pick<Hook, 'hookId'>) =>
    (await call(`GET /v0/hooks/${hookId}`)).json as unknown as Hook
  return { call, create, send, deliver, logs, payloads, read }
}
