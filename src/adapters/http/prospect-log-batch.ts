import type * as v from 'valibot'
import { parseActivity } from '../../core/activities/new-log.ts'
import { eachInTurn } from '../../core/engine/each-in-turn.ts'
import { refuse, tooLarge } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/keys.ts'
import { LONG_TEXT, parseJson } from '../../core/engine/parse-input.ts'
import { isJson } from '../../json/is-json.ts'
import { splitAt } from '../../json/split-json.ts'
import type { Ignored } from '../../shapes/body.ts'
import { checkShape } from '../../shapes/json.ts'
import { ITEMS_MAX, type ProspectLogBatchResult } from '../../shapes/prospect-log.ts'
import type { Run } from './route.ts'
import { shareLoop } from './share-loop.ts'

/** The items as JSON texts. */
type Batch = Ignored & { readonly items: readonly string[] }

/** Logs the items in order, each as a single request would be, and parsed when its turn comes. */
export const logBatch: Run<unknown, Batch> = async (
  { logProspectActivities },
  { tenantId, apiKeyId, body },
  stepsOf,
) => {
  const steps = stepsOf()
  const { items: texts, ignored } = body
  steps.count(texts.length - 1)
  const isLong = texts.reduce((length, text) => length + text.length, 0) > LONG_TEXT
  const check = (text: string, i: number) => {
    const isTooLarge = Buffer.byteLength(text) > steps.itemBytesMax
    // Long texts are only checked here: their parsed values would take much memory until their turn.
    const isChecked = isTooLarge || (isLong && isJson(text))
    return { text, isTooLarge, value: isChecked ? undefined : parseJson(text, `Item ${i}`) }
  }
  // Before anything is stored, the rest of the body is checked to be JSON.
  const checkInTurn = () =>
    eachInTurn(
      shareLoop,
      texts.map((text) => ({ tenantId, text })),
      ({ text }, i) => check(text, i),
    )
  const items = isLong ? await checkInTurn() : texts.map(check)
  const prepare = ({ text, isTooLarge, value }: (typeof items)[number]) => {
    if (isTooLarge) throw tooLarge(steps.itemBytesMax)
    return { ...parseActivity(text, value), tenantId, apiKeyId }
  }
  const weightOf = ({ text }: { text: string }) => text.length
  const { nextTurn: beforeList } = steps
  const answers = await logProspectActivities({ inputs: items, prepare, weightOf, beforeList })
  // When the database is away, all items have the same reason, which is reported once.
  const refusalOf = memoized(steps.refusalOf)
  let retryAfter: string | undefined
  const results = answers.map((answer): ProspectLogBatchResult['items'][number] => {
    if (!(answer instanceof Error))
      return { status: 201, prospectLog: answer.value, replayed: answer.replayed }
    const { status, headers, body } = refusalOf(answer)
    retryAfter ??= headers['retry-after']
    return { status, problem: { rawJson: String(body).trimEnd() } }
  })
  const refused = results.filter(({ status }) => status !== 201).length
  return {
    status: refused === 0 ? 201 : 207,
    logged: answers.filter((answer) => !(answer instanceof Error) && !answer.replayed).length,
    headers: { 'items-refused': String(refused), ...(retryAfter && { 'retry-after': retryAfter }) },
    body: { items: results, accepted: results.length - refused, refused, ...(ignored && { ignored }) },
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
