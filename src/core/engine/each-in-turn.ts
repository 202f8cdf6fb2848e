import type { ShareLoop } from '../ports/world.ts'

/** Runs work at once; other tenants take no turn. */
export const atOnce: ShareLoop = () => undefined

/** Runs a function for each item, in order, each as a piece of work of its tenant. */
export const eachInTurn = async <Item extends { readonly tenantId: string }, Result>(
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
