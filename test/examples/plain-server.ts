// The HTTP interface under /prospects of a server that is yours, on the database inside Node.
import { createServer } from 'node:http'
import { createApi, createHandler } from 'prospect-pages/http'
import { createPublisher } from 'prospect-pages/publisher'
import { sqliteStore } from 'prospect-pages/sqlite'
import { serving } from './first-tenant.ts'

const store = sqliteStore({ path: 'data/prospects.db' })
await store.migrate()
createPublisher({ store }).start()

const handler = createHandler(createApi({ store }), { prefix: '/prospects' })
const server = createServer(handler).listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  serving(server, store) // prints where it serves, with a key to try
})
