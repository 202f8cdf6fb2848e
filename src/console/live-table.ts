import { repeated } from './api.ts'
import { card, h, refill, table } from './dom.ts'
import { repeat } from './live.ts'

const POLL_MS = 2_000

type Options<Item> = {
  readonly signal: AbortSignal
  readonly path: string
  readonly heads: readonly string[]
  readonly rowOf: (item: Item) => HTMLElement
  /** The text shown while there are none. */
  readonly none: string
}
/** A short list that is read again and again, such as all endpoints. */
export const liveTable = async <Item>({ signal, path, heads, rowOf, none }: Options<Item>) => {
  const list = h('div')
  const poll = repeated<{ readonly items: readonly Item[] }>(path)
  const work = async (): Promise<void> => {
    const answer = await poll({}, signal)
    if (answer === null) return
    const rows = answer.value.items.map(rowOf)
    refill(list, rows.length > 0 ? table(heads, rows) : h('p.muted.empty', {}, none))
  }
  await repeat({ signal, ms: POLL_MS, work })
  return card(list)
}
