import { membersOf } from '../../../json/raw-json.ts'
import { splitAt } from '../../../json/split-json.ts'
import { ITEMS_MAX } from '../../../shapes/slice.ts'
import type { ApiResponse } from '../requests.ts'

/** Calls a target of the API with the key of the request. */
export type Call = (target: string) => Promise<ApiResponse>
type Value = string | number | undefined
/** Reads the resource at these parts of a path. Throws `Refused`. */
export type Read = (parts: readonly Value[], query?: Readonly<Record<string, Value>>) => Promise<Shown>
type Shown = Record<string, unknown>
/** A refusal whose message is for the assistant. */
export class Refused extends Error {}

// Limits in bytes of JSON, so that no result has more than 20 kB.
const LIST_MAX = 17_000
const TEXT_MAX = 400
const LONG_TEXT_MAX = 8_000
const LISTED_TEXT_MAX = 1_500
/** Members that are of no use to an assistant, or of unbounded length. */
const HIDDEN =
  /^(tenantId|brandId|idempotencyKey|actions|footerLinks|scripts|header.*|types|sources|logTypes|description)$/
const WRITTEN_BY_STRANGERS = /^(payload|email|name|externalId|attributes)$/
/** Members that remain JSON text. */
const KEPT_AS_TEXT = /^(payload|content|attributes)$/

/**
 * Reads through the API. A list has as many whole items as fit: it is read again with that limit, so that the cursor is
 * right.
 */
export const readThrough = (call: Call): Read => {
  const read: Read = async (parts, query = {}) => {
    const path = parts.map((part) => encodeURIComponent(String(part).toWellFormed())).join('/')
    const { status, body } = await call(`/v0/${path}?${new URLSearchParams(query as Record<string, string>)}`)
    const text = String(body)
    if (status !== 200) throw new Refused(text)
    const { elements, rest } = splitAt(text, 'items', ITEMS_MAX) ?? { elements: null, rest: '' }
    if (elements === null) return shown(text, LONG_TEXT_MAX)
    const items: Shown[] = []
    let bytes = 0
    for (const element of elements) {
      const item = shown(element, LISTED_TEXT_MAX)
      bytes += bytesOf(item) + 1
      if (bytes > LIST_MAX) return read(parts, { ...query, limit: items.length })
      items.push(item)
    }
    const { nextCursor } = JSON.parse(rest)
    if (nextCursor === undefined) return { items }
    return { items, nextCursor, note: 'There are more: pass nextCursor as cursor.' }
  }
  return read
}

/** A resource for an assistant. A payload, attributes and the content of a page remain JSON text, and long texts are cut. */
const shown = (object: string, longTextMax: number): Shown => {
  const { members } = membersOf(object)
  const all = [...members].filter(([name, { rawJson }]) => !HIDDEN.test(name) && !isWithout(name, rawJson))
  return Object.fromEntries(
    all.map(([name, { rawJson }]) => {
      const isUntrusted = members.has('prospectId') && WRITTEN_BY_STRANGERS.test(name)
      const as = isUntrusted ? `untrusted${name[0]?.toUpperCase()}${name.slice(1)}` : name
      if (KEPT_AS_TEXT.test(name)) return [as, cut(rawJson, longTextMax)]
      if (rawJson.startsWith('{')) return [as, shown(rawJson, longTextMax)]
      const value = JSON.parse(rawJson)
      // The rest of the URL of a webhook endpoint may be a secret.
      if (name === 'url') return [as, cut(new URL(value).origin, TEXT_MAX)]
      return [as, typeof value === 'string' ? cut(value, TEXT_MAX) : value]
    }),
  )
}

/** Most people have no attributes. */
const isWithout = (name: string, rawJson: string) => name === 'attributes' && rawJson === '{}'
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

/** Cuts a text to this many bytes, as measured within JSON. */
const cut = (text: string, max: number): string => {
  let part = text.slice(0, max).toWellFormed()
  let bytes = bytesOf(part)
  while (bytes > max) {
    part = part.slice(0, Math.floor((part.length * max) / bytes)).toWellFormed()
    bytes = bytesOf(part)
  }
  return part.length === text.length ? part : `${part}… (cut: it has ${text.length} characters)`
}
