import { writeJson } from '../json/write-json.ts'
import type { PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import { call, get, memberOf, path, type Slice } from './api.ts'
import { area, ask, attempt, copy, field, gated, idOf, tell } from './dialog.ts'
import { sideBySide } from './diff.ts'
import { absolute, button, card, code, facts, h, pretty, table, time } from './dom.ts'
import { heldResource } from './held-resource.ts'
import { repeat } from './live.ts'
import { contentField, typedContent } from './pages.ts'
import { addressOf, type Place, replaceAddress } from './place.ts'

const POLL_MS = 2_000

/** A page with its versions: which one readers get, what differs between two, and what is done by hand. */
export const pageView = async (groupId: string, pageId: string, place: Place, signal: AbortSignal) => {
  const url = path`/page_groups/${groupId}/pages/${pageId}`
  const page = heldResource<PageWithVersion>(url)
  const group = await get<{ title: string }>(path`/page_groups/${groupId}`, {}, signal)
  await page.read(signal)
  const heading = h('div')
  const buttons = h('div.actions')
  const about = h('div')
  const list = table(['Version', 'State', 'Name', 'Created', ''], [])
  const comparison = h('section')
  let versions: readonly Version[] = []
  let cursor: string | undefined
  const more = button('Load older', () => attempt(loadOlder), { hidden: true, class: 'more' })

  /** The exact text of a version. */
  const read = (versionId: string) =>
    call<VersionWithContent>('GET', `${url}${path`/versions/${versionId}`}`, { signal })
  const change = (method: string, where: string, body?: object) =>
    page.change(method, `${url}${where}`, body).finally(show)
  const publish = ({ versionId, versionNumber }: Version) =>
    attempt(async () => {
      await change('POST', path`/versions/${versionId}/publish`)
      tell(`Readers get version ${versionNumber} now.`)
    })

  const tagOf = ({ versionId, status }: Version) => {
    if (page.value.publishedVersion?.versionId === versionId) return h('span.tag.ok', {}, 'published')
    if (status === 'published') return h('span.tag', {}, 'published before')
    return h(
      status === 'failed' ? 'span.tag.bad' : status === 'processing' ? 'span.tag.warning' : 'span.tag',
      {},
      status,
    )
  }
  const rowOf = (version: Version, i: number) => {
    const { versionId, versionNumber, computedName, createdAt, status } = version
    const current = page.value.publishedVersion
    const other = current && current.versionId !== versionId ? current.versionId : versions[i + 1]?.versionId
    const isOlder = current !== null && versionNumber < (current?.versionNumber ?? 0)
    const isPublishable = current?.versionId !== versionId && (status === 'ready' || status === 'published')
    const toggle = () =>
      attempt(async () => {
        const isOpen = opener.getAttribute('aria-expanded') === 'true'
        opener.setAttribute('aria-expanded', String(!isOpen))
        if (isOpen) row.nextElementSibling?.remove()
        else row.after(h('tr.opened', {}, h('td', { colspan: 5 }, detailOf(await read(versionId)))))
      })
    const opener: HTMLElement = button(`Version ${versionNumber}`, toggle, {
      class: 'open',
      'aria-expanded': 'false',
      'data-row': true,
    })
    const row: HTMLElement = h(
      'tr',
      {},
      h('td', {}, h('b', {}, opener)),
      h('td', {}, tagOf(version)),
      h('td', {}, h('bdi', {}, computedName)),
      h('td.when', {}, time(createdAt, true)),
      h(
        'td.end',
        {},
        other && button('Compare', () => compare(other, versionId), { class: 'link' }),
        other && isPublishable && ' · ',
        isPublishable &&
          gated('pages:write', isOlder ? 'Roll back' : 'Publish', () => publish(version), { class: 'link' }),
      ),
    )
    return row
  }
  const loadVersions = async (): Promise<void> => {
    const slice = await get<Slice<Version>>(`${url}/versions`, { limit: 50 }, signal)
    versions = slice.items
    cursor = slice.nextCursor
  }
  const loadOlder = async (): Promise<void> => {
    const slice = await get<Slice<Version>>(`${url}/versions`, { limit: 50, cursor }, signal)
    versions = [...versions, ...slice.items]
    cursor = slice.nextCursor
    show()
  }
  const compare = (left: string, right: string) =>
    attempt(async () => {
      const both = await Promise.all([read(left), read(right)])
      const names = both.map(({ value }) => `Version ${value.versionNumber}`) as [string, string]
      const [a = '', b = ''] = both.map(textOf)
      comparison.replaceChildren(
        h('h2.label', {}, `${names[0]} beside version ${both[1].value.versionNumber}`),
        card(sideBySide(a, b, names)),
      )
      replaceAddress(['pages', groupId, pageId], { compare: `${left},${right}` })
      comparison.scrollIntoView({ block: 'nearest' })
    })

  const show = (): void => {
    const { effectiveName, customName, computedName, supplementaryContext, publishedVersion, latestVersion } =
      page.value
    const latest =
      latestVersion.versionId !== publishedVersion?.versionId
        ? `, version ${latestVersion.versionNumber} is ${latestVersion.status}`
        : ''
    const readers = publishedVersion
      ? [
          'Readers get ',
          h('b', {}, `version ${publishedVersion.versionNumber}`),
          ', since ',
          h('span', {}, absolute(publishedVersion.publishedAt)),
          latest,
        ]
      : ['Readers get nothing yet', latest]
    heading.replaceChildren(h('h1', {}, h('bdi', {}, effectiveName)), h('p.lead.muted', {}, readers))
    buttons.replaceChildren(
      gated('pages:write', 'Rename', rename),
      publishedVersion
        ? gated('pages:write', 'Unpublish', () => attempt(() => change('POST', '/unpublish')))
        : '',
      gated('pages:write', 'Delete…', remove, { class: 'danger' }),
      gated('pages:write', 'New version', () => attempt(createVersion), { class: 'primary' }),
    )
    const failed = latestVersion.failureReason && h('span.bad', {}, latestVersion.failureReason)
    about.replaceChildren(
      facts({
        About: supplementaryContext && h('bdi', {}, supplementaryContext),
        'Given name': customName && h('bdi', {}, customName),
        'Generated name': customName && h('bdi', {}, computedName),
        'Newest version failed': failed,
        Id: idOf(pageId),
      }),
    )
    // What is open stays open: the rows change only if the versions do.
    const state = JSON.stringify([versions, publishedVersion?.versionId])
    if (list.dataset['state'] !== state) list.tBodies[0]?.replaceChildren(...versions.map(rowOf))
    list.dataset['state'] = state
    more.hidden = cursor === undefined
  }
  const rename = () =>
    ask({
      title: 'Rename the page',
      action: 'Rename',
      body: [field('Name', 'customName', { value: page.value.customName }, 'Empty: the generated name.')],
      run: async ({ customName }) => {
        await change('PATCH', '', { customName: customName || null })
        return undefined
      },
    })
  const remove = () =>
    ask({
      title: `Delete ${page.value.effectiveName}`,
      action: 'Delete',
      isDanger: true,
      body: [h('p', {}, 'The page and all of its versions are deleted. This cannot be undone.')],
      run: async () => {
        await page.change('DELETE', url).finally(show)
        location.hash = addressOf(['pages', groupId])
        return undefined
      },
    })
  const createVersion = async (): Promise<void> => {
    const newest = versions[0] && (await read(versions[0].versionId))
    const exact = newest ? memberOf(newest.text, 'content') : 'null'
    const before = exact === 'null' ? '' : pretty(exact)
    ask({
      title: 'New version',
      action: 'Create',
      body: [
        area('What is it about?', 'supplementaryContext', { value: newest?.value.supplementaryContext }),
        contentField(before),
        h(
          'label.check',
          {},
          h('input', { type: 'checkbox', name: 'publish', checked: true }),
          'Publish it once it is ready',
        ),
      ],
      run: async ({ supplementaryContext, content, publish: isPublished }) => {
        // What was not touched stays as it is, byte for byte.
        const changed = content === before ? {} : { content: typedContent(content) }
        const body = writeJson({
          supplementaryContext: supplementaryContext || null,
          publish: isPublished === 'on',
          ...changed,
        })
        await call('POST', `${url}/versions`, { body })
        await Promise.all([page.read(), loadVersions()])
        show()
        return undefined
      },
    })
  }

  await loadVersions()
  show()
  const [left, right] = (place.search.get('compare') ?? '').split(',')
  if (left && right) void compare(left, right)
  const work = async (): Promise<void> => {
    const isProcessing = versions.some(({ status }) => status === 'processing')
    if (!(await page.read(signal)) && !isProcessing) return
    if (versions.length <= 50) await loadVersions()
    show()
  }
  void repeat({ signal, ms: POLL_MS, work })
  return [
    h(
      'header',
      {},
      h('a.crumbs', { href: addressOf(['pages', groupId]) }, h('bdi', {}, group.title)),
      heading,
      buttons,
    ),
    card(about),
    card(list, more),
    comparison,
  ]
}

type Read = { readonly value: VersionWithContent; readonly text: string }
const contentOf = ({ text }: Read) => memberOf(text, 'content')
/** All that is immutable of a version, as lines. */
const textOf = (read: Read): string =>
  [
    `name: ${read.value.computedName}`,
    `about: ${read.value.supplementaryContext ?? ''}`,
    pretty(contentOf(read)),
  ].join('\n')
const detailOf = (read: Read) => {
  const { versionId, supplementaryContext, failureReason, publishedAt } = read.value
  const content = contentOf(read)
  return h(
    'div.detail',
    {},
    facts({
      About: supplementaryContext && h('bdi', {}, supplementaryContext),
      Failed: failureReason && h('span.bad', {}, failureReason),
      Published: publishedAt && h('span', {}, absolute(publishedAt)),
      Id: idOf(versionId),
    }),
    content === 'null'
      ? h('p.muted', {}, 'It has no content.')
      : [
          code(pretty(content), 'Content'),
          h(
            'div.actions',
            {},
            button('Copy content', () => copy(content)),
          ),
        ],
  )
}
