import type { ProspectLog } from '../shapes/prospect-log.ts'
import { type Log, whoDid } from './activity-table.ts'
import { baseUrl, call, memberOf, path } from './api.ts'
import { copy, idOf } from './dialog.ts'
import { absolute, button, facts, h } from './dom.ts'
import { code, pretty } from './json-view.ts'
import { addressOf } from './place.ts'

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
/** Characters that a terminal acts on are escaped: within texts of JSON that is the same. */
const CONTROLS = /[\u007f-\u009f]/g
const escapeOf = (char: string) => `\\u00${char.charCodeAt(0).toString(16)}`
/** The request that logs an activity again. */
const curlOf = (log: Log, payload: string): string => {
  const { source, type, email, externalId, name, occurredAt, idempotencyKey } = log
  const given = Object.entries({ source, type, email, externalId, name, occurredAt, idempotencyKey })
  const members = given
    .filter(([, value]) => value !== null)
    .map(([member, value]) => `"${member}":${JSON.stringify(value)}`)
  const body = `{${[...members, `"payload":${payload}`].join(',')}}`.replace(CONTROLS, escapeOf)
  return `curl -s ${baseUrl()}/v0/prospect_logs -H "x-api-key: $KEY" -H 'content-type: application/json' -d ${quoted(body)}`
}

/** All fields of one activity, in its current state. */
export const activityDetail = async (id: string, signal: AbortSignal, isInTimeline = false) => {
  const { value: log, text } = await call<ProspectLog>('GET', path`/prospect_logs/${id}`, { signal })
  const payload = memberOf(text, 'payload')
  const laterMs = Date.parse(log.createdAt) - Date.parse(log.occurredAt)
  const later =
    laterMs === 0
      ? ''
      : laterMs < 60_000 && laterMs > 0
        ? `, stored ${laterMs} ms later`
        : `, stored ${absolute(log.createdAt)}`
  const isOther = log.email || log.externalId || log.name
  return h(
    'div.detail',
    {},
    facts({
      Person: !isInTimeline && h('a', { href: addressOf(['people', log.prospectId]) }, whoDid(log, signal)),
      'Sent as': isOther && h('bdi', {}, [log.name, log.email, log.externalId].filter(Boolean).join(', ')),
      From: [h('bdi', {}, log.source), ' · ', h('bdi', {}, log.type)],
      Happened: [h('span', {}, absolute(log.occurredAt)), h('span.muted', {}, later)],
      'Idempotency key': log.idempotencyKey && h('bdi.mono', {}, log.idempotencyKey),
      Id: idOf(log.prospectLogId),
    }),
    code(pretty(payload), 'Payload'),
    h(
      'div.actions',
      {},
      button('Copy payload', () => copy(payload)),
      button('Copy as curl', () => copy(curlOf(log, payload))),
      !isInTimeline && h('a.button', { href: addressOf(['people', log.prospectId]) }, 'Open person'),
    ),
  )
}
