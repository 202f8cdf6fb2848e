// Mounted in Fastify: a hook takes the requests under the prefix before their bodies are parsed.
import fastify from 'fastify'
import { memoryStore } from 'prospect-pages'
import { createApi, createHandler } from 'prospect-pages/http'
import { createPublisher } from 'prospect-pages/publisher'
import { serving } from './first-tenant.ts'

const store = memoryStore()
createPublisher({ store }).start()
const handler = createHandler(createApi({ store }), { prefix: '/prospects' })

const app = fastify()
app.register(
  async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      reply.hijack()
      handler(request.raw, reply.raw)
    })
    scope.all('/*', () => {})
  },
  { prefix: '/prospects' },
)
app.post('/echo', async (request) => request.body)

await app.listen({ port: Number(process.env['PORT'] ?? 3000), host: '127.0.0.1' })
await serving(app.server, store)
