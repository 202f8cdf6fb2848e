import { secretsOf } from '../engine/sealed-secrets.ts'
import type { Secrets, StoredEndpoint } from '../ports/webhooks.ts'

type Headers = Readonly<Record<string, string>>

/** How custom headers are stored: their names, and then all of it sealed, with spaces between; null if there are none. */
export const sealedHeaders = (headers: Headers | null, seal: Secrets['seal']): string | null => {
  const names = Object.keys(headers ?? {})
  return names.length === 0 ? null : [...names, seal(JSON.stringify(headers))].join(' ')
}
/** Their names alone. */
export const shownHeaders = (stored: string | null): Headers | null => {
  const names = stored?.split(' ').slice(0, -1)
  return names ? Object.fromEntries(names.map((name) => [name, '•••'])) : null
}

/** What signs webhooks to an endpoint now, and its headers; null if any was encrypted with a key that is lost. */
export const openedOf = (endpoint: StoredEndpoint, nowMs: number, open: Secrets['open']) => {
  const secrets = secretsOf(endpoint, nowMs, open)
  const headers = endpoint.headers === null ? '{}' : open(endpoint.headers.replace(/^.* /, ''))
  return secrets && headers ? { secrets, headers: JSON.parse(headers) as Headers } : null
}
