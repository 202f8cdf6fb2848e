import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import type { Needs } from '../ports/store.ts'
import type { EndpointKey, StoredEndpoint } from '../ports/webhooks.ts'
import { endpointIn } from './get-webhook-endpoint.ts'
import type { WebhookTools } from './webhook-tools.ts'

/** The fields of an endpoint without failures. */
export const NO_FAILURES = { failures: 0, failingSince: null, lastError: null }
export const ENABLED = { status: 'enabled', disabledReason: null, ...NO_FAILURES } as const

/** Changes fields of an endpoint, and returns it. Both functions are pure. Refuses `webhook_endpoint_not_found`. */
export const changeEndpoint = (
  { store, clock }: Pick<Needs<'webhooks'>, 'store' | 'clock'>,
  key: EndpointKey,
  fieldsOf: (found: StoredEndpoint) => Partial<StoredEndpoint>,
  resetsFailures = (_: StoredEndpoint) => false,
): Promise<StoredEndpoint> =>
  decideAndSave({
    recall: () => store.webhooks.list(key.tenantId),
    decide: (endpoints) => {
      const before = endpointIn(endpoints, key)
      const updatedAt = laterThan(before.updatedAt, isoTime(clock()))
      const after: StoredEndpoint = { ...before, ...fieldsOf(before), updatedAt }
      return { answer: after, change: { before, after } }
    },
    record: ({ before, after }) =>
      store.webhooks.change(after, before.updatedAt, { resetsFailures: resetsFailures(before) }),
  })

/** Refuses `invalid_request` unless webhooks may be sent to the URL. */
export const requireUrl = ({ checkUrl }: Pick<WebhookTools, 'checkUrl'>, url: string): void => {
  const detail = checkUrl(url)
  if (detail === null) return
  const errors = [{ detail, pointer: '/url' }]
  refuse('invalid_request', 'Nothing can be delivered to this URL.', { errors })
}

/** A list as it is stored. */
export const listText = (list: readonly string[] | null): string | null => list && JSON.stringify(list)
