import { writeJson } from '../json/write-json.ts'
import type { Page } from '../shapes/page.ts'
import type { PageGroup } from '../shapes/page-group.ts'
import { call, can, get, path, type Slice } from './api.ts'
import { ask, askToDelete, attempt, gated, idOf, loadMore, notify } from './dialog.ts'
import { card, counted, facts, h, refill, rowLink, segments, table, time } from './dom.ts'
import { area, choice, field, zone } from './fields.ts'
import { heldResource } from './held-resource.ts'
import { contentField, typedContent } from './new-version.ts'
import { pageView } from './page.ts'
import { addressOf, type Place, type View } from './place.ts'

const STATUSES = { '': 'Active and archived', active: 'Active', archived: 'Archived', deleted: 'Deleted' }

/** Page groups, the pages of one, and one page with its versions. */
export const view: View = (place, signal) => {
  if (place.id && place.subId) return pageView(place.id, place.subId, place, signal)
  return place.id ? groupView(place.id, signal) : groupsView(place, signal)
}

const statusTag = (status: string) => h(status === 'active' ? 'span.tag.ok' : 'span.tag', {}, status)

/** A table that loads slice by slice. */
const sliced = async <T>(
  heads: readonly string[],
  load: (cursor: string | undefined) => Promise<Slice<T>>,
  rowOf: (item: T) => HTMLElement,
  none: string,
) => {
  const list = table(heads, [])
  const next = async (cursor?: string): Promise<string | undefined> => {
    const slice = await load(cursor)
    list.tBodies[0]?.append(...slice.items.map(rowOf))
    return slice.nextCursor
  }
  const more = loadMore(next)
  more.follow(await next())
  return card(list.tBodies[0]?.childElementCount ? list : h('p.muted.empty', {}, none), more.element)
}

const groupsView = async (place: Place, signal: AbortSignal) => {
  const status = place.search.get('status') ?? ''
  const load = (cursor: string | undefined) =>
    get<Slice<PageGroup>>('/page_groups', { limit: 50, status, cursor }, signal)
  const rowOf = ({ pageGroupId, title, name, status, pagesCount, updatedAt }: PageGroup) =>
    h(
      'tr',
      {},
      h('td', {}, rowLink(status === 'deleted' ? null : addressOf(['pages', pageGroupId]), title, name)),
      h('td', {}, statusTag(status)),
      h('td', {}, counted(pagesCount, 'page')),
      h('td.when', {}, time(updatedAt, true)),
    )
  const choose = (value: string) => (location.hash = addressOf(['pages'], { status: value }))
  const list = await sliced(['Group', 'State', 'Pages', 'Changed'], load, rowOf, 'No page groups.')
  return [
    h(
      'header',
      {},
      h('h1', {}, 'Pages'),
      h('div.actions', {}, gated('page_groups:write', 'New group', createGroup, { class: 'primary' })),
    ),
    h('p', {}, segments('State of the groups', STATUSES, status, choose)),
    list,
  ]
}
const groupFields = (group?: PageGroup) => [
  field(
    'Name',
    'name',
    { required: true, maxlength: 255, value: group?.name },
    'For you and your colleagues.',
  ),
  field('Title', 'title', { required: true, maxlength: 255, value: group?.title }, 'What readers see.'),
  area(
    'Context',
    'pageContext',
    { value: group?.pageContext },
    'What the pages of the group have in common.',
  ),
]
const createGroup = (): void =>
  ask({
    title: 'New page group',
    action: 'Create',
    body: groupFields(),
    run: async ({ name, title, pageContext }) => {
      const body = { name, title, pageContext: pageContext || null }
      const { value } = await call<PageGroup>('POST', '/page_groups', { body })
      location.hash = addressOf(['pages', value.pageGroupId])
    },
  })

const groupView = async (groupId: string, signal: AbortSignal) => {
  const url = path`/page_groups/${groupId}`
  const group = heldResource<PageGroup>(url)
  await group.read(signal)
  const heading = h('div')
  const buttons = h('div.actions')
  const about = h('div')
  const change = (body: object) => attempt(() => group.hold()('PATCH', url, body).finally(show))
  const show = (): void => {
    const { title, name, status, pageContext } = group.value
    const isActive = status === 'active'
    refill(
      heading,
      h('h1', {}, h('bdi', {}, title)),
      h('p.lead.muted', {}, h('bdi', {}, name), ' ', statusTag(status), ' ', idOf(groupId)),
    )
    refill(about, pageContext && card(facts({ Context: h('bdi', {}, pageContext) })))
    refill(
      buttons,
      gated('page_groups:write', 'Edit…', edit),
      gated('page_groups:write', isActive ? 'Archive' : 'Make active', () =>
        change({ status: isActive ? 'archived' : 'active' }),
      ),
      gated('page_groups:write', 'Delete…', remove, { class: 'danger' }),
      isActive && gated('pages:write', 'New page', () => createPage(groupId), { class: 'primary' }),
    )
  }
  const edit = () => {
    const [change, before] = [group.hold(), group.value]
    ask({
      title: 'Edit the group',
      action: 'Save',
      body: groupFields(before),
      run: async ({ name, title, pageContext }) => {
        const given = Object.entries({ name, title, pageContext: pageContext || null })
        const changed = given.filter(([member, value]) => before[member as 'name'] !== value)
        await change('PATCH', url, Object.fromEntries(changed)).finally(show)
      },
    })
  }
  const remove = () => {
    const change = group.hold()
    askToDelete(
      group.value.title,
      `${counted(group.value.pagesCount, 'page')} can no longer be read. This cannot be undone.`,
      async () => {
        await change('DELETE', url).finally(show)
        location.hash = addressOf(['pages'])
        notify('The group was deleted.')
      },
    )
  }
  show()
  const load = (cursor: string | undefined) => get<Slice<Page>>(`${url}/pages`, { limit: 50, cursor }, signal)
  const rowOf = ({ pageId, effectiveName, updatedAt }: Page) =>
    h(
      'tr',
      {},
      h('td', {}, rowLink(addressOf(['pages', groupId, pageId]), effectiveName)),
      h('td.when', {}, time(updatedAt, true)),
    )
  return [
    h('header', {}, h('a.crumbs', { href: addressOf(['pages']) }, 'Pages'), heading, buttons),
    about,
    can('pages:read')
      ? await sliced(['Page', 'Changed'], load, rowOf, 'No pages yet.')
      : card(h('p.muted', {}, 'Your key lacks the scope pages:read.')),
  ]
}
const SAMPLE = '{"title":"","text":""}'
const WHENS = { now: 'Publish now', later: 'Publish later', draft: 'Keep as a draft' }
const createPage = (groupId: string): void => {
  const at = field('Publish at', 'publishAt', { type: 'datetime-local' }, `Your time zone (${zone()}).`)
  at.hidden = true
  const vary = (event: Event) => {
    at.hidden = (event.target as HTMLSelectElement).value !== 'later'
    at.querySelector('input')?.toggleAttribute('required', !at.hidden)
  }
  ask({
    title: 'New page',
    action: 'Create',
    body: [
      field('Name', 'customName', {}, 'Leave empty to have a name generated.'),
      contentField(SAMPLE),
      area(
        'What is it about?',
        'supplementaryContext',
        { rows: 2 },
        'In addition to the context of the group.',
      ),
      choice('When', 'when', WHENS, { onchange: vary }),
      at,
    ],
    run: async ({ supplementaryContext, customName, content, when, publishAt }) => {
      const isUntouched = content === SAMPLE
      const body = writeJson({
        supplementaryContext: supplementaryContext || undefined,
        customName: customName || undefined,
        content: (isUntouched ? null : typedContent(content)) ?? undefined,
        publish: when === 'draft' ? false : undefined,
        publishAt: when === 'later' && publishAt ? new Date(publishAt).toISOString() : undefined,
      })
      const { value } = await call<{ pageId: string }>('POST', path`/page_groups/${groupId}/pages`, { body })
      location.hash = addressOf(['pages', groupId, value.pageId])
    },
  })
}
