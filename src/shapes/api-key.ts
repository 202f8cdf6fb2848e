import * as v from 'valibot'
import { described, id } from './text.ts'
import { timestamp } from './time.ts'

/** An API key as its holder sees it. The key itself is never shown again. */
export const ApiKey = v.object({
  apiKeyId: described(id('apikey'), 'The id of the key.'),
  tenantId: described(id('tenant'), 'The tenant that the key belongs to.'),
  tenantName: described(v.string(), 'The name of that tenant.'),
  name: described(v.nullable(v.string()), 'A name to recognize the key by, or null.'),
  scopes: described(v.array(v.string()), 'The permissions of the key.'),
  createdAt: described(timestamp(), 'When the key was issued, in UTC.'),
  expiresAt: described(v.nullable(timestamp()), 'When the key expires, in UTC; null if it never does.'),
})
export type ApiKey = v.InferOutput<typeof ApiKey>
