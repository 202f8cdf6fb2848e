/** Names for pages from any server that speaks the chat-completions protocol, hosted or local. */
export { type ChatCompletionsSettings, chatCompletionsNamer } from '../adapters/naming/chat-completions.ts'
export { namingFailure } from '../core/pages/name-patiently.ts'
export type { Namer, NamingContext } from '../core/ports/versions.ts'
