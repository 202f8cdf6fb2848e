import type { ProblemCode } from '../../core/engine/failures.ts'
import { memoized } from '../../core/engine/memoized.ts'
import type { SmallStore } from '../../core/ports/store.ts'
import { writeJson } from '../../json/write-json.ts'
import { IDS } from '../../service/operations/ids.ts'
import type { Operation } from '../../service/operations/operation.ts'
import {
  missingParts,
  type OperationId,
  operations,
  type UseCases,
} from '../../service/operations/operations.ts'
import { createBatch, logBatch } from './batches.ts'
import { writeItemsInPieces } from './items-in-pieces.ts'
import { type CheckedRequest, type Route, runOf, writeBatch, writePage } from './route.ts'

/** Operations that HTTP runs or writes in another way. By default it calls the use case with tenant, ids, query and body. */
const OVER_HTTP: { readonly [Id in OperationId]?: Partial<Pick<Route, 'run' | 'write'>> } = {
  logProspectActivity: {
    run: runOf('logProspectActivity', operations.logProspectActivity, ({ replayed }) => (replayed ? 0 : 1)),
  },
  logProspectActivities: { run: logBatch, write: writeBatch },
  createProspects: { run: createBatch, write: writeJson },
  listProspectLogCounts: {
    run: writeItemsInPieces(runOf('listProspectLogCounts', operations.listProspectLogCounts)),
    write: writeJson,
  },
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

/** Whether a part of a shape is kept as JSON text. */
const holdsRawJson: (shape: object) => boolean = memoized(
  (shape: object) =>
    'rawJson' in shape ||
    Object.values(shape).some((part) => typeof part === 'object' && part !== null && holdsRawJson(part)),
)

const routeOf = (operationId: OperationId, operation: Operation): Route => {
  const { answer, takes = {} } = operation
  const { run, write } = OVER_HTTP[operationId] ?? {}
  const writeByShape = answer && holdsRawJson(answer) ? writeJson : JSON.stringify
  return {
    ...operation,
    operationId,
    status: operation.status ?? (answer ? 200 : 204),
    problems: problemsOf(operation),
    run: run ?? runOf(operationId, operation),
    write: write ?? writeByShape,
    takesKey: 'idempotencyKey' in takes,
    readersToo: 'publishedOnly' in takes,
  }
}

const problemsOf = ({
  method,
  path,
  query,
  takes = {},
  problems = [],
}: Operation): readonly ProblemCode[] => {
  const codes: ProblemCode[] = []
  if (query && 'cursor' in query.entries) codes.push('invalid_cursor')
  for (const [id, idInPath] of Object.entries(IDS)) {
    if (path.includes(`{${id}}`)) codes.push(...idInPath.problems)
  }
  codes.push(...problems)
  if ('idempotencyKey' in takes) codes.push('idempotency_key_reused')
  if ('ifRevision' in takes) codes.push('precondition_failed')
  if (method !== 'GET') codes.push('loop_detected')
  return codes
}

/** The routes of the operations that a service over this store offers. */
export const routesOver = (store: SmallStore): readonly Route[] =>
  ROUTES.filter((route) => missingParts(route, store).length === 0)

/** Every operation. */
export const ROUTES: readonly Route[] = Object.entries(operations).map(([id, operation]) =>
  routeOf(id as OperationId, operation),
)
