import type { Hook } from '../shapes/hook.ts'
import type { Page } from '../shapes/page.ts'
import type { PageGroup } from '../shapes/page-group.ts'
import type { Prospect } from '../shapes/prospect.ts'
import { can, get, type Slice } from './api.ts'
import { addressOf } from './dom.ts'
import { findPeople } from './find-people.ts'
import { knownPages } from './known-pages.ts'
import { knownSources } from './known-sources.ts'
import { type Found, pickerFor } from './picker.ts'
import { RECEIVERS } from './receivers.ts'
import { VENDORS } from './source.ts'

/** So many of each kind are shown. */
const SHOWN_MAX = 6
const SOURCES_AGE_MS = 10_000

/** Shows below a field what it finds: people, pages, sources, views, and what can be connected. `leave` is called before one is opened. */
export const finderFor = (field: HTMLInputElement, leave: () => void) => {
  const at = (address: string) => () => {
    leave()
    location.hash = address
  }
  const personFound = ({ prospectId, name, email, externalId }: Prospect): Found => {
    const [title = 'no name yet', note] = [name, email, externalId].filter((text) => text !== null)
    return { title, note: note ?? null, kind: 'Person', take: at(addressOf(['people', prospectId])) }
  }
  const pageFound = ({ pageGroupId, pageId, effectiveName }: Page): Found => {
    return { title: effectiveName, kind: 'Page', take: at(addressOf(['pages', pageGroupId, pageId])) }
  }
  const groupFound = ({ pageGroupId, title }: PageGroup): Found => {
    return { title, kind: 'Page group', take: at(addressOf(['pages', pageGroupId])) }
  }
  const hookFound = ({ hookId, source }: Hook): Found => {
    return { title: source, kind: 'Source', take: at(addressOf(['sources', hookId])) }
  }
  const sourceFound = (source: string): Found => {
    return { title: source, kind: 'Activities of this source', take: at(addressOf(['activity'], { source })) }
  }
  const connectionFound = ({ title, view, connect }: (typeof CONNECTIONS)[number]): Found => {
    return { title, kind: 'Connect', take: at(addressOf([view], { connect })) }
  }
  const viewFound = (link: HTMLAnchorElement): Found => {
    return { title: titleOf(link), kind: 'View', take: at(link.hash) }
  }

  /** What is searched here, read once for the whole search. */
  let reading:
    | readonly [ReturnType<typeof knownPages>, ReturnType<typeof readHooks>, ReturnType<typeof knownSources>]
    | undefined

  return pickerFor(
    field,
    async (typed, signal) => {
      const start = typed.toLowerCase()
      const matches = (text: string): boolean =>
        [text, ...text.split(/[\s_\-./]+/)].some((part) => part.toLowerCase().startsWith(start))
      const views = [...document.querySelectorAll<HTMLAnchorElement>('nav a')]
      const viewsFound = views.filter((link) => matches(titleOf(link))).map(viewFound)
      if (typed === '') return viewsFound
      reading ??= [knownPages(0), readHooks(), knownSources(SOURCES_AGE_MS)]
      const searches = await Promise.allSettled([
        can('prospects:read') ? findPeople(typed, undefined, signal) : { items: [] },
        ...reading,
      ])
      const [people, known, hooks, sources] = searches
      const { pages, groups } = foundOr(known, { pages: new Map(), groups: [] })
      const isPageFound = ({ effectiveName, pageId }: Page) => matches(effectiveName) || pageId === typed
      const found = [
        foundOr(people, { items: [] }).items.map(personFound),
        [...pages.values()].filter(isPageFound).map(pageFound),
        groups.filter(({ title, name }) => matches(title) || matches(name)).map(groupFound),
        [...foundOr(sources, new Map()).keys()].filter(matches).map(sourceFound),
        foundOr(hooks, [])
          .filter(({ source }) => matches(source))
          .map(hookFound),
        viewsFound,
        CONNECTIONS.filter(({ title }) => matches(title)).map(connectionFound),
      ].flatMap((ofOneKind) => ofOneKind.slice(0, SHOWN_MAX))
      const failed = searches.find(({ status }) => status === 'rejected')
      if (found.length === 0 && failed?.status === 'rejected') throw failed.reason
      return found
    },
    FINDS,
  )
}

const FINDS =
  'Type the beginning of a name, last name or email, a whole external ID, or the beginning of the name of a page, source or view.'

/** What can be connected, in words that a reader would search for. */
const CONNECTIONS = [
  { title: 'Send to a CRM', view: 'webhooks', connect: 'hubspot' },
  ...Object.entries(RECEIVERS).map(([connect, { name }]) => {
    return { title: `Send to ${name}`, view: 'webhooks', connect }
  }),
  ...Object.entries(VENDORS).map(([connect, name]) => {
    return { title: `Receive from ${name}`, view: 'sources', connect }
  }),
]

const titleOf = (link: HTMLElement): string => link.querySelector('span')?.textContent ?? ''

const foundOr = <T>(result: PromiseSettledResult<T>, otherwise: NoInfer<T>): T =>
  result.status === 'fulfilled' ? result.value : otherwise

const readHooks = async (): Promise<readonly Hook[]> =>
  can('hooks:write') ? (await get<Slice<Hook>>('/hooks', { limit: 100 })).items : []
