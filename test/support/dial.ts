import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { mustBeDocumented } from './api.ts'

/** HTTP as text on a socket. */
export type Heard = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly json: Readonly<Record<string, unknown>>
}

/** A request with the header Host. */
export const requestOf = (line: string, headers: readonly string[], body = '') =>
  [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n')

const REQUEST_LINE = /([A-Z]+) ((?:\/|http:)\S*)(?: HTTP\/1\.\d)?\r\n/g

/** A connection. Its answers are checked against the OpenAPI document. */
export const dial = (port: number) => {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  const asked: { method: string; target: string }[] = []
  let text = ''
  let fault: Error | undefined
  let look = () => {}
  socket.on('data', (chunk: string) => {
    text += chunk
    look()
  })
  socket.on('error', (error) => {
    fault = error
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const heard = () => answersIn(text, asked)

  const line = {
    /** Sends a text, each character as one byte; in pieces if they are given so. */
    say: (...pieces: readonly string[]) => {
      for (const [, method = '', target = ''] of pieces.join('').matchAll(REQUEST_LINE))
        asked.push({ method, target })
      for (const piece of pieces) socket.write(piece, 'latin1')
      return line
    },
    /** The answers, once there are so many; those with 100 count. */
    answers: async (count: number): Promise<Heard[]> => {
      await new Promise<void>((resolve, reject) => {
        look = () => {
          try {
            if (heard().length >= count) resolve()
          } catch (error) {
            reject(error)
          }
        }
        void closed.then(() => reject(fault ?? new Error(`closed after: ${text}`)))
        look()
      })
      return heard()
    },
    /** Everything heard, once the connection is closed without a fault. */
    closed: async (): Promise<Heard[]> => {
      await closed
      assert.ifError(fault)
      return heard()
    },
    /** The error of the connection, once it is closed. */
    fault: async () => {
      await closed
      return fault
    },
    /** Says that nothing more is coming, and goes on listening. */
    finish: () => {
      socket.end()
      return line
    },
    hangUp: () => socket.destroy(),
  }
  return line
}

/** The whole answers in a text. */
const answersIn = (text: string, asked: readonly { method: string; target: string }[]): Heard[] => {
  const answers: Heard[] = []
  let rest = text
  for (let final = 0; rest.includes('\r\n\r\n'); ) {
    const end = rest.indexOf('\r\n\r\n') + 4
    const [first = '', ...lines] = rest.slice(0, end - 4).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 2),
      ]),
    )
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
    const request = status === 100 ? undefined : asked[final++]
    const isBare = status === 100 || status === 204
    assert.ok(isBare || headers['content-length'] !== undefined, `an answer without its length: ${text}`)
    const length = isBare || request?.method === 'HEAD' ? 0 : Number(headers['content-length'])
    if (rest.length < end + length) break
    const body = rest.slice(end, end + length)
    const answer = { status, headers, body, json: body === '' ? {} : JSON.parse(body) }
    if (request !== undefined) mustBeDocumented(request, answer)
    answers.push(answer)
    rest = rest.slice(end + length)
  }
  return answers
}

/** A short form of the answers. */
export const codesOf = (answers: readonly Heard[]) => answers.map(({ status, json }) => json.code ?? status)
