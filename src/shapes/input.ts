// Inputs of operations that programs call directly: as over HTTP, with the ids of its path and key.
import * as v from 'valibot'
import { AttributesMode } from './attributes.ts'
import { bodyOf, lenientOf } from './body.ts'
import { idempotencyKey, NewProspectLog } from './prospect-log.ts'
import { boundedText, text, whole } from './text.ts'

type OfTenant = {
  /** The id of the tenant that owns the data. */
  readonly tenantId: string
}
type Members<Entries extends v.ObjectEntries> = v.ObjectSchema<Entries, undefined>
export type InTenant<Entries extends v.ObjectEntries> = { readonly entries: Entries } & v.GenericSchema<
  OfTenant & v.InferInput<Members<Entries>>,
  OfTenant & v.InferOutput<Members<Entries>>
>
/**
 * An object with these members and its tenant. Unknown members are treated as `body` treats them. Without a body they are
 * ignored, because callers may pass a whole resource to read or delete it.
 */
export const inTenant = <Entries extends v.ObjectEntries>(entries: Entries, body?: object) =>
  shapeLike(body)({ tenantId: text(), ...entries }) as unknown as InTenant<Entries>
const shapeLike = (body: object | undefined) => {
  if (body === undefined) return v.object
  return body === NewProspectLog ? lenientOf : bodyOf
}
/** Any text, as in a path: an id of any form that does not exist is not found. */
export const anyId = text()
export const idempotent = { idempotencyKey: v.optional(idempotencyKey()) }
/** The revisions that a change applies to; by default any. */
export const ifRevision = { ifRevision: v.optional(v.array(whole(1))) }
/**
 * Whether to answer what readers see instead of everything: published versions in active groups, and nothing else. Over
 * HTTP the key decides: it has `pages:published` instead of the scope of the operation.
 */
export const forReaders = { publishedOnly: v.optional(v.boolean()) }
export type ForReaders = { readonly publishedOnly?: boolean | undefined }
/** Whether attributes overwrite those that the prospect has; by default they do not. Over HTTP a scope of the key decides. */
export const inMode = { attributesMode: v.optional(AttributesMode) }
/** A signal that ends a wait: over HTTP when the caller leaves, or the service stops. */
export const abortable = { signal: v.optional(v.instance(AbortSignal)) }

const name = boundedText(1, 255)
const DAY_MS = 86_400_000
const years = v.maxValue<number, number, string>(1_000 * 366 * DAY_MS, 'must be at most 1,000 years')
const lifeMs = v.pipe(whole(1), years)

export const TenantInput = bodyOf({ name })
export const ApiKeyInput = bodyOf({
  tenantId: text(),
  name: v.optional(v.nullable(name), null),
  lifeMs: v.optional(v.nullable(lifeMs), null),
})
export const PublishedOptions = bodyOf({ timeoutMs: v.optional(whole(0), 30_000) })
export const RotationInput = bodyOf({ overlapMs: v.optional(v.pipe(whole(0), years), DAY_MS) })
