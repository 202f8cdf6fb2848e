import type { ClientRequest, IncomingMessage } from 'node:http'
import https from 'node:https'
import { DAY_MS } from '../../core/engine/times.ts'
import type { SendWebhook, Webhook } from '../../core/ports/sending.ts'
import type { Clock } from '../../core/ports/world.ts'
import { atRoot } from '../at-root.ts'
import { http } from '../node-http.ts'
import { type Addresses, RefusedAddress } from './addresses.ts'
import { signatureHeaders } from './signature.ts'

/** Longest body of an answer that is read to its end: only then can the connection be used again. */
const ANSWER_BYTES_MAX = 65_536
const KEPT_BYTES_MAX = 1_024
const IDLE_MS_MAX = 5_000

type Deps = {
  readonly addresses: Addresses
  readonly clock: Clock
  readonly userAgent: string
  /** Time limit for the whole attempt: connecting, sending and reading the whole answer. */
  readonly msMax: number
}

/** Sends webhooks. An answer is 2xx, or an error: redirects are not followed. */
export const createSendWebhook = ({ addresses, clock, userAgent, msMax }: Deps): SendWebhook => {
  const options = { keepAlive: true, timeout: IDLE_MS_MAX }
  const agents = { 'http:': new http.Agent(options), 'https:': new https.Agent(options) }
  const lookups = { 'http:': addresses.lookupFor('http:'), 'https:': addresses.lookupFor('https:') }

  const call = (webhook: Webhook, signal: AbortSignal, isKept: boolean) => {
    const url = new URL(webhook.url)
    const protocol = url.protocol as keyof typeof agents
    const { request } = protocol === 'http:' ? http : https
    const headers = {
      ...webhook.headers,
      'content-type': 'application/json',
      'user-agent': userAgent,
      'webhook-hops': `${webhook.hops}`,
      ...signatureHeaders(webhook, clock()),
    }
    const agent = isKept && agents[protocol]
    const lookup = lookups[protocol]
    const sent = request(url, { method: webhook.method, agent, lookup, headers, signal }).end(webhook.body)
    return answerTo(sent, (address) => addresses.mayKeep(url, address))
  }

  return async (webhook, stop, isKept = true) => {
    const began = performance.now()
    const ending = new AbortController()
    const { signal } = ending
    const onStop = () => ending.abort(new Error('The service is stopping.'))
    const onTimeout = () => ending.abort(new Error(`No complete answer within ${msMax / 1_000} s.`))
    const timer = setTimeout(onTimeout, msMax)
    stop.addEventListener('abort', onStop)
    try {
      if (stop.aborted) onStop()
      const why = addresses.checkUrl(webhook.url)
      if (why !== null) throw new RefusedAddress(`The URL ${why}.`)
      const deliver = async () => {
        // A receiver may close an idle connection at the moment when it is used again.
        const answer = await call(webhook, signal, isKept).catch((error) => {
          if (!error.wasReused) throw error
          return call(webhook, signal, false)
        })
        return resultOf(answer, clock())
      }
      return { ...(await atRoot(deliver)), ms: msSince(began) }
    } catch (error) {
      const failure = signal.aborted ? signal.reason : error
      const result = { status: null, error: inWords(failure), retryAfterMs: null, ms: msSince(began) }
      return failure instanceof RefusedAddress ? { ...result, isRefused: true } : result
    } finally {
      clearTimeout(timer)
      stop.removeEventListener('abort', onStop)
    }
  }
}

const msSince = (began: number) => Math.round(performance.now() - began)

/** An answer. `kept`: the beginning of its body, or null if none of it may be kept. */
type Received = { readonly response: IncomingMessage; readonly kept: Buffer[] | null }
/** The answer, once its body is read up to the limit. Its status counts, even if its body is cut off. */
const answerTo = (request: ClientRequest, mayKeep: (address: string) => boolean): Promise<Received> =>
  new Promise((resolve, reject) => {
    let answer: Received | undefined
    let failure: NodeJS.ErrnoException = new Error('The receiver did not answer HTTP.')
    request.on('response', (response) => {
      const { remoteAddress } = response.socket
      const kept: Buffer[] | null = remoteAddress && mayKeep(remoteAddress) ? [] : null
      answer = { response, kept }
      let bytes = 0
      response
        .on('error', () => {})
        .on('data', (chunk: Buffer) => {
          if (bytes < KEPT_BYTES_MAX) kept?.push(chunk.subarray(0, KEPT_BYTES_MAX - bytes))
          bytes += chunk.length
          if (bytes > ANSWER_BYTES_MAX) response.destroy()
        })
    })
    request.on('error', (error) => {
      failure = error
    })
    request.on('close', () => {
      const wasReused = request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(failure.code ?? '')
      if (answer === undefined) reject(Object.assign(failure, { wasReused }))
      else resolve(answer)
    })
  })

const resultOf = ({ response, kept }: Received, nowMs: number) => {
  const { statusCode: status = 0, headers } = response
  const answer = kept && textOf(kept)
  if (status >= 200 && status < 300) return { status, answer, error: null, retryAfterMs: null }
  const isRedirect = status >= 300 && status < 400
  const error = `The receiver answered ${status}${isRedirect ? '; redirects are not followed' : ''}.`
  return { status, answer, error, retryAfterMs: retryAfterMsOf(headers['retry-after'], nowMs) }
}

/** The text without a character that was cut, and without NUL, which PostgreSQL cannot store. */
const textOf = (kept: readonly Buffer[]): string =>
  new TextDecoder().decode(Buffer.concat(kept), { stream: true }).replaceAll('\0', '\ufffd')

/** Parses a number of seconds or a date. */
const retryAfterMsOf = (header = '', nowMs: number): number | null => {
  const ms = /^\d+$/.test(header) ? 1_000 * Number(header) : Date.parse(header) - nowMs
  return ms > 0 ? Math.min(ms, DAY_MS) : null
}

/** Errors of this file have no code. The messages of others may quote the answer, so that only their codes are used. */
const inWords = ({ code, message }: NodeJS.ErrnoException): string => {
  if (code === undefined) return message
  if (code.startsWith('HPE_')) return `The answer was not valid HTTP (${code}).`
  if (code.startsWith('ERR_SSL_')) return NO_TLS
  return WORDS[code] ?? `The connection failed (${code}).`
}

const CLOSED = 'The receiver closed the connection without an answer.'
const UNREACHABLE = 'The receiver cannot be reached over the network.'
const UNKNOWN_NAME = 'The name of the receiver does not exist in DNS.'
const NO_NAME_SERVER = 'The name of the receiver could not be looked up: DNS did not answer.'
const NO_TLS = 'The receiver could not agree on an encrypted connection. Check that its port is for https.'
const SELF_SIGNED = 'The certificate of the receiver is self-signed.'
const UNTRUSTED =
  'The certificate of the receiver is not trusted: its issuer is unknown, or its chain is incomplete.'
/** What the codes of Node, OpenSSL and c-ares mean for someone who can change the receiver. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The receiver does not accept connections.',
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  ETIMEDOUT: 'The receiver did not answer in time.',
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EHOSTDOWN: UNREACHABLE,
  ENOTFOUND: UNKNOWN_NAME,
  ENODATA: UNKNOWN_NAME,
  ETIMEOUT: NO_NAME_SERVER,
  ESERVFAIL: NO_NAME_SERVER,
  EREFUSED: NO_NAME_SERVER,
  EAI_AGAIN: NO_NAME_SERVER,
  EPROTO: NO_TLS,
  CERT_HAS_EXPIRED: 'The certificate of the receiver has expired.',
  CERT_NOT_YET_VALID: 'The certificate of the receiver is not valid yet.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of the receiver is for another name.',
  DEPTH_ZERO_SELF_SIGNED_CERT: SELF_SIGNED,
  SELF_SIGNED_CERT_IN_CHAIN: SELF_SIGNED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
}
