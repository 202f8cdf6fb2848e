import type * as v from 'valibot'
import { parseActivity } from '../../core/activities/new-log.ts'
import { refuse, tooLarge } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/memoized.ts'
import { LONG_TEXT, parseJson, parseText, refuseFaults, SEE_ERRORS } from '../../core/engine/parse-input.ts'
import { mapSharingLoop } from '../../core/engine/share-loop.ts'
import { isJson } from '../../json/is-json.ts'
import { splitAt } from '../../json/split-json.ts'
import type { Ignored } from '../../shapes/body.ts'
import { checkShape } from '../../shapes/json.ts'
import { NewProspect, type ProspectBatchResult } from '../../shapes/prospect.ts'
import { ITEMS_MAX, type ProspectLogBatchResult } from '../../shapes/prospect-log.ts'
import { shareLoop } from '../loop-share.ts'
import type { LongSteps } from './long-requests.ts'
import type { Headers } from './requests.ts'
import { type CheckedRequest, modeOf, type Run } from './route.ts'

/** The items as JSON texts. */
type Batch = Ignored & { readonly items: readonly string[] }

/** Logs the items in order, each as a single request would be, and parsed when its turn comes. */
export const logBatch: Run<unknown, Batch> = async ({ logProspectActivities }, request, stepsOf) => {
  const { tenantId, apiKeyId, scopes, body } = request
  const { batch, refusalOf } = await openBatch(request, stepsOf())
  const answers = await logProspectActivities({
    ...batch,
    prepare: (item) => {
      const activity = parseActivity(batch.textOf(item), takeValue(item))
      return Object.assign(activity, { attributesMode: modeOf(activity, scopes), tenantId, apiKeyId })
    },
  })
  const result = resultOf(answers, refusalOf, ({ value, replayed }): AcceptedLog => {
    return { status: 201, prospectLog: value, replayed }
  })
  return {
    ...result,
    status: result.body.refused === 0 ? 201 : 207,
    logged: answers.filter((answer) => !(answer instanceof Error) && !answer.replayed).length,
    body: body.ignored === undefined ? result.body : { ...result.body, ignored: body.ignored },
  }
}

/** Creates or finds the prospects of the items in order, each as a single request would. */
export const createBatch: Run<unknown, Batch> = async ({ createProspects }, request, stepsOf) => {
  const { tenantId, apiKeyId, scopes } = request
  const { batch, refusalOf } = await openBatch(request, stepsOf())
  const answers = await createProspects({
    ...batch,
    prepare: (item) => {
      const prospect = parseProspect(batch.textOf(item), takeValue(item))
      return Object.assign(prospect, { attributesMode: modeOf(prospect, scopes), tenantId, apiKeyId })
    },
  })
  const result = resultOf(answers, refusalOf, ({ value, created }): AcceptedProspect => {
    return { status: created ? 201 : 200, prospect: value }
  })
  return { ...result, status: result.body.refused === 0 ? 200 : 207 }
}

type AcceptedLog = Extract<ProspectLogBatchResult['items'][number], { prospectLog: unknown }>
type AcceptedProspect = Extract<ProspectBatchResult['items'][number], { prospect: unknown }>

const parseProspect = (text: string, parsed: unknown): NewProspect => {
  const { body, faults } = parseText(NewProspect, text, parsed)
  return faults.length === 0 ? body : refuseFaults(faults, SEE_ERRORS)
}

/** Counts the items and checks the whole body. The turn of the request is also that of its first list. */
const openBatch = async ({ tenantId, body }: CheckedRequest<unknown, Batch>, steps: LongSteps) => {
  steps.count(body.items.length - 1)
  let isFirst = true
  return {
    batch: {
      inputs: await checkItems(body.items, tenantId, steps.itemBytesMax),
      weightOf: ({ text }: Item) => text.length,
      beforeList: (length: number) => {
        if (!isFirst) return steps.nextTurn(length)
        isFirst = false
        return undefined
      },
      textOf: ({ text, isTooLarge }: Item): string => {
        if (isTooLarge) throw tooLarge(steps.itemBytesMax)
        return text
      },
    },
    refusalOf: steps.refusalOf,
  }
}

type Item = { readonly text: string; readonly isTooLarge: boolean; value: unknown }

/** Hands the value over and drops it here: otherwise it would be kept until the batch has been stored. */
const takeValue = (item: Item): unknown => {
  const { value } = item
  item.value = undefined
  return value
}

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
  return mapSharingLoop(shareLoop, inTenant, ({ text }, i) => check(text, i))
}

type Refused = Exclude<ProspectLogBatchResult['items'][number], AcceptedLog>

/** The result of each item, how many were accepted and refused, and the headers that follow from that. */
const resultOf = <Answered, Accepted>(
  answers: readonly (Answered | Error)[],
  refusalOf: LongSteps['refusalOf'],
  acceptedOf: (answer: Answered) => Accepted,
) => {
  // When the database is away, all items have the same reason, which is reported once.
  const refusalOnce = memoized(refusalOf)
  let retryAfter: string | undefined
  let refused = 0
  const items = answers.map((answer): Accepted | Refused => {
    if (!(answer instanceof Error)) return acceptedOf(answer)
    refused++
    const { status, headers, body } = refusalOnce(answer)
    retryAfter ??= headers['retry-after']
    return { status, problem: { rawJson: String(body).trimEnd() } }
  })
  const headers: Headers = { 'items-refused': String(refused) }
  if (retryAfter !== undefined) headers['retry-after'] = retryAfter
  return { headers, body: { items, accepted: items.length - refused, refused } }
}

/** Parses the envelope alone. Items stay texts until they are logged: parsing 8 MiB of small values takes seconds. */
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
