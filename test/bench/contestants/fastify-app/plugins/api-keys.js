import fp from 'fastify-plugin'
import { keyRing } from '../../rival-parts.js'

/** `fastify.needs(scope)`: a hook that refuses a request without a key of that scope, and sets `request.tenantId`. */
export default fp(
  async (fastify) => {
    const tenantOf = keyRing(async (keyHash) => {
      const { rows } = await fastify.pg.query(
        'select tenant_id, scopes, expires_at, revoked_at from api_keys where key_hash = $1',
        [keyHash],
      )
      return rows[0]
    })
    fastify.decorateRequest('tenantId', '')
    fastify.decorate('needs', (scope) => async (request) => {
      request.tenantId = await tenantOf(request.headers['x-api-key'], scope)
    })
  },
  { dependencies: ['postgres'] },
)
