// Serves the API under /prospects of your own server, over a SQLite file.
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
  serving(server, store) // prints its address and a key to try
})
