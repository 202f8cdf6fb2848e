import type { PagesWant, StoredPage } from './ports.ts'

/** The first of these pages, as many as one list has; the others are not even looked at. */
export const takePages = (
  pages: Iterable<StoredPage>,
  { rowsMax, namesBytesMax }: Pick<PagesWant, 'rowsMax' | 'namesBytesMax'>,
): StoredPage[] => {
  const taken: StoredPage[] = []
  let namesBytes = 0
  for (const page of pages) {
    taken.push(page)
    if (taken.length === rowsMax) break
    const beforeLast = taken.at(-2)?.customName
    if (beforeLast != null) namesBytes += Buffer.byteLength(beforeLast)
    if (namesBytes > namesBytesMax) break
  }
  return taken
}
