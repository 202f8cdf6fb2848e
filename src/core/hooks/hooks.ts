import { hash } from 'node:crypto'
import type { Hook, HookChanges, NewHook } from '../../shapes/hook.ts'
import { type HookMap, isByToken } from '../../shapes/hook-rules.ts'
import type { SliceQuery } from '../../shapes/slice.ts'
import { untilRecorded } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import { rotatedTo } from '../engine/sealed-secrets.ts'
import { slicesOf } from '../engine/slices.ts'
import { isoTime } from '../engine/times.ts'
import type { HookWant, StoredHook } from '../ports/hooks.ts'
import type { Needs } from '../ports/store.ts'
import type { Secrets } from '../ports/webhooks.ts'
import { newHookToken } from '../tenants/api-key-text.ts'
import { PRESET_ROWS } from './presets.ts'

/** How many hooks a tenant may have. */
const SLOTS = Array.from({ length: 100 }, (_, i) => i + 1)
const HIDDEN = '•••'

/** The dependencies of hooks besides a store. */
export type HookTools = {
  readonly secrets: Secrets
  /** The URL at which vendors reach this service, without a trailing slash; null if unknown. */
  readonly publicUrl: string | null
}
type Deps = Needs<'hooks'> & { readonly hooks: HookTools }
type Tenant = Pick<HookWant, 'tenantId'>
type Verify = NewHook['verify']

/** The stored rules of a hook: the members as given. */
export type HookRules = {
  readonly verify: Omit<Verify, 'secret'>
  readonly map: HookMap
  readonly each: string | null
}
/** The rules with the additions of the preset. Without an HMAC a hook is verified by its token. */
export const rulesOf = ({ rules }: Pick<StoredHook, 'rules'>) => {
  const { verify, map, each }: HookRules = JSON.parse(rules.rawJson)
  const preset = verify.preset && PRESET_ROWS[verify.preset]
  return {
    verify,
    hmac: verify.hmac ?? preset?.hmac,
    map: { ...preset?.map, ...map },
    /** Keys of presets name messages, but a key that was chosen may name what the message is about. */
    isKeyOfType:
      String(map.idempotencyKey ?? preset?.map.idempotencyKey) !== String(preset?.map.idempotencyKey),
    each: each ?? preset?.each ?? null,
    handshake: preset?.handshake,
  }
}
export const hashOfToken = (token: string): string => hash('sha256', token, 'base64url')

/** Creates a hook. Its path contains its token, if it has one, for the only time. Refuses `limit_reached`, `invalid_request`. */
export const createHook =
  ({ store, clock, newId, hooks }: Deps) =>
  async ({ tenantId, source, description, verify, map, each }: Tenant & NewHook): Promise<Hook> => {
    const { sealed, token } = issued(hooks, verify)
    const now = isoTime(clock())
    return untilRecorded(async () => {
      const taken = new Set(await store.hooks.slots(tenantId))
      const slot = SLOTS.find((slot) => !taken.has(slot)) ?? tooMany()
      const hook: StoredHook = {
        ...{ tenantId, hookId: newId('hook'), source, description, status: 'enabled', slot },
        rules: rulesText(verify, map, each),
        ...{ secret: sealed, previousSecret: null, previousSecretUntil: null },
        ...{ createdAt: now, updatedAt: now },
        ...{ lastReceivedAt: null, lastRefusedAt: null, lastRefusal: null },
      }
      const recorded = await store.hooks.add(hook)
      return recorded === 'recorded' ? hookOf(hook, hooks, token) : recorded
    })
  }
const tooMany = () => refuse('limit_reached', `A tenant has at most ${SLOTS.length} hooks.`)

/** Lists the hooks of tenants, newest first, many lists at once. Refuses, per list: `invalid_cursor`. */
export const listHooks = ({ store, hooks }: Pick<Deps, 'store' | 'hooks'>) =>
  slicesOf({
    nameOf: (_: SliceQuery & Tenant) => 'hooks',
    find: (wants) => store.hooks.list(wants),
    positionOf: ({ hookId }) => hookId,
    itemOf: (hook: StoredHook) => hookOf(hook, hooks),
  })

/** Reads one hook. Refuses `hook_not_found`. */
export const getHook =
  ({ store, hooks }: Pick<Deps, 'store' | 'hooks'>) =>
  async (want: HookWant): Promise<Hook> =>
    hookOf(await existingHook(store, want), hooks)

/**
 * Changes the given fields of a hook. With `verify`, the old secret or token stays valid for `overlapHours`, unless the
 * method of verification changes too. Refuses `hook_not_found`, `invalid_request`.
 */
export const updateHook =
  ({ store, clock, hooks }: Deps) =>
  async ({
    tenantId,
    hookId,
    verify,
    map,
    each,
    overlapHours,
    ...fields
  }: HookWant & HookChanges): Promise<Hook> => {
    const { source, description, status } = fields
    const { sealed, token } = verify ? issued(hooks, verify) : { sealed: null, token: undefined }
    return untilRecorded(async () => {
      const found = await existingHook(store, { tenantId, hookId })
      const now = clock()
      const { rules: _, ...before } = found
      const old: HookRules = JSON.parse(found.rules.rawJson)
      const isSameWay = verify !== undefined && wayOf(verify) === wayOf(old.verify)
      // A repeated request must not end the old secret.
      const isRepeated =
        isSameWay && token === undefined && hooks.secrets.open(found.secret) === verify.secret
      const changed: StoredHook = {
        ...before,
        ...(sealed !== null && !isRepeated && rotatedTo(sealed, found, isSameWay ? overlapHours : 0, now)),
        source: source ?? found.source,
        description: description === undefined ? found.description : description,
        status: status ?? found.status,
        rules: rulesText(verify ?? old.verify, map ?? old.map, each === undefined ? old.each : each),
        // Always later, so that another writer that read it before is overtaken.
        updatedAt: isoTime(Math.max(now, Date.parse(found.updatedAt) + 1)),
      }
      const recorded = await store.hooks.change(changed, found.updatedAt)
      return recorded === 'recorded' ? hookOf(changed, hooks, token) : recorded
    })
  }

/** Deletes a hook: its address is unknown from then on. Refuses `hook_not_found`. */
export const deleteHook =
  ({ store }: Pick<Deps, 'store'>) =>
  async ({ tenantId, hookId }: HookWant): Promise<void> => {
    if (!(await store.hooks.remove({ tenantId, hookId }))) notFound()
  }

export const existingHook = async (
  store: Deps['store'],
  { tenantId, hookId }: HookWant,
): Promise<StoredHook> => (await store.hooks.find({ tenantId, hookId })) ?? notFound()
export const notFound = (): never => refuse('hook_not_found', 'Hook not found.')

/** The stored form of the given secret, or of a new token. Refuses `invalid_request`. */
const issued = ({ secrets, publicUrl }: HookTools, verify: Verify) => {
  const hmac = verify.hmac ?? (verify.preset && PRESET_ROWS[verify.preset].hmac)
  const wrong = (detail: string, pointer: string) =>
    refuse('invalid_request', 'The verification settings are invalid.', {
      errors: [{ detail, pointer }],
    })
  if (hmac?.template.includes('{url}') && publicUrl === null)
    wrong('signs the public URL of this service: set PUBLIC_URL', '/verify')
  const token = isByToken(verify) ? newHookToken() : undefined
  if (token !== undefined) return { sealed: hashOfToken(token), token }
  const { secret = '' } = verify
  if (hmac?.secretEncoding === 'base64' && !BASE64.test(secret.replace(/^whsec_/, '')))
    wrong('must be base64', '/verify/secret')
  return { sealed: secrets.seal(secret), token }
}
const BASE64 = /^[\w+/-]{2,}={0,2}$/

const wayOf = ({ preset, hmac, token }: HookRules['verify']): string =>
  JSON.stringify({ preset, hmac, token })
const rulesText = ({ preset, hmac, token }: HookRules['verify'], map: HookMap, each: string | null) => {
  const rules: HookRules = { verify: { preset, hmac, token }, map, each }
  return { rawJson: JSON.stringify(rules) }
}

const hookOf = (hook: StoredHook, { publicUrl }: HookTools, token?: string): Hook => {
  const { verify, hmac, map, each } = rulesOf(hook)
  const path = `/hooks/${hook.hookId}${hmac ? '' : `/${token ?? HIDDEN}`}`
  const { lastRefusedAt: at, lastRefusal: reason } = hook
  return {
    hookId: hook.hookId,
    tenantId: hook.tenantId,
    source: hook.source,
    description: hook.description,
    status: hook.status,
    verify,
    map,
    each,
    path,
    url: publicUrl === null ? null : publicUrl + path,
    createdAt: hook.createdAt,
    updatedAt: hook.updatedAt,
    lastReceivedAt: hook.lastReceivedAt,
    lastRefusal: at === null || reason === null ? null : { at, reason },
  }
}
