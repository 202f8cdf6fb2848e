import { type Fault, refuse } from '../../core/failures.ts'
import type { RawJson } from '../../shapes/json.ts'
import { NewProspectLog, ProspectLogReceipt } from '../../shapes/prospect-log.ts'
import { type Route, route } from './route.ts'

export const prospectLogRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v0/prospect_logs',
    operationId: 'logProspectActivity',
    summary: "Log a prospect's activity",
    scope: 'prospect_logs:write',
    body: NewProspectLog,
    answer: ProspectLogReceipt,
    status: 201,
    problems: ['prospect_not_found', 'prospect_erased', 'idempotency_key_reused'],
    run: async ({ logProspectActivity }, { tenantId, body, members, idempotencyKey }) => {
      const key = oneKey(body.idempotencyKey, idempotencyKey)
      const payload = members.get('payload') as RawJson
      const activity = { ...body, ...(key !== undefined && { idempotencyKey: key }), tenantId, payload }
      const { receipt, replayed } = await logProspectActivity(activity)
      return { body: receipt, replayed }
    },
  }),
]

/** The key may be in the body, the header, or both if they are equal. */
const oneKey = (inBody: string | undefined, inHeader: string | undefined): string | undefined => {
  const key = inBody ?? inHeader
  if (inHeader === undefined || key === inHeader) return key
  const each = 'must be the same in the body and in the Idempotency-Key header'
  const errors: Fault[] = [
    { detail: each, pointer: '/idempotencyKey' },
    { detail: each, parameter: 'Idempotency-Key' },
  ]
  const detail = 'The body and the Idempotency-Key header contain different idempotency keys.'
  return refuse('invalid_request', detail, { errors })
}
