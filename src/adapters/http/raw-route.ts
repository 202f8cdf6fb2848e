import { shareLoop } from '../loop-share.ts'
import type { Admission } from './admission.ts'
import type { createReadBody } from './parse-request.ts'
import type { Api, ApiRequest, ApiResponse, LogFields } from './requests.ts'
import type { Match } from './router.ts'

/** The parts of the API that a route in it may use. */
type Context = {
  readonly api: Api
  readonly admission: Admission
  readonly readBody: ReturnType<typeof createReadBody>
  readonly logFields: LogFields
}
/** A route without an operation. It may return any response and needs no key. */
export type RawRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly raw: (
    request: ApiRequest,
    params: Match<never>['params'],
    context: Context,
  ) => Promise<ApiResponse>
  /** Takes no slot in the admission: it answers even under overload, or its calls take slots. */
  readonly isFree?: true
}

/** A raw route for GET. */
export const rawRoute = (path: string, raw: RawRoute['raw']): RawRoute => ({ method: 'GET', path, raw })

/** All routes without a key count as one tenant. They take a slot but await no turn: requests share the work behind them. */
export const admitted = async (
  admission: Admission,
  { isFree }: RawRoute,
  work: () => Promise<ApiResponse>,
): Promise<ApiResponse> => {
  if (isFree) return work()
  const slot = admission.arrive('')
  try {
    await shareLoop('')
    return await work()
  } finally {
    admission.leave(slot)
  }
}
