import { inOrder } from '../../core/in-order.ts'
import { elementsOf } from '../../json/raw-json.ts'
import { writeJson } from '../../json/write-json.ts'
import type { RawJson } from '../../shapes/json.ts'
import { ProspectLogBatch, ProspectLogBatchResult } from '../../shapes/prospect-log.ts'
import { parseActivity } from './parse-request.ts'
import { tooLarge } from './requests.ts'
import { type Route, route } from './route.ts'

/** Logs the items in order, each as a single request would be, and parsed when its turn comes. */
const run: Route['run'] = async ({ logProspectActivities }, { tenantId, members }, steps) => {
  const texts = elementsOf((members.get('items') as RawJson).rawJson)
  steps.count(texts.length - 1)
  const logItem = async (text: string) => {
    if (Buffer.byteLength(text) > steps.itemBytesMax) throw tooLarge(steps.itemBytesMax)
    return logProspectActivities({ ...parseActivity(text), tenantId })
  }
  const settled = await inOrder(texts, logItem, steps.nextTurn)
  // When the database is away, all items have the same reason, which is reported once.
  const reasons = new Set(settled.flatMap((item) => (item.status === 'rejected' ? [item.reason] : [])))
  const refusals = new Map([...reasons].map((why) => [why, steps.refusalOf(why)]))
  const items = settled.map((item): ProspectLogBatchResult['items'][number] => {
    if (item.status === 'fulfilled')
      return { status: 201, prospectLog: item.value.receipt, replayed: item.value.replayed }
    const { status = 500, body = '' } = refusals.get(item.reason) ?? {}
    return { status, problem: { rawJson: String(body).trimEnd() } }
  })
  const refused = items.filter(({ status }) => status !== 201).length
  const retryAfter = [...refusals.values()].find(({ headers }) => headers['retry-after'])?.headers[
    'retry-after'
  ]
  return {
    status: refused === 0 ? 201 : 207,
    headers: { 'items-refused': String(refused), ...(retryAfter && { 'retry-after': retryAfter }) },
    body: { items, accepted: items.length - refused, refused },
  }
}

export const prospectLogBatch = route({
  method: 'POST',
  path: '/v0/prospect_logs/batch',
  operationId: 'logProspectActivities',
  summary: 'Log up to 1,000 activities',
  scope: 'prospect_logs:write',
  body: ProspectLogBatch,
  isBatch: true,
  answer: ProspectLogBatchResult,
  write: writeJson,
  status: 201,
  problems: [],
  run,
})
