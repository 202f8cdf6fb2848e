import { checkOptions } from '../../config/check-options.ts'
import { namingFailure } from '../../core/pages/name-patiently.ts'
import type { Namer } from '../../core/ports/versions.ts'
import { atRoot } from '../at-root.ts'

/** The server that names pages, and the requests to it. */
export type ChatCompletionsSettings = {
  /** The base of the API, such as `http://127.0.0.1:11434/v1`, or its full address. */
  readonly url: string
  readonly model: string
  readonly apiKey?: string | undefined
  /** Members that each request has in addition or instead: null removes one. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined
}

const ANSWER_BYTES_MAX = 65_536
const CONTEXT_CHARACTERS_MAX = 4_000
const INSTRUCTION =
  'You name web pages. Answer with one short name for the page that is described: at most eight words, one line, no quotes, nothing else.'

/** Asks any server that speaks the chat-completions protocol for a page's name. */
export const chatCompletionsNamer = (settings: ChatCompletionsSettings): Namer => {
  const { url, model, apiKey, extraBody = {} } = checkOptions('chatCompletionsNamer', settings)
  const address = url.endsWith('/chat/completions') ? url : `${url.replace(/\/+$/, '')}/chat/completions`
  const authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
  // JSON leaves out members that are undefined.
  const extra = Object.fromEntries(Object.entries(extraBody).map(([key, value]) => [key, value ?? undefined]))
  return async ({ groupTitle, pageContext, supplementaryContext }, stop) => {
    const description = [`Group: ${groupTitle}`, pageContext, supplementaryContext]
      .filter((part) => part !== null)
      .map((part) => part.slice(0, CONTEXT_CHARACTERS_MAX))
      .join('\n\n')
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization },
      redirect: 'error' as const,
      signal: stop,
      body: JSON.stringify({
        model,
        // A reasoning model thinks before it answers.
        max_tokens: 2_000,
        messages: [
          { role: 'system', content: INSTRUCTION },
          { role: 'user', content: description },
        ],
        ...extra,
      }),
    }
    const response = await atRoot(() => fetch(address, init))
    if (!response.ok)
      throw namingFailure(`the naming server answered ${response.status}`, retryAfterMsOf(response))
    const choice = choiceOf(await readAtMost(response, ANSWER_BYTES_MAX))
    if (choice?.finish_reason === 'length') throw namingFailure('the answer was truncated: raise max_tokens')
    const content = choice?.message?.content
    if (typeof content !== 'string') throw namingFailure('the naming server returned no message')
    return content
  }
}

/** The pause before a retry. With any other status a refusal is permanent. */
const retryAfterMsOf = ({ status, headers }: Response): number | undefined =>
  status >= 500 || status === 429 || status === 408 ? 1_000 * Number(headers.get('retry-after')) : undefined

/** The error must not contain V8's message, which would quote the answer, which may quote the page. */
const choiceOf = (text: string) => {
  try {
    return JSON.parse(text)?.choices?.[0]
  } catch {
    throw namingFailure('the naming server did not return JSON')
  }
}

const readAtMost = async (response: Response, bytesMax: number): Promise<string> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > bytesMax) throw namingFailure(`the naming server returned more than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
