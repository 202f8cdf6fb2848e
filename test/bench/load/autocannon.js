// The same load where there is no wrk. Argument: a JSON file with url, apiKey, keyHeader, requests, callers and seconds.
// Its times are whole milliseconds.
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'

const {
  url,
  apiKey,
  keyHeader = 'x-api-key',
  requests,
  callers,
  seconds,
} = JSON.parse(readFileSync(process.argv[2], 'utf8'))
let next = 0
let number = 0
const setupRequest = (request) => {
  const { method, path, body } = requests[next++ % requests.length]
  const headers = { [keyHeader]: apiKey, ...(body !== null && { 'content-type': 'application/json' }) }
  const filled = body?.replace('{n}', () => String(++number).padStart(10, '0'))
  return { ...request, method, path, headers, body: filled }
}
const result = await autocannon({
  url,
  connections: callers,
  duration: seconds,
  timeout: 10,
  requests: [{ setupRequest }],
})
const { latency, errors, timeouts, non2xx } = result
process.stdout.write(
  `RESULT ${JSON.stringify({
    requests: result['2xx'],
    us: result.duration * 1e6,
    meanUs: latency.mean * 1e3,
    p50Us: latency.p50 * 1e3,
    p99Us: latency.p99 * 1e3,
    failed: errors + timeouts + non2xx,
  })}\n`,
)
