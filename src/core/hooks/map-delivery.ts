import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { findInJson, jsonInString, type PointerTree, pointerTree } from '../../json/find-in-json.ts'
import { isLeftover } from '../../json/leftovers.ts'
import { partsOf, textAt } from '../../json/places.ts'
import { elementsFrom } from '../../json/split-json.ts'
import {
  fitsMember,
  type HookMap,
  isAttribute,
  type MapMember,
  MEMBER_LENGTH_MAX,
  placesIn as placesOfMembers,
} from '../../shapes/hook-rules.ts'
import type { RawJson } from '../../shapes/json.ts'
import { sha256 } from '../engine/keys.ts'
import { memoized } from '../engine/memoized.ts'
import { atOnce, mapSharingLoop } from '../engine/share-loop.ts'
import { DAY_MS, isoTime } from '../engine/times.ts'
import type { ShareLoop } from '../ports/world.ts'
import { normalizedTexts } from '../prospects/identifiers.ts'
import { isPlaceholder } from '../prospects/placeholders.ts'
import { type Delivery, headerIn } from './delivery.ts'
import { type Document, documentOf, inStringDocument, jsonDocument, type Warn, written } from './read-body.ts'
import { vendorTimeMs } from './vendor-time.ts'

/** An activity as a delivery describes it. */
export type MappedActivity = {
  readonly type: string
  readonly payload: RawJson
  readonly email?: string | undefined
  readonly externalId?: string | undefined
  readonly name?: string | undefined
  readonly occurredAt?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly attributes?: RawJson
  /** Set if the key is the hash of the body. */
  readonly isKeyOfBody?: true
}
/** What a place of a member has, and the parts of that place. */
type Found = { readonly text: string; readonly parts: readonly string[] }
type Member = MapMember
/** The text at a part of a place, if there is one; the texts of a list, in order of preference. */
type Read = (part: string) => readonly string[]
/** The same at a place, by its parts. */
type Lookup = (parts: readonly string[]) => readonly string[]

type MapperOptions = {
  readonly tenantId?: string
  /** The type if no place leads to one. */
  readonly defaultType?: string
  /** Returns further attributes of a payload, by their names. */
  readonly fieldsIn?: ((payload: RawJson) => ReadonlyMap<string, string>) | null
  readonly shareLoop?: ShareLoop
}

/** Makes activities of deliveries by a map: one, or one for each element of the array that `each` leads to. */
export const mapperOf = (
  map: HookMap,
  each: string | null,
  { tenantId = '', defaultType = 'webhook', fieldsIn = null, shareLoop = atOnce }: MapperOptions = {},
) => {
  const places = new Map(placesOfMembers(map).map(([member, places]) => [member, places.map(partsOf)]))
  const attributeMembers = [...places.keys()].filter(isAttribute)
  const pointers = [...places.values()].flat(2).filter(isPointer)
  const tree = pointerTree(pointers)
  const [list, ...innerLists] = each === null ? [] : listsIn(each)
  const wholeTree = list === undefined ? tree : pointerTree([...pointers, list])
  const innerTrees = innerLists.map((pointer) => ({ pointer, tree: pointerTree([pointer]) }))
  const find = (member: Member, textsOf: Lookup, nowMs: number, warn: Warn): Found | undefined => {
    let kept: Found | undefined
    let unusable: readonly string[] | undefined
    for (const parts of places.get(member) ?? [])
      for (const text of textsOf(parts)) {
        const value = text && memberOf(member, text, nowMs)
        if (text && !value && (text === '0' || !isLeftover(text))) unusable ??= parts
        if (!value) continue
        const found = { text: value, parts }
        // A text that is no address, such as the answer to another question, yields to one.
        if (!isMissing(member, value)) return found
        if (member === 'email' && !isPlaceholder(value)) kept ??= found
      }
    if (member === 'occurredAt' && unusable) warn(`has a time that cannot be used at ${unusable.join(' + ')}`)
    return kept
  }
  /** Those at mapped places, then the other fields. */
  const attributesOf = (payload: RawJson, find: (member: Member) => Found | undefined): RawJson | null => {
    if (attributeMembers.length === 0 && fieldsIn === null) return null
    const texts = new Map<string, string>()
    for (const member of attributeMembers) {
      const found = find(member)
      if (found !== undefined) texts.set(member.slice(member.indexOf('/') + 1), found.text)
    }
    for (const [name, text] of fieldsIn?.(payload) ?? []) if (!texts.has(name)) texts.set(name, text)
    return texts.size === 0 ? null : textsAsJson(texts)
  }
  const activityOf = (document: Document, find: (member: Member) => Found | undefined): MappedActivity => {
    const key = find('idempotencyKey')
    const payload = document.payload()
    const attributes = attributesOf(payload, find)
    return {
      type: find('type')?.text ?? defaultType,
      payload,
      email: find('email')?.text,
      externalId: find('externalId')?.text,
      name: find('name')?.text,
      occurredAt: find('occurredAt')?.text,
      idempotencyKey: key?.text,
      ...(attributes && { attributes }),
      ...(key?.parts.includes(BODY_HASH) && { isKeyOfBody: true }),
    }
  }

  return (
    delivery: Delivery,
    nowMs: number,
    warn: Warn = () => {},
    whole = documentOf(delivery, each, warn),
  ): MappedActivity[] | Promise<MappedActivity[]> => {
    const found = findInJson(whole.textFor(wholeTree), wholeTree, TEXTS_MAX)
    const inBody = readerOf(found)
    const outside = outsideOf(delivery)
    const inWhole: Read = (part) => (isPointer(part) ? inBody(part) : outside(part))
    const ofWhole = (member: Member) => find(member, (parts) => textsAt(parts, inWhole), nowMs, warn)
    const elements = list === undefined ? undefined : elementsIn(found(list))
    if (!elements) return [activityOf(whole, ofWhole)]

    /** Finds a member in an element, else in what is around it. */
    const within = ({ around }: Element, document: Document): Finder => {
      const inElement = readerOf(findInJson(document.textFor(tree), tree, TEXTS_MAX))
      const read: Read = (part) => (isPointer(part) ? inElement(part) : inWhole(part))
      const isOwn = (part: string) => isPointer(part) && inElement(part).length > 0
      const ownTexts = (parts: readonly string[]) => (parts.some(isOwn) ? textsAt(parts, read) : NONE)
      return (member, i) => find(member, ownTexts, nowMs, warn) ?? around(member, i)
    }
    /** Finds a member that several activities share: once for all of them, when it is first needed. */
    const shared = (make: () => Finder): Finder => {
      let finder: Finder | undefined
      const ofMember = memoized((member: Member) => {
        finder ??= make()
        return { found: finder(member, null) }
      })
      return (member, i) => {
        const { found } = ofMember(member)
        if (found === undefined || member !== 'idempotencyKey' || i === null) return found
        return { text: joined(found.text, String(i)), parts: found.parts }
      }
    }
    const mapElements = async (outermost: readonly string[]): Promise<MappedActivity[]> => {
      const around = shared(() => ofWhole)
      let nested: readonly Element[] = outermost.map((text) => ({ tenantId, text, around }))
      for (const { pointer, tree } of innerTrees) {
        const inner = await mapSharingLoop(shareLoop, nested, (element) => {
          const texts = elementsIn(findInJson(element.text, tree, TEXTS_MAX)(pointer))
          const around = shared(() => within(element, elementOf(element.text)))
          return texts?.map((text) => ({ tenantId, text, around })) ?? [element]
        })
        nested = inner.flat()
      }
      if (nested.length > ELEMENTS_MAX) {
        warn(`was stored as one activity: it has more than ${ELEMENTS_MAX} elements`)
        return [activityOf(whole, ofWhole)]
      }
      return mapSharingLoop(shareLoop, nested, (element, i) => {
        const document = elementOf(element.text)
        const finder = within(element, document)
        return activityOf(document, (member) => finder(member, i))
      })
    }
    return mapElements(elements)
  }
}

const textsAsJson = (texts: ReadonlyMap<string, string>): RawJson => {
  const members = Array.from(texts, ([name, text]) => `${JSON.stringify(name)}:${JSON.stringify(text)}`)
  return { rawJson: `{${members}}` }
}

/** The place that stands for the hash of the body. */
const BODY_HASH = 'sha256'
/** Finds a member of the activity at an index; null: of what several activities share. */
type Finder = (member: Member, i: number | null) => Found | undefined
/** The JSON of an element, and where to look for what it lacks. */
type Element = { readonly tenantId: string; readonly text: string; readonly around: Finder }

// `/entry` and `/changes` of /entry/*/changes: the list in the body, then the list in each element of it.
const listsIn = (each: string): string[] => each.split(/\/\*(?=\/|$)/)

const isPointer = (part: string) => part === '' || part.startsWith('/')
/** How many texts a pointer may enter, one within another, if they hold JSON. */
const TEXTS_MAX = 3
const NONE: readonly string[] = []

/** Texts at a place. Of a sum there is one: its parts are the first texts that are usable. */
const textsAt = (parts: readonly string[], read: Read): readonly string[] => {
  const [only = ''] = parts
  if (parts.length === 1 && !only.startsWith('=')) return read(only)
  const sum = textAt(parts, (part) => read(part).find((text) => !isLeftover(text)))
  return sum === undefined ? NONE : [sum]
}

/** Reads the texts at places of a whole delivery; without a document only at those outside of its body. */
export const placesIn = (delivery: Delivery, document: Document | null, tree: PointerTree): Read => {
  const inBody = document && readerOf(findInJson(document.textFor(tree), tree, TEXTS_MAX))
  const outside = outsideOf(delivery)
  return (part) => (isPointer(part) ? (inBody?.(part) ?? NONE) : outside(part))
}

/** The hash of the body, a header, or the parameters of the query that have a name. */
const outsideOf = (delivery: Delivery): Read => {
  let query: readonly (readonly [string, string])[] | undefined
  return (part) => {
    if (part === BODY_HASH) return [hash('sha256', delivery.body, 'base64url')]
    const name = part.slice(part.indexOf(':') + 1)
    if (!part.startsWith('query:')) return headerTexts(delivery, name.toLowerCase())
    query ??= [...new URLSearchParams(delivery.query)]
    const exact = query.filter(([other]) => other === name)
    const same = exact.length > 0 ? exact : query.filter(([other]) => isSameName(other, name))
    return same.map(([, text]) => text)
  }
}
const isSameName = (one: string, other: string) => one.toLowerCase() === other.toLowerCase()
/** Node reads headers as Latin-1; if they are valid UTF-8, the sender meant UTF-8. */
const headerTexts = (delivery: Delivery, name: string): readonly string[] => {
  const header = headerIn(delivery, name)
  if (header === undefined) return NONE
  const bytes = Buffer.from(header, 'latin1')
  return [isUtf8(bytes) && bytes.toString('latin1') === header ? bytes.toString() : header]
}
/** Whether a text is a placeholder, so that the next place is tried. A name or a type may be a word such as `test`. */
const isMissing = (member: Member, text: string): boolean => {
  if (member === 'email' || member === 'externalId')
    return normalizedTexts({ [member]: text })[member] === null
  const isWord = member === 'name' || member === 'type' || isAttribute(member)
  return isWord ? isLeftover(text) : isPlaceholder(text)
}

/** A key made of two: hashed if it would be too long. */
const joined = (first: string, second: string): string => {
  const whole = `${first}:${second}`
  return fitsMember('idempotencyKey', whole) ? whole : `${sha256(first)}:${second}`
}
const elementOf = (text: string): Document =>
  jsonDocument(text) ??
  inStringDocument(text) ??
  written({ body: text.startsWith('"') ? JSON.parse(text) : text })

/** Maximum activities of one delivery. */
const ELEMENTS_MAX = 10_000
/** The elements if this is an array, or a text that holds one; some more of them than there may be. */
const elementsIn = (value = ''): readonly string[] | undefined => {
  const array = value.startsWith('"') ? (jsonInString(value) ?? '') : value
  return array.startsWith('[') ? elementsFrom(array, 0, ELEMENTS_MAX)?.elements : undefined
}

/** A longer text fits no member, however it is escaped. */
const JSON_LENGTH_MAX = 6 * 2 * MEMBER_LENGTH_MAX + 2
/** How many elements of a list of texts are tried. */
const TRIED_MAX = 100
const readerOf =
  (found: ReturnType<typeof findInJson>): Read =>
  (place) => {
    const json = found(place) ?? ''
    if (json.length > JSON_LENGTH_MAX) return NONE
    if (json.startsWith('"')) return [JSON.parse(json)]
    if (json.startsWith('[')) return textsIn(json)
    return /^[-\d]/.test(json) ? [json] : NONE
  }
const textsIn = (array: string): readonly string[] => {
  const { elements } = elementsFrom(array, 0, TRIED_MAX) ?? { elements: [] }
  return elements.filter((json) => json.startsWith('"')).map((json) => JSON.parse(json))
}

/** A text as a member of an activity; null if it does not fit, and so counts as missing. */
const memberOf = (member: Member, text: string, nowMs: number): string | null => {
  if (member !== 'occurredAt') return fitsMember(member, text) ? text : null
  const ms = vendorTimeMs(text)
  return ms >= 0 && ms <= nowMs + DAY_MS ? isoTime(ms) : null
}
