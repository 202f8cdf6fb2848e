// Rival 3: a service laid out as `fastify generate` lays one out, started by `fastify start`, with the plugins and the
// calls that Fastify's documentation shows. Plugins and routes are found by their folder.
import { join } from 'node:path'
import AutoLoad from '@fastify/autoload'

export default async function (fastify, opts) {
  fastify.register(AutoLoad, { dir: join(import.meta.dirname, 'plugins'), options: { ...opts } })
  fastify.register(AutoLoad, { dir: join(import.meta.dirname, 'routes'), options: { ...opts } })
}
