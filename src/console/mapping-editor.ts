import type { Hook, HookTrialResult } from '../shapes/hook.ts'
import { call, type Problem, path } from './api.ts'
import { linesOf } from './dialog.ts'
import { actions, bdi, card, facts, h, refill } from './dom.ts'
import { row, table } from './lists.ts'
import { gated, notify } from './notices.ts'
import { memberOf } from './raw.ts'

const MEMBERS = ['type', 'email', 'externalId', 'name', 'occurredAt', 'idempotencyKey'] as const
type Member = (typeof MEMBERS)[number]
const LABELS: Readonly<Record<Member, string>> = {
  type: 'Type',
  email: 'Email',
  externalId: 'External ID',
  name: 'Name',
  occurredAt: 'Time',
  idempotencyKey: 'Key that tells repeats',
}
/** The map is tried once the reader has not typed for this long. */
const TYPING_MS = 200

const HELP =
  'One per line: /data/email, /fields[type=email]/value, /first + /last, =a text, query:name, or header:name. The first that leads to a text or a number wins.'

/** The map of a hook, tried on its last delivery while it is edited. */
export const mappingEditor = (hookNow: () => Hook, change: (body: object) => Promise<Hook>) => {
  let payload: string | null = null
  let typingTimer = 0
  const tryLater = (): void => {
    clearTimeout(typingTimer)
    typingTimer = setTimeout(tryNow, TYPING_MS)
  }
  const savedPlaces = (member: Member): string => (hookNow().map[member] ?? []).join('\n')
  const fields = MEMBERS.map((member) => {
    const saved = savedPlaces(member)
    const input = h('textarea', {
      name: member,
      value: saved,
      rows: hookNow().map[member]?.length || 1,
      oninput: tryLater,
      'aria-label': `Where it is: ${LABELS[member]}`,
      spellcheck: 'false',
    })
    return { member, input, saved, found: h('output.mono') }
  })
  /** The map as edited. Untouched members are as saved now. */
  const editedMap = () => {
    const places = fields.map(({ member, input, saved }) => {
      const isUntouched = input.value === saved
      return [member, isUntouched ? hookNow().map[member] : linesOf(input.value)]
    })
    return Object.fromEntries(places)
  }
  let trials = 0
  const tryNow = async (): Promise<void> => {
    trials++
    const trial = trials
    if (payload === null) return
    const result = await tryMap(hookNow().hookId, editedMap(), payload)
    // A later trial has begun in the meantime.
    if (trial !== trials) return
    if (result instanceof Error && !result.errors?.length) throw result
    for (const { member, found } of fields) refill(found, bdi(foundText(result, member)))
    showRecognized(result instanceof Error ? undefined : result.activities[0])
  }
  const recognized = h('div', { role: 'status' }, h('p.muted', 'Shown once something has arrived.'))
  let wasOpened = false
  /** The table is behind *Advanced* unless no one was recognized in the last activity. */
  const showRecognized = (activity: HookTrialResult['activities'][number] | undefined): void => {
    const { email, externalId, name } = activity ?? {}
    const isRecognized = Boolean(email ?? externalId)
    refill(
      recognized,
      isRecognized
        ? facts({ Email: bdi(email), 'External ID': bdi(externalId), Name: bdi(name) })
        : h('p.warning', 'No email and no external ID was found. Say where they are.'),
    )
    if (!isRecognized && !wasOpened) advanced.open = true
    wasOpened = true
  }
  const save = async () => {
    const sent = fields.map(({ input }) => input.value)
    await change({ map: editedMap() })
    for (const [i, field] of fields.entries()) field.saved = sent[i] ?? ''
    notify('Saved. It applies from the next delivery on.')
  }
  const rows = fields.map(({ member, input, found }) => row(LABELS[member], input, found))
  const advanced = h(
    'details',
    h('summary', 'Advanced'),
    h('p.muted', HELP),
    table(['What', 'Where it is', 'In the last activity'], rows),
    actions(gated('hooks:write', 'Save the mapping', save)),
  )
  return {
    element: h('section', h('h2.label', 'Recognized in the last activity'), card(recognized, advanced)),
    /** Shows the changes that others saved, except in fields with typed input. */
    follow: (): void => {
      for (const field of fields) {
        if (field.input.value !== field.saved) continue
        field.saved = savedPlaces(field.member)
        field.input.value = field.saved
      }
      tryLater()
    },
    tryOn: (text: string | null): void => {
      payload = text
      tryLater()
    },
  }
}

/** Applies a map to a payload. Returns a refusal, because its errors name the members that are wrong. */
const tryMap = async (hookId: string, map: object, payload: string) => {
  // An array is stored as the member `items` of an object, but the map applies to the array.
  const body = /^\{"items":\[/.test(payload) ? memberOf(payload, 'items') : payload
  try {
    const trial = { body: { body, map } }
    const { value } = await call<HookTrialResult>('POST', path`/hooks/${hookId}/try`, trial)
    return value
  } catch (error) {
    return error as Problem
  }
}

const foundText = (result: HookTrialResult | Problem, member: Member): string => {
  const text =
    result instanceof Error
      ? result.errors.find(({ pointer }) => pointer?.startsWith(`/map/${member}`))?.detail
      : JSON.stringify(result.activities[0]?.[member] ?? undefined)
  return text ?? 'nothing there'
}
