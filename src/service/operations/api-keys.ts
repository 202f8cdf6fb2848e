import { ApiKey } from '../../shapes/api-key.ts'
import { anyId } from '../../shapes/input.ts'
import { get } from './operation.ts'

export const apiKeyOperations = {
  /** Reads an API key, without the key itself. Over HTTP: that of the request. */
  getApiKey: get('/v0/api_keys/self', {
    summary: 'Read the API key of this request',
    scope: null,
    ids: { apiKeyId: anyId },
    answer: ApiKey,
  }),
}
