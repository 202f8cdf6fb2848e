import { hash } from 'node:crypto'
import type { Hook, HookChanges, NewHook } from '../../shapes/hook.ts'
import { isByToken } from '../../shapes/hook-rules.ts'
import type { SliceQuery } from '../../shapes/slice.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import { refuse } from '../engine/failures.ts'
import type { Result } from '../engine/result.ts'
import { rotatedTo } from '../engine/sealed-secrets.ts'
import { sliceOf } from '../engine/slices.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import type { HookWant, StoredHook } from '../ports/hooks.ts'
import type { Secrets } from '../ports/secrets.ts'
import type { Needs } from '../ports/store.ts'
import type { NewId, ShareLoop } from '../ports/world.ts'
import { newHookToken } from '../tenants/api-key-text.ts'
import { PRESET_ROWS } from './presets.ts'
import { keyTextOf } from './verify.ts'

/** How many hooks a tenant may have. */
const SLOTS = Array.from({ length: 100 }, (_, i) => i + 1)
const HIDDEN = '•••'

/** The dependencies of hooks besides a store. */
export type HookTools = {
  readonly secrets: Secrets
  /** The URL at which vendors reach this service, without a trailing slash; null if unknown. */
  readonly publicUrl: string | null
  readonly shareLoop?: ShareLoop | undefined
}
type Deps = Needs<'hooks'> & { readonly hooks: HookTools }
type Tenant = Pick<HookWant, 'tenantId'>
type Verify = NewHook['verify']

/** Further settings of a hook that browsers post to. */
type ForBrowsers = Pick<NewHook, 'redirectTo' | 'origins' | 'trap'>
/** The stored rules of a hook: the members as given. Those that came later are missing in older rows. */
export type HookRules = Pick<NewHook, 'map' | 'each'> &
  Partial<ForBrowsers & Pick<NewHook, 'unidentified'>> & { readonly verify: Omit<Verify, 'secret'> }
type GivenHook = Pick<NewHook, 'source' | 'description' | 'verify'> & HookRules
/** The rules with the additions of the preset. Without an HMAC a hook is verified by its token. */
export const rulesOf = ({ rules }: Pick<StoredHook, 'rules'>) => {
  const { verify, map, each, redirectTo, origins, trap, unidentified }: HookRules = JSON.parse(rules.rawJson)
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
    headerPrefixes: preset?.headerPrefixes,
    unidentified: unidentified ?? 'new',
    redirectTo: redirectTo ?? null,
    origins: origins ?? [],
    trap: trap ?? null,
  }
}
export const hashOfToken = (token: string): string => hash('sha256', token, 'base64url')

/** Creates a hook. Its path contains its token, if it has one, for the only time. Refuses `limit_reached`, `invalid_request`. */
export const createHook =
  ({ store, clock, newId, hooks }: Deps) =>
  async ({ tenantId, source, description, ...chosen }: Tenant & GivenHook): Promise<Result<Hook>> => {
    const { sealed, token } = issued(hooks, chosen.verify)
    const rules = rulesText(chosen)
    const now = isoTime(clock())
    const hook: Omit<StoredHook, 'hookId' | 'slot'> = {
      tenantId,
      source,
      description,
      status: 'enabled',
      rules,
      secret: sealed,
      previousSecret: null,
      previousSecretUntil: null,
      createdAt: now,
      updatedAt: now,
      lastReceivedAt: null,
      lastRefusedAt: null,
      lastRefusal: null,
      lastWarnedAt: null,
      lastWarning: null,
    }
    const added = await decideAndSave({
      recall: () => store.hooks.slots(tenantId),
      decide: (taken) => inFreeSlot(hook, taken, newId),
      record: (change) => store.hooks.add(change),
    })
    return { value: hookOf(added, hooks, token) }
  }

const inFreeSlot = (hook: Omit<StoredHook, 'hookId' | 'slot'>, taken: readonly number[], newId: NewId) => {
  const slot = SLOTS.find((slot) => !taken.includes(slot)) ?? tooMany()
  const added: StoredHook = { ...hook, hookId: newId('hook'), slot }
  return { answer: added, change: added }
}
const tooMany = () => refuse('limit_reached', `A tenant has at most ${SLOTS.length} hooks.`)

/** Lists a tenant's hooks, newest first. Refuses `invalid_cursor`. */
export const listHooks = ({ store, hooks }: Pick<Deps, 'store' | 'hooks'>) =>
  sliceOf({
    nameOf: (_: SliceQuery & Tenant) => 'hooks',
    find: (want) => store.hooks.list(want),
    positionOf: ({ hookId }) => hookId,
    itemOf: (hook: StoredHook) => hookOf(hook, hooks),
  })

/** Reads one hook. Refuses `hook_not_found`. */
export const getHook =
  ({ store, hooks }: Pick<Deps, 'store' | 'hooks'>) =>
  async (want: HookWant): Promise<Result<Hook>> => ({
    value: hookOf(await existingHook(store, want), hooks),
  })

/**
 * Changes the given fields of a hook. With `verify`, the old secret or token stays valid for `overlapHours`, unless the
 * method of verification changes too. Refuses `hook_not_found`, `invalid_request`.
 */
export const updateHook =
  ({ store, clock, hooks }: Deps) =>
  async ({ tenantId, hookId, overlapHours, ...fields }: HookWant & HookChanges): Promise<Result<Hook>> => {
    const { verify } = fields
    const { sealed, token } = verify ? issued(hooks, verify) : { sealed: null, token: undefined }
    const update = { fields, overlapHours, sealed, token }
    const changed = await decideAndSave({
      recall: () => store.hooks.find({ tenantId, hookId }),
      decide: (found) => decideUpdate(update, found ?? notFound(), clock(), hooks.secrets.open),
      record: ({ before, after }) => store.hooks.change(after, before.updatedAt),
    })
    return { value: hookOf(changed, hooks, token) }
  }

/** `sealed`: the stored form of a new secret, or of a new `token`. */
type HookUpdate = {
  readonly fields: Omit<HookChanges, 'overlapHours'>
  readonly overlapHours: number
  readonly sealed: string | null
  readonly token: string | undefined
}

const decideUpdate = (
  { fields, overlapHours, sealed, token }: HookUpdate,
  found: StoredHook,
  nowMs: number,
  open: Secrets['open'],
) => {
  const { source, description, status, verify } = fields
  const changes = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  const { rules: _, ...before } = found
  const old: HookRules = JSON.parse(found.rules.rawJson)
  const isSameWay = verify !== undefined && wayOf(verify) === wayOf(old.verify)
  // A repeated request must not end the old secret.
  const isRepeated = isSameWay && token === undefined && open(found.secret) === verify.secret
  const after: StoredHook = {
    ...before,
    ...(sealed !== null && !isRepeated && rotatedTo(sealed, found, isSameWay ? overlapHours : 0, nowMs)),
    source: source ?? found.source,
    description: description === undefined ? found.description : description,
    status: status ?? found.status,
    rules: rulesText({ ...old, ...changes }),
    updatedAt: laterThan(found.updatedAt, isoTime(nowMs)),
  }
  return { answer: after, change: { before: found, after } }
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
  if (hmac?.template.includes('{url}') && publicUrl === null)
    wrong('signs the public URL of this service: set PUBLIC_URL', '/verify')
  const token = isByToken(verify) ? newHookToken() : undefined
  if (token !== undefined) return { sealed: hashOfToken(token), token }
  const { secret = '' } = verify
  const { encoded, isOther } = keyTextOf(secret)
  if (hmac?.secretEncoding === 'base64' && (isOther || !BASE64.test(encoded)))
    wrong(isOther ? OTHER_SECRET : 'must be base64, with or without whsec_ before it', '/verify/secret')
  return { sealed: secrets.seal(secret), token }
}
const wrong = (detail: string, pointer: string) =>
  refuse('invalid_request', 'The verification settings are invalid.', { errors: [{ detail, pointer }] })
const BASE64 = /^[\w+/-]{2,}={0,2}$/
const OTHER_SECRET =
  'must be base64, alone or after whsec_; if the vendor signs with this text as it is, use hmac with the secretEncoding utf8'

const wayOf = ({ preset, hmac, token }: HookRules['verify']): string =>
  JSON.stringify({ preset, hmac, token })
/** Refuses `invalid_request`: a vendor that signs is no browser. */
const rulesText = ({ verify: { preset, hmac, token }, map, each, ...others }: HookRules) => {
  const { redirectTo, origins, trap, unidentified } = others
  const isForBrowsers = Boolean(redirectTo || origins?.length || trap)
  if (isForBrowsers && !isByToken({ preset, token }))
    wrong('must be by a token for redirectTo, origins or trap', '/verify')
  const rules = { verify: { preset, hmac, token }, map, each, redirectTo, origins, trap, unidentified }
  return { rawJson: JSON.stringify(rules) }
}

const hookOf = (hook: StoredHook, { publicUrl }: HookTools, token?: string): Hook => {
  const { verify, hmac, map, each, redirectTo, origins, trap, unidentified } = rulesOf(hook)
  const path = `/hooks/${hook.hookId}${hmac ? '' : `/${token ?? HIDDEN}`}`
  return {
    hookId: hook.hookId,
    tenantId: hook.tenantId,
    source: hook.source,
    description: hook.description,
    status: hook.status,
    verify,
    map,
    each,
    redirectTo,
    origins,
    trap,
    unidentified,
    path,
    url: publicUrl === null ? null : publicUrl + path,
    createdAt: hook.createdAt,
    updatedAt: hook.updatedAt,
    lastReceivedAt: hook.lastReceivedAt,
    lastRefusal: seenAt(hook.lastRefusedAt, hook.lastRefusal),
    lastWarning: seenAt(hook.lastWarnedAt, hook.lastWarning),
  }
}
const seenAt = (at: string | null, reason: string | null) =>
  at === null || reason === null ? null : { at, reason }
