import type { ShareLoop } from '../ports/world.ts'

/** Lets nobody else take a turn. */
export const atOnce: ShareLoop = () => undefined

/** Runs this for each item, in order, each as a piece of work of its tenant. */
export const eachInTurn = async <Item extends { readonly tenantId: string }, Found>(
  shareLoop: ShareLoop,
  items: readonly Item[],
  run: (item: Item, i: number) => Found,
): Promise<Found[]> => {
  const found: Found[] = []
  for (const [i, item] of items.entries()) {
    const busy = shareLoop(item.tenantId)
    if (busy) await busy
    found.push(run(item, i))
  }
  return found
}
