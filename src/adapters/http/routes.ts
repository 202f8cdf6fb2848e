import type { ProblemCode } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/keys.ts'
import { writeJson } from '../../json/write-json.ts'
import type { Operation } from '../../service/operations/operation.ts'
import { type OperationId, operations } from '../../service/operations/operations.ts'
import type { UseCases } from '../../service/use-cases.ts'
import { logBatch } from './prospect-log-batch.ts'
import { type CheckedRequest, type Route, runOf, writeBatch, writePage } from './route.ts'

/** What HTTP does differently for an operation. By default it calls the use case with the tenant, the ids, query and body. */
const OVER_HTTP: { readonly [Id in OperationId]?: Partial<Pick<Route, 'run' | 'write'>> } = {
  logProspectActivities: { run: logBatch, write: writeBatch },
  getPage: { write: writePage },
  updatePage: { write: writePage },
  publishVersion: { write: writePage },
  unpublishPage: { write: writePage },
  listEvents: { write: writeJson },
  getEvent: { write: writeJson },
  getApiKey: {
    run: async (useCases: UseCases, { tenantId, apiKeyId }: CheckedRequest<unknown, unknown>) => ({
      body: (await useCases.getApiKey({ tenantId, apiKeyId })).value,
    }),
  },
}

/** Whether a shape has a part that is kept as text. */
const holdsRawJson: (shape: object) => boolean = memoized(
  (shape: object) =>
    'rawJson' in shape ||
    Object.values(shape).some((part) => typeof part === 'object' && part !== null && holdsRawJson(part)),
)

const routeOf = (operationId: OperationId, operation: Operation): Route => {
  const { path, query, answer, takes = {} } = operation
  const takesKey = 'idempotencyKey' in takes
  const takesRevision = 'ifRevision' in takes
  const ofIds = Object.entries(PROBLEMS_OF_IDS).flatMap(([id, found]) => (path.includes(id) ? found : []))
  const problems: ProblemCode[] = [
    ...(query && 'cursor' in query.entries ? (['invalid_cursor'] as const) : []),
    ...ofIds,
    ...(operation.problems ?? []),
    ...(takesKey ? (['idempotency_key_reused'] as const) : []),
    ...(takesRevision ? (['precondition_failed'] as const) : []),
  ]
  return {
    status: answer ? 200 : 204,
    write: answer && holdsRawJson(answer) ? writeJson : JSON.stringify,
    run: runOf(operationId, operation),
    ...operation,
    ...OVER_HTTP[operationId],
    problems,
    operationId,
    takesKey,
  }
}
const PROBLEMS_OF_IDS: Readonly<Record<string, readonly ProblemCode[]>> = {
  '/{prospect_id}': ['prospect_not_found', 'prospect_erased'],
  '/{prospect_log_id}': ['prospect_log_not_found'],
  '/{erasure_id}': ['erasure_not_found'],
  '/{page_group_id}': ['page_group_not_found'],
  '/{page_id}': ['page_not_found'],
  '/{version_id}': ['version_not_found'],
  '/events/{event_id}': ['event_not_found'],
  '/{webhook_endpoint_id}': ['webhook_endpoint_not_found'],
  '/deliveries/{event_id}': ['delivery_not_found'],
  '/{hook_id}': ['hook_not_found'],
}

/** Every operation. */
export const ROUTES: readonly Route[] = Object.entries(operations).map(([id, operation]) =>
  routeOf(id as OperationId, operation),
)
