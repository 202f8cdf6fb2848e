import type { Page } from '../shapes/page.ts'
import type { PageGroup } from '../shapes/page-group.ts'
import { can, get, path, type Slice } from './api.ts'
import { addressOf, bdi, h, refill } from './dom.ts'

/** Maximum number of page groups that are read. */
const GROUPS_MAX = 20
/** Minimum time between two reads of all pages, which an unknown id causes. */
const FRESH_MS = 60_000

/** The newest page groups, and the newest pages of each by their ids. */
type Known = { readonly groups: readonly PageGroup[]; readonly pages: ReadonlyMap<string, Page> }
const NONE: Known = { groups: [], pages: new Map() }
let read: Promise<Known> = Promise.resolve(NONE)
let readMs = 0

/** The newest pages and their groups, as they were at most so long ago. */
export const knownPages = (ageMsMax: number): Promise<Known> => {
  const isStale = Date.now() - readMs >= ageMsMax
  if (isStale && can('pages:read') && can('page_groups:read')) {
    readMs = Date.now()
    read = readPages().catch(() => NONE)
  }
  return read
}

const readPages = async (): Promise<Known> => {
  const { items: groups } = await get<Slice<PageGroup>>('/page_groups', { limit: GROUPS_MAX })
  const ofGroup = ({ pageGroupId }: PageGroup) =>
    get<Slice<Page>>(path`/page_groups/${pageGroupId}/pages`, { limit: 100 })
  const lists = await Promise.all(groups.map(ofGroup))
  const pages = lists.flatMap(({ items }) => items)
  return { groups, pages: new Map(pages.map((page) => [page.pageId, page])) }
}

/** The page that an activity names, if the tenant has it. */
export const pageBy = async (id: string | undefined): Promise<Page | undefined> => {
  if (id === undefined) return
  return (await read).pages.get(id) ?? (await knownPages(FRESH_MS)).pages.get(id)
}

/** A link to the page of an activity, with its name. */
export const pageOf = (id: string | undefined) => {
  if (id === undefined) return
  const place = h('span.page')
  void pageBy(id).then((page) => {
    if (!page) return
    const href = addressOf(['pages', page.pageGroupId, page.pageId])
    refill(place, h('a', { href }, bdi(page.effectiveName)))
  })
  return place
}
