import postgres from '@fastify/postgres'
import fp from 'fastify-plugin'

/** `fastify.pg`: a pool of pg, ten connections by default. Its address comes from PGHOST, PGUSER and PGDATABASE. */
export default fp(
  async (fastify) => {
    fastify.register(postgres)
  },
  { name: 'postgres' },
)
