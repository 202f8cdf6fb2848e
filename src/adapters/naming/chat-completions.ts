import type { Namer } from '../../core/ports/versions.ts'

/** Which server names pages, and how long it may take. */
export type ChatCompletionsSettings = {
  /** The base of the API, such as `http://127.0.0.1:11434/v1`, or its full address. */
  readonly url: string
  readonly model: string
  readonly apiKey: string | undefined
  readonly msMax: number
}

const ANSWER_BYTES_MAX = 65_536
const CONTEXT_CHARACTERS_MAX = 4_000
const INSTRUCTION =
  'You name web pages. Answer with one short name for the page that is described: at most eight words, one line, no quotes, nothing else.'

/** Asks any server that speaks the chat-completions protocol for a page's name. */
export const chatCompletionsNamer = ({ url, model, apiKey, msMax }: ChatCompletionsSettings): Namer => {
  const address = url.endsWith('/chat/completions') ? url : `${url.replace(/\/+$/, '')}/chat/completions`
  const headers = {
    'content-type': 'application/json',
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
  }
  return async ({ groupTitle, pageContext, supplementaryContext }, stop) => {
    const description = [`Group: ${groupTitle}`, pageContext, supplementaryContext]
      .filter((part) => part !== null)
      .map((part) => part.slice(0, CONTEXT_CHARACTERS_MAX))
      .join('\n\n')
    const response = await fetch(address, {
      method: 'POST',
      headers,
      redirect: 'error',
      signal: AbortSignal.any([stop, AbortSignal.timeout(msMax)]),
      body: JSON.stringify({
        model,
        max_tokens: 60,
        messages: [
          { role: 'system', content: INSTRUCTION },
          { role: 'user', content: description },
        ],
      }),
    })
    const text = await readAtMost(response, ANSWER_BYTES_MAX)
    if (!response.ok) throw new Error(`the naming server answered ${response.status}`)
    const content = contentOf(text)
    if (typeof content !== 'string') throw new Error('the naming server answered no message')
    return content
  }
}

/** V8's message would quote the answer, which may quote the page. */
const contentOf = (text: string): unknown => {
  try {
    return JSON.parse(text)?.choices?.[0]?.message?.content
  } catch {
    throw new Error('the naming server did not answer JSON')
  }
}

const readAtMost = async (response: Response, bytesMax: number): Promise<string> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(`the naming server answered more than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
