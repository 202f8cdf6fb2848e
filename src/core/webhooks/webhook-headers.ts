import { secretsOf } from '../engine/sealed-secrets.ts'
import type { Secrets, StoredEndpoint } from '../ports/webhooks.ts'

type Headers = Readonly<Record<string, string>>

/** Stored custom headers: their names, and then all of it sealed, separated by spaces; null if there are none. */
export const sealedHeaders = (headers: Headers | null, seal: Secrets['seal']): string | null => {
  const names = Object.keys(headers ?? {})
  return names.length === 0 ? null : [...names, seal(JSON.stringify(headers))].join(' ')
}
/** Only the names of the headers. */
export const shownHeaders = (stored: string | null): Headers | null => {
  const names = stored?.split(' ').slice(0, -1)
  return names ? Object.fromEntries(names.map((name) => [name, '•••'])) : null
}

/** The secrets that sign webhooks to an endpoint now, and its headers; null if one was encrypted with a lost key. */
export const openedOf = (endpoint: StoredEndpoint, nowMs: number, open: Secrets['open']) => {
  const secrets = secretsOf(endpoint, nowMs, open)
  const headers = endpoint.headers === null ? '{}' : open(endpoint.headers.replace(/^.* /, ''))
  return secrets && headers ? { secrets, headers: JSON.parse(headers) as Headers } : null
}
