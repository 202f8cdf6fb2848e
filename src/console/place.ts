import type { Child } from './dom.ts'

/** The reader's location: `#/people/prospect_…?source=crm`. */
export type Place = {
  readonly view: string
  readonly id?: string | undefined
  readonly subId?: string | undefined
  readonly search: URLSearchParams
}
/** A view returns its content, and works until the signal. */
export type View = (place: Place, signal: AbortSignal) => Child | Promise<Child>

type Search = URLSearchParams | Readonly<Record<string, string>>
export const addressOf = (parts: readonly string[], search: Search = {}): string => {
  const given = [...new URLSearchParams(search)].filter(([, value]) => value !== '')
  const query = new URLSearchParams(given).toString()
  return `#/${parts.map(encodeURIComponent).join('/')}${query && `?${query}`}`
}
/** Remembers the opened item without a new view. */
export const replaceAddress = (parts: readonly string[], search: Search): void =>
  history.replaceState(null, '', addressOf(parts, search))
const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
export const placeNow = (): Place => {
  const [path = '', query] = location.hash.replace(/^#\/?/, '').split('?')
  const [view = '', id, subId] = path.split('/').map(decoded)
  return { view: view || 'now', id, subId, search: new URLSearchParams(query) }
}
