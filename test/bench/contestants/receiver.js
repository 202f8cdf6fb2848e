// Takes webhooks, and answers 204. `GET /arrivals` answers how many there were, and when each activity came that was
// asked for with `?when`, in milliseconds since 1970.
import { createServer } from 'node:http'

let count = 0
const arrivedAt = {}

const server = createServer((request, response) => {
  if (request.url === '/healthz') return response.end('{}')
  if (request.method === 'GET') return response.end(JSON.stringify({ count, arrivedAt }))
  const now = performance.timeOrigin + performance.now()
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    count++
    response.writeHead(204).end()
    if (request.url === '/when') arrivedAt[JSON.parse(Buffer.concat(chunks)).data.prospectLogId] = now
  })
})
server.keepAliveTimeout = 65_000
server.listen(Number(process.env.PORT), '127.0.0.1')
process.once('SIGTERM', () => process.exit(0))
