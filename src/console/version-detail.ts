import type { VersionWithContent } from '../shapes/page.ts'
import { memberOf } from './api.ts'
import { copy, idOf } from './dialog.ts'
import { absolute, button, facts, h } from './dom.ts'
import { code, pretty } from './json-view.ts'

type Read = { readonly value: VersionWithContent; readonly text: string }
const contentOf = ({ text }: Read) => memberOf(text, 'content')
/** All immutable fields of a version, as lines. */
export const textOf = (read: Read): string =>
  [
    `name: ${read.value.computedName}`,
    `about: ${read.value.supplementaryContext ?? ''}`,
    pretty(contentOf(read)),
  ].join('\n')
export const detailOf = (read: Read) => {
  const { versionId, supplementaryContext, failureReason, publishedAt, publishAt, unpublishAt, status } =
    read.value
  const content = contentOf(read)
  return h(
    'div.detail',
    {},
    facts({
      About: supplementaryContext && h('bdi', {}, supplementaryContext),
      [status === 'failed' ? 'Failed' : 'Not published at its time']:
        failureReason && h('span.bad', {}, failureReason),
      Published: publishedAt && h('span', {}, absolute(publishedAt)),
      'Will be published': publishAt && h('span', {}, absolute(publishAt)),
      Until: unpublishAt && h('span', {}, absolute(unpublishAt)),
      Id: idOf(versionId),
    }),
    content === 'null'
      ? h('p.muted', {}, 'No content.')
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
