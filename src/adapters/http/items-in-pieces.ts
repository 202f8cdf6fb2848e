import { shareLoop } from '../loop-share.ts'
import type { Run } from './route.ts'

/** Items that are written at a time. */
const PIECE_LENGTH = 500

type List = { readonly items: readonly object[] }

/**
 * Writes the items of an answer as JSON, some at a time: writing thousands at once would block the event loop for many
 * milliseconds. Requests that share an answer share its text. The route must write its answers by `writeJson`.
 */
export const writeItemsInPieces = (run: Run): Run => {
  const written = new WeakMap<object, Promise<object>>()
  return async (useCases, request, steps) => {
    const answer = await run(useCases, request, steps)
    const list = answer.body as List
    const shared = written.get(list) ?? withItemsAsText(list, request.tenantId)
    written.set(list, shared)
    return { ...answer, body: await shared }
  }
}

const withItemsAsText = async (list: List, tenantId: string): Promise<object> => {
  const pieces: string[] = []
  for (let from = 0; from < list.items.length; from += PIECE_LENGTH) {
    await shareLoop(tenantId, true)
    const piece = JSON.stringify(list.items.slice(from, from + PIECE_LENGTH))
    pieces.push(piece.slice(1, -1))
  }
  return { ...list, items: { rawJson: `[${pieces}]` } }
}
