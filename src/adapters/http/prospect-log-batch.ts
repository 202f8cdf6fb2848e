import { inOrder } from '../../core/in-order.ts'
import { elementsOf } from '../../json/raw-json.ts'
import type { RawJson } from '../../shapes/json.ts'
import type { ProspectLogBatchResult } from '../../shapes/prospect-log.ts'
import { memoized } from '../memoized.ts'
import { parseActivity } from './parse-request.ts'
import { tooLarge } from './requests.ts'
import type { Run } from './route.ts'

type Batch = { readonly items: RawJson }

/** Logs the items in order, each as a single request would be, and parsed when its turn comes. */
export const logBatch: Run<unknown, Batch> = async (
  { logProspectActivities },
  { tenantId, apiKeyId, body },
  steps,
) => {
  const texts = elementsOf(body.items.rawJson)
  steps.count(texts.length - 1)
  const prepare = (text: string) => {
    if (Buffer.byteLength(text) > steps.itemBytesMax) throw tooLarge(steps.itemBytesMax)
    return { ...parseActivity(text), tenantId, apiKeyId }
  }
  const answers = await inOrder(texts, { prepare, run: logProspectActivities, beforeList: steps.nextTurn })
  // When the database is away, all items have the same reason, which is reported once.
  const refusalOf = memoized(steps.refusalOf)
  let retryAfter: string | undefined
  const items = answers.map((answer): ProspectLogBatchResult['items'][number] => {
    if (!(answer instanceof Error))
      return { status: 201, prospectLog: answer.receipt, replayed: answer.replayed }
    const { status, headers, body } = refusalOf(answer)
    retryAfter ??= headers['retry-after']
    return { status, problem: { rawJson: String(body).trimEnd() } }
  })
  const refused = items.filter(({ status }) => status !== 201).length
  return {
    status: refused === 0 ? 201 : 207,
    headers: { 'items-refused': String(refused), ...(retryAfter && { 'retry-after': retryAfter }) },
    body: { items, accepted: items.length - refused, refused },
  }
}
