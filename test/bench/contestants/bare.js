// Bare node:http, the ceiling of the runtime: `GET /BYTES` answers a constant of that many bytes; any POST reads its
// body and answers 201 with a constant of the size of a receipt. It checks, stores and logs nothing.
import { createServer } from 'node:http'

const constants = new Map()
const constantOf = (url) => {
  let constant = constants.get(url)
  if (constant === undefined) {
    constant = 'x'.repeat(Number(url.slice(1)))
    constants.set(url, constant)
  }
  return constant
}
const answer = (res, status, body) => {
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': String(body.length) })
  res.end(body)
}

const server = createServer((req, res) => {
  if (req.url === '/healthz') return answer(res, 200, '{}')
  if (req.method === 'GET') return answer(res, 200, constantOf(req.url))
  const chunks = []
  req.on('data', (chunk) => chunks.push(chunk))
  req.on('end', () => {
    Buffer.concat(chunks)
    answer(res, 201, constantOf(req.url))
  })
})
server.keepAliveTimeout = 65_000
server.listen(Number(process.env.PORT), '127.0.0.1')
process.once('SIGTERM', () => process.exit(0))
