import type { Timestamp } from './world.ts'

export const SCOPES = ['prospect_logs:write', 'page_groups:read', 'pages:read', 'pages:write'] as const
export type Scope = (typeof SCOPES)[number]
export type StoredApiKey = {
  readonly apiKeyId: string
  readonly tenantId: string
  readonly keyHash: string
  /** The first characters, so that a person recognises it. */
  readonly start: string
  readonly name: string | null
  readonly scopes: readonly Scope[]
  readonly createdAt: Timestamp
  readonly expiresAt: Timestamp | null
  readonly revokedAt: Timestamp | null
  /** Coarse: at most an hour old. */
  readonly lastUsedAt: Timestamp | null
}
export type ApiKeys = {
  findByHash(keyHash: string): Promise<StoredApiKey | null>
  find(apiKeyId: string): Promise<StoredApiKey | null>
  list(tenantId: string): Promise<readonly StoredApiKey[]>
  /** Whether there has never been a key, of any tenant. */
  isEmpty(): Promise<boolean>
  add(key: StoredApiKey): Promise<void>
  /** Ends a key, or sets when it will end. */
  end(
    apiKeyId: string,
    when: { readonly revokedAt: Timestamp } | { readonly expiresAt: Timestamp },
  ): Promise<void>
  markUsed(apiKeyId: string, at: Timestamp): Promise<void>
}
