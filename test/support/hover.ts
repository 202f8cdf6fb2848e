import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const TSC = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url))
type Message = { readonly id?: number | string; readonly method?: string; readonly result?: unknown }
type Hover = { readonly contents: { readonly value: string } } | null

/** The hover text of an editor at the end of each of these texts of a file, by the language server of the checkout's compiler. */
export const hoversIn = async (folder: string, name: string, ends: readonly string[]): Promise<string[]> => {
  const server = spawn(TSC, ['--lsp', '--stdio'], { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting = new Map<number, (result: unknown) => void>()
  let received = Buffer.alloc(0)
  const send = (message: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }
  const ask = (method: string, params: object) =>
    new Promise<unknown>((resolve) => {
      waiting.set(waiting.size, resolve)
      send({ id: waiting.size - 1, method, params })
    })
  const take = ({ id, method, result }: Message) => {
    if (method === undefined) waiting.get(Number(id))?.(result)
    // It registers for changes of files, and asks for settings: there are none.
    else if (id !== undefined) send({ id, result: null })
  }
  server.stdout.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    for (;;) {
      const [head, length] = /^Content-Length: (\d+).*?\r\n\r\n/s.exec(received.toString('latin1')) ?? []
      if (head === undefined || length === undefined) return
      const end = head.length + Number(length)
      if (received.length < end) return
      take(JSON.parse(received.toString('utf8', head.length, end)))
      received = received.subarray(end)
    }
  })
  const text = readFileSync(join(folder, name), 'utf8')
  const textDocument = {
    uri: pathToFileURL(join(folder, name)).href,
    languageId: 'typescript',
    version: 1,
    text,
  }
  const shown: string[] = []
  try {
    await ask('initialize', { processId: process.pid, rootUri: null, capabilities: {} })
    send({ method: 'initialized', params: {} })
    send({ method: 'textDocument/didOpen', params: { textDocument } })
    for (const end of ends) {
      const before = text.slice(0, text.indexOf(end) + end.length - 1).split('\n')
      const position = { line: before.length - 1, character: before.at(-1)?.length }
      const hover = (await ask('textDocument/hover', { textDocument, position })) as Hover
      shown.push(hover?.contents.value ?? '')
    }
  } finally {
    server.kill()
  }
  return shown
}
