import type { ShareLoop } from '../ports/world.ts'

/** The `ShareLoop` of a process that has no other work: nothing waits. */
export const atOnce: ShareLoop = () => undefined

/** `map` for items whose work may take milliseconds: between two of them, other tenants may get the event loop. */
export const mapSharingLoop = async <Item extends { readonly tenantId: string }, Result>(
  shareLoop: ShareLoop,
  items: readonly Item[],
  run: (item: Item, i: number) => Result,
): Promise<Result[]> => {
  const results: Result[] = []
  for (const [i, item] of items.entries()) {
    const turn = shareLoop(item.tenantId)
    if (turn) await turn
    results.push(run(item, i))
  }
  return results
}
