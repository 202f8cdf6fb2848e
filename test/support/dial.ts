import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { mustBeDocumented } from './documented.ts'

/** An answer of a server, read from the text on a socket. */
export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly json: Readonly<Record<string, unknown>>
}
type Request = { readonly method: string; readonly target: string }

/** The text of a request with the header Host. */
export const requestOf = (line: string, headers: readonly string[], body = '') =>
  [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', body].join('\r\n')

const REQUEST_LINE = /([A-Z]+) ((?:\/|http:)\S*)(?: HTTP\/1\.\d)?\r\n/g
const END_OF_HEADERS = '\r\n\r\n'

/** Opens a connection for HTTP as text. Its answers are checked against the OpenAPI document. */
export const dial = (port: number) => {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  const requests: Request[] = []
  let received = ''
  let connectionError: Error | undefined
  socket.on('data', (chunk: string) => {
    received += chunk
  })
  socket.on('error', (error) => {
    connectionError = error
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const answersSoFar = () => documentedAnswers(received, requests)

  const connection = {
    /** Sends text as Latin-1, in the given pieces. */
    send: (...pieces: readonly string[]) => {
      for (const [, method = '', target = ''] of pieces.join('').matchAll(REQUEST_LINE))
        requests.push({ method, target })
      for (const piece of pieces) socket.write(piece, 'latin1')
      return connection
    },
    /** Waits for this many answers, and returns all received so far. Answers with status 100 count. */
    answers: async (count: number): Promise<Answer[]> => {
      const enough = Promise.withResolvers<void>()
      const checkCount = () => {
        try {
          if (answersSoFar().length >= count) enough.resolve()
        } catch (error) {
          enough.reject(error)
        }
      }
      const refuseAtClose = () => enough.reject(connectionError ?? new Error(`closed after: ${received}`))
      socket.on('data', checkCount)
      void closed.then(refuseAtClose)
      checkCount()
      try {
        await enough.promise
      } finally {
        socket.off('data', checkCount)
      }
      return answersSoFar()
    },
    /** Returns all answers, once the connection is closed without an error. */
    closed: async (): Promise<Answer[]> => {
      await closed
      assert.ifError(connectionError)
      return answersSoFar()
    },
    /** Returns the error of the connection, once it is closed. */
    fault: async () => {
      await closed
      return connectionError
    },
    /** Ends the requests, and keeps reading answers. */
    finish: () => {
      socket.end()
      return connection
    },
    hangUp: () => socket.destroy(),
  }
  return connection
}

/** The complete answers in a text, each checked against the OpenAPI document by the request it answers. */
const documentedAnswers = (text: string, requests: readonly Request[]): Answer[] => {
  const answers: Answer[] = []
  let rest = text
  let requestIndex = 0
  while (rest !== '') {
    const next = nextAnswer(rest, requests[requestIndex])
    if (next === null) break
    answers.push(next.answer)
    rest = next.rest
    // An answer with status 100 precedes the final one to the same request.
    if (next.answer.status === 100) continue
    const request = requests[requestIndex]
    if (request !== undefined) mustBeDocumented(request, next.answer)
    requestIndex += 1
  }
  return answers
}

/** The first answer in a text, and the text after it; null while it is incomplete. */
const nextAnswer = (text: string, request?: Request): { answer: Answer; rest: string } | null => {
  const headEnd = text.indexOf(END_OF_HEADERS)
  if (headEnd < 0) return null
  const [statusLine = '', ...headerLines] = text.slice(0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
  const headers = Object.fromEntries(headerLines.map(headerOf))
  const isBare = status === 100 || status === 204
  assert.ok(isBare || headers['content-length'] !== undefined, `an answer without its length: ${text}`)
  const hasBody = !isBare && request?.method !== 'HEAD'
  const bodyStart = headEnd + END_OF_HEADERS.length
  const bodyEnd = bodyStart + (hasBody ? Number(headers['content-length']) : 0)
  if (text.length < bodyEnd) return null
  const body = text.slice(bodyStart, bodyEnd)
  const json = body === '' ? {} : JSON.parse(body)
  return { answer: { status, headers, body, json }, rest: text.slice(bodyEnd) }
}

const headerOf = (line: string): [name: string, value: string] => {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)]
}

/** The code of each problem, and the status of each other answer. */
export const codesOf = (answers: readonly Answer[]) => answers.map(({ status, json }) => json.code ?? status)
