import type * as v from 'valibot'
import { parseActivity } from '../../core/activities/new-log.ts'
import { eachInTurn } from '../../core/engine/each-in-turn.ts'
import { refuse, tooLarge } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/memoized.ts'
import { LONG_TEXT, parseJson } from '../../core/engine/parse-input.ts'
import { isJson } from '../../json/is-json.ts'
import { splitAt } from '../../json/split-json.ts'
import type { UseCases } from '../../service/use-cases.ts'
import type { Ignored } from '../../shapes/body.ts'
import { checkShape } from '../../shapes/json.ts'
import { ITEMS_MAX, type ProspectLogBatchResult } from '../../shapes/prospect-log.ts'
import { shareLoop } from '../loop-share.ts'
import type { LongSteps } from './long-requests.ts'
import type { Headers } from './requests.ts'
import type { Answer, Run } from './route.ts'

/** The items as JSON texts. */
type Batch = Ignored & { readonly items: readonly string[] }

/** Logs the items in order, each as a single request would be, and parsed when its turn comes. */
export const logBatch: Run<unknown, Batch> = async ({ logProspectActivities }, request, stepsOf) => {
  const { tenantId, apiKeyId, body } = request
  const steps = stepsOf()
  steps.count(body.items.length - 1)
  const inputs = await checkItems(body.items, tenantId, steps.itemBytesMax)
  const answers = await logProspectActivities({
    inputs,
    prepare: ({ text, isTooLarge, value }) => {
      if (isTooLarge) throw tooLarge(steps.itemBytesMax)
      return { ...parseActivity(text, value), tenantId, apiKeyId }
    },
    weightOf: ({ text }) => text.length,
    beforeList: steps.nextTurn,
  })
  return answerOf(answers, steps.refusalOf, body.ignored)
}

type Item = { readonly text: string; readonly isTooLarge: boolean; readonly value: unknown }

/** Checks the whole body to be JSON before anything is stored. Refuses `invalid_json`. */
const checkItems = async (
  texts: readonly string[],
  tenantId: string,
  bytesMax: number,
): Promise<readonly Item[]> => {
  const isLong = texts.reduce((length, text) => length + text.length, 0) > LONG_TEXT
  const check = (text: string, i: number): Item => {
    const isTooLarge = Buffer.byteLength(text) > bytesMax
    // Long texts are only checked here: their parsed values would take much memory until their turn.
    const isChecked = isTooLarge || (isLong && isJson(text))
    return { text, isTooLarge, value: isChecked ? undefined : parseJson(text, `Item ${i}`) }
  }
  if (!isLong) return texts.map(check)
  const inTenant = texts.map((text) => ({ tenantId, text }))
  return eachInTurn(shareLoop, inTenant, ({ text }, i) => check(text, i))
}

type Answers = Awaited<ReturnType<UseCases['logProspectActivities']>>

const answerOf = (answers: Answers, refusalOf: LongSteps['refusalOf'], ignored: Batch['ignored']): Answer => {
  // When the database is away, all items have the same reason, which is reported once.
  const refusalOnce = memoized(refusalOf)
  let retryAfter: string | undefined
  const items = answers.map((answer): ProspectLogBatchResult['items'][number] => {
    if (!(answer instanceof Error))
      return { status: 201, prospectLog: answer.value, replayed: answer.replayed }
    const { status, headers, body } = refusalOnce(answer)
    retryAfter ??= headers['retry-after']
    return { status, problem: { rawJson: String(body).trimEnd() } }
  })
  const refused = items.filter(({ status }) => status !== 201).length
  const headers: Headers = { 'items-refused': String(refused) }
  if (retryAfter !== undefined) headers['retry-after'] = retryAfter
  const result = { items, accepted: items.length - refused, refused }
  return {
    status: refused === 0 ? 201 : 207,
    logged: answers.filter((answer) => !(answer instanceof Error) && !answer.replayed).length,
    headers,
    body: ignored === undefined ? result : { ...result, ignored },
  }
}

/** The envelope alone: the items stay texts, which are parsed one by one. Parsing 8 MiB of small values takes seconds. */
export const parseBatch = (shape: v.GenericSchema, text: string, bytesMax: number) => {
  const { elements, rest } =
    splitAt(text, 'items', ITEMS_MAX) ??
    refuse('invalid_json', `The body is not a well-formed JSON object of at most ${ITEMS_MAX} members.`)
  if (rest.length > bytesMax) throw tooLarge(bytesMax, 'The batch without its items')
  const value = parseJson(rest)
  const { output, faults } = checkShape(
    shape,
    elements === null ? value : { ...Object(value), items: elements },
  )
  return { body: output, faults }
}
