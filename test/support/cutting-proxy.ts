import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * What becomes of a request: it passes; its connection ends before it arrives, once it was carried out, or in the middle of
 * the answer; it waits; the proxy answers in place of the server.
 */
export type Fate =
  | 'passes'
  | 'cut before'
  | 'cut after'
  | 'cut within'
  | { readonly delayMs: number }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
type Owner = { readonly teardown: (end: () => void) => void }

/** A proxy before a server that may move. Answers its URL. */
export const startCuttingProxy = async (
  t: Owner,
  target: () => string,
  fateOf: () => Fate,
): Promise<string> => {
  const server = createServer(async (request, response) => {
    const fate = fateOf()
    const end = () => {
      request.socket.destroy()
    }
    if (fate === 'cut before') {
      end()
      return
    }
    const body = Buffer.concat(await request.toArray().catch(() => []))
    if (typeof fate === 'object' && 'status' in fate) {
      response.writeHead(fate.status, fate.headers).end(fate.body)
      return
    }
    if (typeof fate === 'object') await new Promise((resolve) => setTimeout(resolve, fate.delayMs))
    const answer = await ask(target(), request, body).catch(() => null)
    if (answer === null || fate === 'cut after') end()
    else pass(answer, response, fate === 'cut within')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type Answer = { readonly head: IncomingMessage; readonly body: Buffer }
const ask = (url: string, { method, headers, url: path }: IncomingMessage, body: Buffer): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = forward(url + path, { method, headers }, (head) => {
      head.toArray().then((chunks) => resolve({ head, body: Buffer.concat(chunks) }), reject)
    })
    sent.on('error', reject).end(body)
  })
const pass = ({ head, body }: Answer, response: ServerResponse, isCut: boolean): void => {
  const { connection: _, 'transfer-encoding': __, ...headers } = head.headers
  response.writeHead(head.statusCode ?? 502, { ...headers, 'content-length': body.length })
  if (!isCut) response.end(body)
  else response.write(body.subarray(0, body.length / 2), () => response.destroy())
}
