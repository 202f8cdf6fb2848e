export default async function (fastify) {
  fastify.get('/healthz', async () => ({ status: 'ok' }))
}
