import { secretsOf } from '../engine/sealed-secrets.ts'
import type { Secrets } from '../ports/secrets.ts'
import type { StoredEndpoint } from '../ports/webhooks.ts'

type Headers = Readonly<Record<string, string>>

/** Custom headers as stored: their names, then all of them sealed, separated by spaces; null if there are none. */
export const sealedHeaders = (headers: Headers | null, seal: Secrets['seal']): string | null => {
  const names = Object.keys(headers ?? {})
  return names.length === 0 ? null : [...names, seal(JSON.stringify(headers))].join(' ')
}

const splitStored = (stored: string) => {
  const texts = stored.split(' ')
  return { names: texts.slice(0, -1), sealed: texts.at(-1) ?? '' }
}

/** The headers, sealed again by `reseal`. */
export const resealedHeaders = (stored: string, reseal: (sealed: string) => string): string => {
  const { names, sealed } = splitStored(stored)
  return [...names, reseal(sealed)].join(' ')
}

/** Only the names of the headers. */
export const shownHeaders = (stored: string | null): Headers | null => {
  if (stored === null) return null
  return Object.fromEntries(splitStored(stored).names.map((name) => [name, '•••']))
}

/** The secrets that sign webhooks to an endpoint now, and its headers; null if one was encrypted with a lost key. */
export const openForSending = (endpoint: StoredEndpoint, nowMs: number, open: Secrets['open']) => {
  const secrets = secretsOf(endpoint, nowMs, open)
  const headers = endpoint.headers === null ? '{}' : open(splitStored(endpoint.headers).sealed)
  return secrets && headers ? { secrets, headers: JSON.parse(headers) as Headers } : null
}
