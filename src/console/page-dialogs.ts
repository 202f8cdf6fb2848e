import type { PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import { call, path } from './api.ts'
import { contentField, typedContent } from './content-field.ts'
import { area, askToDelete, choice, field, isoOf, openForm, tick, timeField } from './dialog.ts'
import { goTo } from './dom.ts'
import { pretty } from './notices.ts'
import { memberOf, withExact } from './raw.ts'

/** Changes the page as it was shown when its dialog opened. */
type Change = (method: string, subPath: string, body?: object) => Promise<void>

const SAMPLE = '{"title":"","text":""}'
const TIMES = { now: 'Publish now', later: 'Publish later', draft: 'Keep as a draft' }

/** Creates a page that is published now, later, or not yet. */
export const createPage = (groupId: string): void => {
  const at = timeField('Publish at', 'publishAt')
  at.hidden = true
  const onchange = ({ target }: Event) => {
    at.hidden = (target as HTMLSelectElement).value !== 'later'
    at.querySelector('input')?.toggleAttribute('required', !at.hidden)
  }
  openForm({
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
      choice('When', 'when', TIMES, { onchange }),
      at,
    ],
    run: async ({ supplementaryContext, customName, content, when, publishAt }) => {
      const members = {
        supplementaryContext: supplementaryContext || undefined,
        customName: customName || undefined,
        publish: when === 'draft' ? false : undefined,
        publishAt: when === 'later' ? isoOf(publishAt) : undefined,
      }
      const isEmpty = content === SAMPLE || !content?.trim()
      const body = isEmpty ? members : withExact(members, 'content', typedContent(content))
      const { value } = await call<{ pageId: string }>('POST', path`/page_groups/${groupId}/pages`, { body })
      goTo(['pages', groupId, value.pageId])
    },
  })
}

/** Creates a version. Its fields begin as those of the newest version. */
export const createVersion = async (url: string, newestId: string | undefined, done: () => Promise<void>) => {
  const newest = newestId
    ? await call<VersionWithContent>('GET', `${url}${path`/versions/${newestId}`}`)
    : null
  const rawContent = newest ? memberOf(newest.text, 'content') : 'null'
  const before = rawContent === 'null' ? '' : pretty(rawContent)
  openForm({
    title: 'New version',
    action: 'Create',
    body: [
      area('What is it about?', 'supplementaryContext', { value: newest?.value.supplementaryContext }),
      contentField(before),
      tick('publish', 'Publish when ready', { checked: true }),
    ],
    run: async ({ supplementaryContext, content, publish }) => {
      const members = { supplementaryContext: supplementaryContext || null, publish: publish === 'on' }
      // Untouched content stays unchanged, byte for byte.
      const body = content === before ? members : withExact(members, 'content', typedContent(content))
      await call('POST', `${url}/versions`, { body })
      await done()
    },
  })
}

/** Schedules a version. */
export const publishLater = (
  { versionId, versionNumber }: Version,
  change: Change,
  done: () => Promise<void>,
): void =>
  openForm({
    title: `Publish version ${versionNumber} later`,
    action: 'Schedule',
    body: [
      timeField('Publish at', 'publishAt', { required: true }),
      timeField('Unpublish at', 'unpublishAt', {}, 'Leave empty to keep it published. '),
    ],
    run: async ({ publishAt, unpublishAt }) => {
      const body = { publishAt: isoOf(publishAt), unpublishAt: isoOf(unpublishAt) }
      await change('POST', path`/versions/${versionId}/publish`, body)
      await done()
    },
  })

export const renamePage = ({ customName }: PageWithVersion, change: Change): void =>
  openForm({
    title: 'Rename the page',
    action: 'Rename',
    body: [field('Name', 'customName', { value: customName }, 'Empty: the generated name.')],
    run: ({ customName }) => change('PATCH', '', { customName: customName || null }),
  })

export const deletePage = ({ pageGroupId, effectiveName }: PageWithVersion, change: Change): void =>
  askToDelete(
    effectiveName,
    'The page and all of its versions are deleted. This cannot be undone.',
    async () => {
      await change('DELETE', '')
      goTo(['pages', pageGroupId])
    },
  )
