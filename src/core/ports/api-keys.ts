import type { Timestamp } from './world.ts'

/** The scopes of a key that the command line issues without `--scope`. The others are granted only when named. */
export const DEFAULT_SCOPES = [
  'prospect_logs:write',
  'page_groups:read',
  'pages:read',
  'pages:write',
] as const
/** Every scope that an API key can have together with the others: what `all` stands for. */
export const SCOPES = [
  ...DEFAULT_SCOPES,
  'prospects:read',
  'prospects:write',
  'prospects:erase',
  'prospect_logs:read',
  'page_groups:write',
  'events:read',
  'webhooks:write',
  'hooks:write',
] as const
/** What a website needs: with it instead of `pages:read`, a key reads what is published, and nothing else of pages. */
export const READERS_SCOPE = 'pages:published'
/** It permits nothing more: the attributes that such a key writes replace those that a person has. */
export const OVERWRITE_SCOPE = 'attributes:overwrite'
/** Every scope. */
export const EVERY_SCOPE = [...SCOPES, READERS_SCOPE, OVERWRITE_SCOPE] as const
/** One thing that an API key may do, such as `pages:read`. */
export type Scope = (typeof EVERY_SCOPE)[number]
/** An API key as stored: its SHA-256, never the key itself. */
export type StoredApiKey = {
  readonly apiKeyId: string
  readonly tenantId: string
  readonly keyHash: string
  /** The first characters, so that a person recognizes it. */
  readonly start: string
  readonly name: string | null
  readonly scopes: readonly Scope[]
  readonly createdAt: Timestamp
  readonly expiresAt: Timestamp | null
  readonly revokedAt: Timestamp | null
  /** The time when its successor was issued. */
  readonly rotatedAt: Timestamp | null
  /** Coarse: for a key in use, at most five minutes old. */
  readonly lastUsedAt: Timestamp | null
}
/** The state of the tenant of a key or a hook: while it is suspended, both are refused. */
export type TenantState = { readonly isSuspended: boolean }
/** Changes a key only if it is not revoked and was last rotated at this time: of two concurrent rotations one succeeds. */
export type Rotation = {
  readonly lastRotatedAt: Timestamp | null
  readonly rotatedAt: Timestamp
  readonly expiresAt: Timestamp
}
/** The part of a store that keeps API keys. */
export type ApiKeys = {
  /** The existing ones, in any order. */
  findByHashes(keyHashes: readonly string[]): Promise<readonly (StoredApiKey & TenantState)[]>
  find(apiKeyId: string): Promise<StoredApiKey | null>
  list(tenantId: string): Promise<readonly StoredApiKey[]>
  /** Whether there has never been a key, of any tenant. */
  isEmpty(): Promise<boolean>
  add(key: StoredApiKey): Promise<void>
  /** Revokes a key, or sets when it was rotated and will end. Returns whether it did: see `Rotation`. */
  end(apiKeyId: string, when: Readonly<{ revokedAt: Timestamp }> | Rotation): Promise<boolean>
  markUsed(apiKeyId: string, at: Timestamp): Promise<void>
}
