import { getApiKey } from '../../core/tenants/get-api-key.ts'
import { ApiKey } from '../../shapes/api-key.ts'
import { anyId } from '../../shapes/input.ts'
import * as example from './examples.ts'
import { get } from './operation.ts'

export const apiKeyOperations = {
  /** Reads an API key, without the key itself. Over HTTP: that of the request. */
  getApiKey: get(
    '/v0/api_keys/self',
    {
      summary: 'Read the API key of this request',
      scope: null,
      needs: ['apiKeys', 'tenants'],
      useCase: getApiKey,
      ids: { apiKeyId: anyId },
      answer: ApiKey,
    },
    {
      description: 'Returns the scopes of the API key of this request, and its tenant.',
      done: 'The key, without its text.',
      answers: {
        own: {
          summary: 'A key that never expires',
          value: {
            apiKeyId: example.id('apikey', 'k11'),
            tenantId: example.TENANT_ID,
            tenantName: 'Acme',
            name: 'crm',
            scopes: ['prospect_logs:write', 'prospect_logs:read'],
            createdAt: example.CREATED_AT,
            expiresAt: null,
          },
        },
      },
    },
  ),
}
