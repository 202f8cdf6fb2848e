import { findInJson, pointerTree } from '../json/find-in-json.ts'
import { isLeftover, partsOf, textAt } from '../json/places.ts'
import type { Hook } from '../shapes/hook.ts'
import { memberOf } from './api.ts'
import { attempt, gated, notify } from './dialog.ts'
import { card, h, table } from './dom.ts'

const MEMBERS = ['type', 'email', 'externalId', 'name', 'occurredAt', 'idempotencyKey'] as const
type Member = (typeof MEMBERS)[number]

const LENGTHS_MAX: Readonly<Record<Member, number>> = {
  type: 100,
  email: 1_000,
  externalId: 255,
  name: 255,
  occurredAt: 100,
  idempotencyKey: 255,
}
/** The text of a value that is a text or a number. */
const textOf = (value = ''): string | undefined =>
  /^("(?!")|-?\d)/.test(value) ? String(JSON.parse(value)) : undefined
/** Whether a text would be taken: it says something, is not too long, and is a time for a time. */
const fits = (member: Member, text: string): boolean => {
  const isTime = /^-?[\d.]+$/.test(text) || !Number.isNaN(Date.parse(text))
  return !isLeftover(text) && [...text].length <= LENGTHS_MAX[member] && (member !== 'occurredAt' || isTime)
}

/** Where the members of an activity are found: tried on the last delivery while it is edited. */
export const mappingOf = (hookNow: () => Hook, change: (body: object) => Promise<Hook>) => {
  let payload: string | null = null
  const inputs = new Map<Member, { readonly input: HTMLTextAreaElement; readonly found: HTMLElement }>()
  const placesIn = (member: Member): string[] =>
    (inputs.get(member)?.input.value ?? '')
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean)
  const keptOf = (member: Member): string => (hookNow().map[member] ?? []).join('\n')
  /** The saved value of each field. */
  const filled = new Map<Member, string>()
  const isTouched = (member: Member) => inputs.get(member)?.input.value !== filled.get(member)
  /** The value of a member. Empty at the whole body, which is never a member. */
  const tryMember = (member: Member): string => {
    const places = placesIn(member)
    const fallback = member === 'type' ? 'webhook' : 'left out'
    const isPart = (part: string) =>
      /^(\/|=.|header:.)/.test(part) || (member === 'idempotencyKey' && part === 'sha256')
    const wrong = places.find((place) => !partsOf(place).every(isPart))
    if (wrong) return `${wrong} must begin with /, = or header:`
    if (places.length === 0) return fallback
    if (payload === null) return 'tried once something has arrived'
    // An array is stored as the `items` of an object, but is searched as it came.
    const text = /^\{"items":\[/.test(payload) ? memberOf(payload, 'items') : payload
    for (const parts of places.map(partsOf)) {
      const outside = parts.find((part) => !/^[/=]/.test(part))
      if (outside !== undefined)
        return outside === 'sha256'
          ? 'the hash of the body'
          : `from the ${outside.replace(':', ' ')}, which is not kept`
      const tree = pointerTree(parts)
      const [found, stored] = [findInJson(text, tree), findInJson(payload, tree)]
      const value = textAt(parts, (part) => textOf(found(part) ?? stored(part)))
      if (value !== undefined && fits(member, value)) return JSON.stringify(value)
    }
    return `nothing there: ${fallback}`
  }
  const tryAll = (): void => {
    for (const [member, { found }] of inputs) found.textContent = tryMember(member)
  }
  const rows = MEMBERS.map((member) => {
    const input = h('textarea', {
      name: member,
      value: keptOf(member),
      rows: Math.max((hookNow().map[member] ?? []).length, 1),
      oninput: tryAll,
      'aria-label': `Places of ${member}`,
      spellcheck: 'false',
    })
    const found = h('output.mono', {}, '')
    inputs.set(member, { input, found })
    filled.set(member, input.value)
    return h('tr', {}, h('td', {}, member), h('td', {}, input), h('td', {}, h('bdi', {}, found)))
  })
  const save = () =>
    attempt(async () => {
      // Untouched members stay unchanged.
      const before = hookNow().map
      const saved = MEMBERS.map((member) => [member, inputs.get(member)?.input.value ?? ''] as const)
      await change({
        map: Object.fromEntries(
          MEMBERS.map((member) => [member, isTouched(member) ? placesIn(member) : before[member]]),
        ),
      })
      for (const [member, value] of saved) filled.set(member, value)
      notify('Saved. It applies from the next delivery on.')
    })
  tryAll()
  const hint =
    'One per line: /data/email, /fields[type=email]/value, /first + /last, =a text, or header:name. The first that leads to a text or a number wins.'
  const element = h(
    'section',
    {},
    h('h2.label', {}, 'Mapping'),
    card(
      h('p.muted', {}, hint),
      table(['Member', 'Places', 'In the last activity'], rows),
      h('div.actions', {}, gated('hooks:write', 'Save the mapping', save)),
    ),
  )
  return {
    element,
    /** Shows changes saved by someone else in the fields without typed input. */
    follow: (): void => {
      for (const [member, { input }] of inputs) {
        if (isTouched(member)) continue
        input.value = keptOf(member)
        filled.set(member, input.value)
      }
      tryAll()
    },
    tryOn: (text: string | null): void => {
      payload = text
      tryAll()
    },
  }
}
