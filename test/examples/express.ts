// Mounted in Express, before body parsers: payloads are stored byte for byte.
import express from 'express'
import { memoryStore } from 'prospect-pages'
import { createApi, createHandler } from 'prospect-pages/http'
import { createPublisher } from 'prospect-pages/publisher'
import { serving } from './first-tenant.ts'

const store = memoryStore()
createPublisher({ store }).start()

const app = express()
app.use('/prospects', createHandler(createApi({ store })))
app.use(express.json())
app.post('/echo', (req, res) => {
  res.json(req.body)
})

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  serving(server, store)
})
