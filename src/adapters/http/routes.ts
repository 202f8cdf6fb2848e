import type { ProblemCode } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/keys.ts'
import type { SmallStore } from '../../core/ports/store.ts'
import { writeJson } from '../../json/write-json.ts'
import { IDS } from '../../service/operations/ids.ts'
import type { Operation } from '../../service/operations/operation.ts'
import { missingParts, type OperationId, operations } from '../../service/operations/operations.ts'
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
  const ofIds = Object.entries(IDS).flatMap(([id, { problems }]) =>
    path.includes(`{${id}}`) ? problems : [],
  )
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
/** The routes of the operations that a service over this store offers. */
export const routesOver = (store: SmallStore): readonly Route[] =>
  ROUTES.filter((route) => missingParts(route, store).length === 0)

/** Every operation. */
export const ROUTES: readonly Route[] = Object.entries(operations).map(([id, operation]) =>
  routeOf(id as OperationId, operation),
)
