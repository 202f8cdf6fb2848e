import type { Hook, HookChanges } from '../../shapes/hook.ts'
import { decideAndSave } from '../engine/decide-and-save.ts'
import type { Result } from '../engine/result.ts'
import { rotatedTo } from '../engine/sealed-secrets.ts'
import { isoTime, laterThan } from '../engine/times.ts'
import type { HookKey, StoredHook } from '../ports/hooks.ts'
import type { Secrets } from '../ports/secrets.ts'
import type { Needs } from '../ports/store.ts'
import { hookNotFound, hookOf } from './get-hook.ts'
import { type HookRules, rulesText } from './hook-rules.ts'
import { issueSecret } from './hook-secret.ts'
import type { HookTools } from './hook-tools.ts'

type Deps = Needs<'hooks'> & { readonly hooks: HookTools }

/**
 * Changes the given fields of a hook. With `verify`, the old secret or token stays valid for `overlapHours`, unless the
 * method of verification changes too. Refuses `hook_not_found`, `invalid_request`.
 */
export const updateHook =
  ({ store, clock, hooks }: Deps) =>
  async ({ tenantId, hookId, overlapHours, ...fields }: HookKey & HookChanges): Promise<Result<Hook>> => {
    const issued = fields.verify && issueSecret(hooks, fields.verify)
    const update = { fields, overlapHours, sealed: issued?.sealed ?? null, token: issued?.token }
    const changed = await decideAndSave({
      recall: () => store.hooks.find({ tenantId, hookId }),
      decide: (found) => decide(update, found ?? hookNotFound(), clock(), hooks.secrets.open),
      record: ({ before, after }) => store.hooks.change(after, before.updatedAt),
    })
    return { value: hookOf(changed, hooks, update.token) }
  }

/** `sealed`: the stored form of a new secret, or of a new `token`. */
type HookUpdate = {
  readonly fields: Omit<HookChanges, 'overlapHours'>
  readonly overlapHours: number
  readonly sealed: string | null
  readonly token: string | undefined
}

const decide = (
  { fields, overlapHours, sealed, token }: HookUpdate,
  found: StoredHook,
  nowMs: number,
  open: Secrets['open'],
) => {
  const { source, description, status, verify } = fields
  const changes = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
  const { rules: _, ...before } = found
  const old: HookRules = JSON.parse(found.rules.rawJson)
  const isSameMethod = verify !== undefined && methodOf(verify) === methodOf(old.verify)
  // A repeated request must not end the old secret.
  const isRepeated = isSameMethod && token === undefined && open(found.secret) === verify.secret
  const after: StoredHook = {
    ...before,
    ...(sealed !== null && !isRepeated && rotatedTo(sealed, found, isSameMethod ? overlapHours : 0, nowMs)),
    source: source ?? found.source,
    description: description === undefined ? found.description : description,
    status: status ?? found.status,
    rules: rulesText({ ...old, ...changes }),
    updatedAt: laterThan(found.updatedAt, isoTime(nowMs)),
  }
  return { answer: after, change: { before: found, after } }
}

/** How deliveries are verified, whatever the secret is. */
const methodOf = ({ preset, hmac, token }: HookRules['verify']): string =>
  JSON.stringify({ preset, hmac, token })
