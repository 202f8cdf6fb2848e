import { inOrder } from '../../core/in-order.ts'
import { eachInTurn } from '../../core/share-loop.ts'
import { isJson } from '../../json/is-json.ts'
import type { ProspectLogBatchResult } from '../../shapes/prospect-log.ts'
import { memoized } from '../memoized.ts'
import { parseActivity, parseJson } from './parse-request.ts'
import { tooLarge } from './requests.ts'
import type { Run } from './route.ts'

/** The texts of the items. */
type Batch = { readonly items: readonly string[] }

/** Logs the items in order, each as a single request would be, and parsed when its turn comes. */
export const logBatch: Run<unknown, Batch> = async (
  { logProspectActivities },
  { tenantId, apiKeyId, body },
  steps,
) => {
  const { items: texts } = body
  steps.count(texts.length - 1)
  const isTooLarge = (text: string) => Buffer.byteLength(text) > steps.itemBytesMax
  // Before anything is stored, the rest of the body is checked to be JSON.
  const items = texts.map((text) => ({ tenantId, text }))
  await eachInTurn(items, ({ text }, i) => isTooLarge(text) || isJson(text) || parseJson(text, `Item ${i}`))
  const prepare = (text: string) => {
    if (isTooLarge(text)) throw tooLarge(steps.itemBytesMax)
    return { ...parseActivity(text), tenantId, apiKeyId }
  }
  const weightOf = (text: string) => text.length
  const { nextTurn: beforeList } = steps
  const answers = await inOrder(texts, { prepare, weightOf, run: logProspectActivities, beforeList })
  // When the database is away, all items have the same reason, which is reported once.
  const refusalOf = memoized(steps.refusalOf)
  let retryAfter: string | undefined
  const results = answers.map((answer): ProspectLogBatchResult['items'][number] => {
    if (!(answer instanceof Error))
      return { status: 201, prospectLog: answer.receipt, replayed: answer.replayed }
    const { status, headers, body } = refusalOf(answer)
    retryAfter ??= headers['retry-after']
    return { status, problem: { rawJson: String(body).trimEnd() } }
  })
  const refused = results.filter(({ status }) => status !== 201).length
  return {
    status: refused === 0 ? 201 : 207,
    headers: { 'items-refused': String(refused), ...(retryAfter && { 'retry-after': retryAfter }) },
    body: { items: results, accepted: results.length - refused, refused },
  }
}
