import { once } from 'node:events'
import { request } from 'node:http'

const ACTIVITY = { source: 'crm', payload: { form: 'contact' } }

/** A request whose body is half sent; `finish` sends the rest and answers the status. */
export const heldRequest = async (url: string, apiKey: string) => {
  const body = JSON.stringify(ACTIVITY)
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json', expect: '100-continue' }
  const sent = request(`${url}/v0/prospect_logs`, {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
  })
  const status = new Promise<number | undefined>((resolve) => {
    sent.once('response', (response) => resolve(response.resume().statusCode))
    sent.once('error', () => resolve(undefined))
  })
  sent.flushHeaders()
  const answeredEarly = status.then((early) => Promise.reject(new Error(`answered at once: ${early}`)))
  await Promise.race([once(sent, 'continue'), answeredEarly])
  answeredEarly.catch(() => {})
  sent.write(body.slice(0, 10))
  return {
    status,
    finish: () => {
      sent.end(body.slice(10))
      return status
    },
  }
}
