import type { Page } from '../shapes/page.ts'
import type { PageGroup } from '../shapes/page-group.ts'
import { call, can, get, path, type Slice } from './api.ts'
import { area, askToDelete, choice, field, openForm } from './dialog.ts'
import {
  actions,
  addressOf,
  bdi,
  card,
  counted,
  crumb,
  facts,
  goTo,
  h,
  type Place,
  refill,
  rowLink,
  tag,
  type View,
  when,
} from './dom.ts'
import { heldResource } from './held-resource.ts'
import { row, segments, sliced } from './lists.ts'
import { gated, idOf, lack, notify } from './notices.ts'
import { pageView } from './page.ts'
import { createPage } from './page-dialogs.ts'

const STATUSES = { '': 'Not deleted', active: 'Active', archived: 'Archived', deleted: 'Deleted' }

/** All page groups, the pages of one group, or one page with its versions. */
export const view: View = (place, signal) => {
  if (place.id && place.subId) return pageView(place.id, place.subId, place, signal)
  return place.id ? groupView(place.id, signal) : groupsView(place, signal)
}

const statusTag = (status: string) => tag(status, status === 'active' ? 'ok' : '')

const groupsView = async (place: Place, signal: AbortSignal) => {
  const status = place.search.get('status') ?? ''
  const newPage = gated('pages:write', 'New page', createPageInGroup)
  newPage.hidden = true
  const load = async (cursor: string | undefined) => {
    const slice = await get<Slice<PageGroup>>('/page_groups', { limit: 50, status, cursor }, signal)
    if (slice.items.some(({ status }) => status === 'active')) newPage.hidden = false
    return slice
  }
  const rowOf = ({ pageGroupId, title, name, status, pagesCount, updatedAt }: PageGroup) =>
    row(
      rowLink(status === 'deleted' ? null : addressOf(['pages', pageGroupId]), title, name),
      statusTag(status),
      counted(pagesCount ?? 0, 'page'),
      when(updatedAt),
    )
  const choose = (chosen: string) => goTo(['pages'], { status: chosen })
  const list = await sliced(['Group', 'State', 'Pages', 'Changed'], load, rowOf, 'No page groups.')
  return [
    h(
      'header',
      h('h1', 'Pages'),
      actions(newPage, gated('page_groups:write', 'New group', createGroup, { class: 'primary' })),
    ),
    h('p', segments('State of the groups', STATUSES, status, choose)),
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
  openForm({
    title: 'New page group',
    action: 'Create',
    body: groupFields(),
    run: async ({ name, title, pageContext }) => {
      const body = { name, title, pageContext: pageContext || null }
      const { value } = await call<PageGroup>('POST', '/page_groups', { body })
      goTo(['pages', value.pageGroupId])
    },
  })

/** Groups to choose from for a new page. */
const GROUPS_MAX = 100
/** Asks for the group of a new page, unless there is only one. */
const createPageInGroup = async (): Promise<void> => {
  const { items } = await get<Slice<PageGroup>>('/page_groups', { limit: GROUPS_MAX, status: 'active' })
  const [first, ...others] = items
  if (first && others.length === 0) return createPage(first.pageGroupId)
  const titles = items.map(({ pageGroupId, title, name }) => [pageGroupId, `${title} (${name})`])
  openForm({
    title: 'New page',
    action: 'Next',
    body: [choice('In the group', 'groupId', Object.fromEntries(titles))],
    run: ({ groupId = '' }) => createPage(groupId),
  })
}

const groupView = async (groupId: string, signal: AbortSignal) => {
  const url = path`/page_groups/${groupId}`
  const group = heldResource<PageGroup>(url)
  await group.read(signal)
  const heading = h('div')
  const buttons = actions()
  const about = h('div')
  const change = (body: object) => group.hold()('PATCH', url, body).finally(show)
  const show = (): void => {
    const { title, name, status, pageContext } = group.value
    const isActive = status === 'active'
    refill(
      heading,
      h('h1', bdi(title)),
      h('p.lead.muted', bdi(name), ' ', statusTag(status), ' ', idOf(groupId)),
    )
    const toggleStatus = () => change({ status: isActive ? 'archived' : 'active' })
    refill(about, pageContext && card(facts({ Context: bdi(pageContext) })))
    refill(
      buttons,
      gated('page_groups:write', 'Edit…', edit),
      gated('page_groups:write', isActive ? 'Archive' : 'Make active', toggleStatus),
      gated('page_groups:write', 'Delete…', remove, { class: 'danger' }),
      isActive && gated('pages:write', 'New page', () => createPage(groupId), { class: 'primary' }),
    )
  }
  const edit = () => {
    const change = group.hold()
    const before = group.value
    openForm({
      title: 'Edit the group',
      action: 'Save',
      body: groupFields(before),
      run: async ({ name, title, pageContext }) => {
        const entered = Object.entries({ name, title, pageContext: pageContext || null })
        const changed = entered.filter(([member, value]) => before[member as 'name'] !== value)
        await change('PATCH', url, Object.fromEntries(changed)).finally(show)
      },
    })
  }
  const remove = () => {
    const change = group.hold()
    askToDelete(
      group.value.title,
      `${counted(group.value.pagesCount ?? 0, 'page')} can no longer be read. This cannot be undone.`,
      async () => {
        await change('DELETE', url).finally(show)
        goTo(['pages'])
        notify('The group was deleted.')
      },
    )
  }
  show()
  const load = (cursor: string | undefined) => get<Slice<Page>>(`${url}/pages`, { limit: 50, cursor }, signal)
  const rowOf = ({ pageId, effectiveName, updatedAt }: Page) =>
    row(rowLink(addressOf(['pages', groupId, pageId]), effectiveName), when(updatedAt))
  return [
    h('header', crumb('Pages', 'pages'), heading, buttons),
    about,
    can('pages:read')
      ? await sliced(['Page', 'Changed'], load, rowOf, 'No pages yet.')
      : card(h('p.muted', lack('pages:read'))),
  ]
}
