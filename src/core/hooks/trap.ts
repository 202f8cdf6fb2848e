import { findInJson, pointerTree } from '../../json/find-in-json.ts'
import { percentDecoded } from './multipart.ts'
import type { Document } from './read-body.ts'

/** How far the headers and the value of a part are looked into. */
const PART_LENGTH_MAX = 2_048

/** Tells whether the trap is filled: the field of a form that people do not see. */
export const trapOf = (field: string): ((document: Document) => boolean) => {
  const pointer = `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`
  const pointers = pointerTree([pointer])
  const pair = pairOf(field)
  const part = partOf(field)
  return ({ textFor, unread }) => {
    if (unread === undefined) {
      const value = findInJson(textFor(pointers), pointers)(pointer) ?? ''
      return !/^(null|false|[\s"[\],]*)$/.test(value)
    }
    const body = unread.toString('latin1')
    return hasFilledPair(body, pair) || hasFilledPart(body, part)
  }
}

/**
 * A body that could not be read, such as a form with too many fields or without an end, is only searched for the field.
 * Each byte is passed over a bounded number of times.
 */
const hasFilledPair = (body: string, pair: RegExp): boolean => {
  for (const [, value = ''] of body.matchAll(pair)) {
    const isFilled = percentDecoded(value.replace(/\+/g, ' ')).toString('latin1').trim() !== ''
    if (isFilled) return true
  }
  return false
}

const hasFilledPart = (body: string, part: RegExp): boolean => {
  for (const found of body.matchAll(part)) {
    const rest = body.slice(found.index, found.index + PART_LENGTH_MAX)
    const headEnd = /\r?\n\r?\n/.exec(rest)
    if (headEnd === null) continue
    const valueOnwards = rest.slice(headEnd.index + headEnd[0].length)
    const isFilled = !/^\s*(\r?\n--|$)/.test(`\n${valueOnwards}`)
    if (isFilled) return true
  }
  return false
}

/** `name=value` of an encoded form, or of one in plain text. Any character of the name may be percent-encoded. */
const pairOf = (field: string): RegExp => {
  const bytes = [...Buffer.from(field)].map((byte) => {
    const hex = byte.toString(16).padStart(2, '0')
    return byte === BLANK ? '(?:\\x20|\\+|%20)' : `(?:\\x${hex}|%${hex})`
  })
  return new RegExp(`(?:^|[&\\r\\n])${bytes.join('')}=([^&\\r\\n]*)`, 'gi')
}
const BLANK = 0x20

/** The header of a part of `multipart/form-data`. */
const partOf = (field: string): RegExp => {
  const escaped = field.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
  const name = [...Buffer.from(escaped)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
  return new RegExp(`^content-disposition:[^\\r\\n]*;[ \\t]*name=(?:"${name}"|${name}(?=[;\\s]))`, 'gim')
}
