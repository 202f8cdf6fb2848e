import type { Page } from '../shapes/page.ts'
import type { PageGroup } from '../shapes/page-group.ts'
import { can, get, path, type Slice } from './api.ts'

export type NamedPage = { readonly name: string; readonly pageGroupId: string; readonly groupName: string }

/** Requests for one report. Pages beyond that are shown by their IDs. */
const REQUESTS_MAX = 40
const SLICE_LENGTH = 100
/** Groups whose pages can be chosen. */
const GROUPS_MAX = 20
/** Pages that were found, by id. Their names may change while the console is open: the view of a page shows the present one. */
const known = new Map<string, NamedPage>()
/** Ids that no page has: deleted pages are not searched for each time. */
const missing = new Set<string>()

/** Newest pages of each group that a form can be put on, and groups. */
const CHOICES_MAX = 100

/** The pages to choose from, by id: those that were created last. Empty if the key may not read them. */
export const pagesToChoose = async (): Promise<ReadonlyMap<string, NamedPage>> => {
  const found = new Map<string, NamedPage>()
  if (!can('pages:read') || !can('page_groups:read')) return found
  const groups = await get<Slice<PageGroup>>('/page_groups', { limit: GROUPS_MAX, status: 'active' })
  const readPages = async ({ pageGroupId, name }: PageGroup): Promise<void> => {
    const url = path`/page_groups/${pageGroupId}/pages`
    const pages = await get<Slice<Page>>(url, { limit: CHOICES_MAX })
    for (const page of pages.items)
      found.set(page.pageId, { name: page.effectiveName, pageGroupId, groupName: name })
  }
  await Promise.all(groups.items.map(readPages))
  return found
}

/** The names of these pages, as far as the key may read them. */
export const namesOfPages = async (
  ids: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, NamedPage>> => {
  const wanted = new Set(ids.filter((id) => !known.has(id) && !missing.has(id)))
  // Without their names, the pages are shown by their IDs.
  if (wanted.size > 0 && can('pages:read') && can('page_groups:read'))
    await searchPages(wanted, signal).catch(() => {})
  return known
}

/** Reads the pages of all groups, newest first, until each wanted one is found. */
const searchPages = async (wanted: Set<string>, signal: AbortSignal): Promise<void> => {
  let requests = 0
  const readAll = async function* <Item>(url: string): AsyncGenerator<Item> {
    let cursor: string | undefined
    do {
      if (wanted.size === 0 || ++requests > REQUESTS_MAX) return
      const slice: Slice<Item> = await get(url, { limit: SLICE_LENGTH, cursor }, signal)
      yield* slice.items
      cursor = slice.nextCursor
    } while (cursor !== undefined)
  }
  for await (const { pageGroupId, name } of readAll<PageGroup>('/page_groups')) {
    for await (const page of readAll<Page>(path`/page_groups/${pageGroupId}/pages`)) {
      known.set(page.pageId, { name: page.effectiveName, pageGroupId, groupName: name })
      wanted.delete(page.pageId)
    }
  }
  if (requests <= REQUESTS_MAX) for (const id of wanted) missing.add(id)
}
