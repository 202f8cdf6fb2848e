import { createNewId } from '../adapters/ids.ts'
import { shareLoop } from '../adapters/loop-share.ts'
import { checkOptions } from '../config/check-options.ts'
import { DEFAULTS } from '../config/config.ts'
import { refuse } from '../core/engine/failures.ts'
import type { HookReceiver } from '../core/hooks/receive-hook.ts'
import { asWhole } from '../core/ports/store.ts'
import { inTenant, PublishedOptions } from '../shapes/input.ts'
import { administration } from './administration.ts'
import { batchCallOf, callOf } from './call-of.ts'
import { createCheckInput } from './check-input.ts'
import { composeReceiver } from './compose-receiver.ts'
import { eachOperation, operations, requireParts } from './operations/operations.ts'
import { rememberTenants } from './remember-tenants.ts'
import type {
  CheckedUseCases,
  HookDelivery,
  OperationCalls,
  Service,
  ServiceOptions,
} from './service-types.ts'
import { warnUnattended } from './unattended.ts'
import { composeUseCases } from './use-cases.ts'
import { waitUntilPublished } from './wait-until-published.ts'
import { webhookTools } from './webhook-tools.ts'

/** A hook that was disabled elsewhere is refused after a second at the latest. */
const HOOKS_REMEMBERED_MS_MAX = 1_000

const checkPage = createCheckInput(inTenant(operations.getPage.ids))
const checkPublishedOptions = createCheckInput(PublishedOptions)

/**
 * Every operation over a store, with its input checked as over HTTP. An unknown tenant is refused: `not_found`. A
 * refusal is a thrown `DomainFailure`: branch on its `kind`; `facts.errors` lists the faults of the input.
 *
 * Calls that arrive together share a round trip to the database, and none waits for others.
 */
export const createService = (options: ServiceOptions): Service => {
  const { clock = Date.now, newId = createNewId() } = checkOptions('createService', options)
  const { requireIdentity = false, counts = true } = options
  const { prospectsRememberedMax = DEFAULTS.prospectsRememberedMax } = options
  const store = asWhole(options.store)
  const deps = { store, clock, newId }
  const webhooks = webhookTools(options.webhooks, clock)
  const hooks = { secrets: webhooks.secrets, publicUrl: options.publicUrl ?? null, shareLoop }
  const settings = { requireIdentity, prospectsRememberedMax, counts }
  const composed = composeUseCases({ ...deps, ...settings, webhooks, hooks })
  const { getPage, logProspectActivity } = composed
  const useCases: CheckedUseCases = warnUnattended(composed, options.background)
  const receiver = composeReceiver({
    ...deps,
    hooks,
    logProspectActivity,
    hooksRememberedMsMax: HOOKS_REMEMBERED_MS_MAX,
  })
  const tenants = rememberTenants(options.store)
  const { requireTenant } = tenants
  const unwatch = options.store.watch?.((signal) => {
    if (signal !== 'keys') return
    receiver.forget()
    tenants.forget()
  })

  const calls = eachOperation<OperationCalls>((name, operation) =>
    operation.item
      ? batchCallOf(operation, composed[name] as never, requireTenant)
      : callOf(operation, useCases[name as keyof CheckedUseCases] as never, requireTenant),
  )
  return {
    ...calls,
    ...administration(deps),
    published: async (page, options) => {
      const lookup = checkPage(page)
      await requireTenant(lookup.tenantId)
      return waitUntilPublished(
        (page) => getPage({ ...page, wait: 0 }),
        lookup,
        checkPublishedOptions(options).timeoutMs,
      )
    },
    receiveHook: async (delivery) => {
      requireParts(store, 'receiveHook', 'hooks')
      return receiveHook(receiver, delivery)
    },
    close: () => unwatch?.(),
  }
}

const receiveHook = async (
  receiver: HookReceiver,
  { hookId, token, headers, body, url, method = 'POST' }: HookDelivery,
) => {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (!(bytes instanceof Uint8Array) || typeof headers !== 'object')
    refuse('invalid_request', 'Pass the headers, and the body as it was received: bytes or text.')
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers)
  const lowerCase = Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]))
  const hook = await receiver.find(String(hookId), token ?? undefined)
  const query = url?.split('?').slice(1).join('?')
  return receiver.receive(hook, { headers: lowerCase, body: bytes, method, url: url ?? null, query })
}
