import type { PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import { call, path } from './api.ts'
import { contentField, typedContent } from './content-field.ts'
import { area, askToDelete, field, isoOf, openForm, timeField } from './dialog.ts'
import { button, goTo, h, refill, startOfDay } from './dom.ts'
import { notify, pretty } from './notices.ts'
import { memberOf, withExact } from './raw.ts'
import { localTime } from './save-csv.ts'
import { plansOf } from './version.ts'

/** Changes the page as it was shown when its dialog opened. */
type Change = (method: string, subPath: string, body?: object) => Promise<void>

/** The fields of a page that has no content yet. */
const SAMPLE = pretty('{"title":"","text":""}')

/** Creates a page that is published now, later, or not yet. */
export const createPage = (groupId: string): void =>
  openEditor({
    title: 'New page',
    content: '',
    about: null,
    name: field('Name', 'customName', {}, 'Shown here and in reports. Leave empty to have one generated.'),
    when: 'now',
    save: async (body) => {
      const { value } = await call<{ pageId: string }>('POST', path`/page_groups/${groupId}/pages`, { body })
      goTo(['pages', groupId, value.pageId])
    },
  })

/** What a page shows, with the versions that are scheduled and a function that cancels one of them. */
type Edited = {
  readonly url: string
  readonly page: PageWithVersion
  readonly versions: readonly Version[]
  readonly cancel: (version: Version) => Promise<readonly Version[]>
  readonly done: () => Promise<void>
}

/** Edits a page: its draft if its newest version is one, else what readers get. Saves that as a new version. */
export const editPage = async (edited: Edited): Promise<void> => {
  const { url, page, versions, done } = edited
  const newest = versions[0]
  const draft = newest && isDraft(newest) ? newest : undefined
  const baseId = draft?.versionId ?? page.publishedVersion?.versionId ?? newest?.versionId ?? ''
  const { value, text } = await call<VersionWithContent>('GET', `${url}${path`/versions/${baseId}`}`)
  const content = memberOf(text, 'content')
  openEditor({
    title: draft ? 'Edit the draft' : 'Edit the page',
    content: content === 'null' ? '' : content,
    about: value.supplementaryContext,
    when: draft ? 'draft' : 'now',
    plans: plansToCancel(edited),
    save: async (body, when) => {
      await call('POST', `${url}/versions`, { body })
      notify(SAVED[when])
      await done()
    },
  })
}

/** A version that was never published, and is not about to be. */
export const isDraft = ({ status, publishedAt }: Version): boolean =>
  status === 'ready' && publishedAt === null

type When = 'now' | 'later' | 'draft'
const ACTIONS: Readonly<Record<When, string>> = { now: 'Publish', later: 'Schedule', draft: 'Save the draft' }
const SAVED: Readonly<Record<When, string>> = {
  now: 'Saved. Readers get it in a moment.',
  later: 'Saved. Readers get it at its time.',
  draft: 'The draft is saved. Readers do not see it.',
}

type Editor = {
  readonly title: string
  /** JSON, or empty if there is none. */
  readonly content: string
  readonly about: string | null
  readonly name?: HTMLElement
  readonly when: When
  /** What else is scheduled. */
  readonly plans?: HTMLElement
  readonly save: (body: string, when: When) => Promise<void>
}

/** The form to edit a page: what it shows, and when readers get it. */
const openEditor = ({ title, content, about, name, when, plans, save }: Editor): void => {
  const before = content === '' ? SAMPLE : pretty(content)
  const action = h('span', ACTIONS[when])
  const choose = (chosen: When): void => {
    action.textContent = ACTIONS[chosen]
    if (plans) plans.hidden = chosen === 'draft'
  }
  choose(when)
  openForm({
    title,
    action,
    body: [
      contentField(before),
      name,
      h(
        'details',
        h('summary', 'What is it about?'),
        area(
          'A note for the generator of names and for your programs',
          'supplementaryContext',
          { rows: 2, value: about },
          'In addition to the context of the group.',
        ),
      ),
      whenField(when, choose),
      plans,
    ],
    run: async ({ content: typed, supplementaryContext, customName, when, publishAt }) => {
      const members = {
        supplementaryContext: supplementaryContext || (about === null ? undefined : null),
        customName: customName || undefined,
        publish: when !== 'draft',
        publishAt: when === 'later' ? isoOf(publishAt) : undefined,
      }
      // Untouched content stays unchanged, byte for byte.
      const saved = typed === before ? content || 'null' : typedContent(typed)
      const body = saved === 'null' && name ? JSON.stringify(members) : withExact(members, 'content', saved)
      await save(body, when as When)
    },
  })
}

/** A choice of when readers get a page, with a field for the time. */
const whenField = (chosen: When, choose: (when: When) => void) => {
  const at = h('input', {
    type: 'datetime-local',
    name: 'publishAt',
    'aria-label': 'Publish at',
    value: localTimeAt(startOfDay(1)),
  })
  const set = (when: When): void => {
    times.hidden = when !== 'later'
    at.toggleAttribute('required', when === 'later')
    choose(when)
  }
  const proposal = (text: string, day: Date) =>
    button(
      text,
      () => {
        at.value = localTimeAt(day)
      },
      { class: 'link' },
    )
  const untilMonday = (8 - new Date().getDay()) % 7 || 7
  const times: HTMLElement = h(
    'div.times',
    at,
    proposal('tomorrow, 09:00', startOfDay(1)),
    untilMonday > 1 && proposal('Monday, 09:00', startOfDay(untilMonday)),
  )
  const radio = (when: When, text: string) =>
    h(
      'label.check',
      h('input', {
        type: 'radio',
        name: 'when',
        value: when,
        checked: when === chosen,
        onchange: () => set(when),
      }),
      text,
    )
  set(chosen)
  return h(
    'fieldset.when',
    h('legend', 'When do readers get it?'),
    radio('now', 'Publish now'),
    radio('later', 'Publish at …'),
    times,
    radio('draft', 'Keep as a draft'),
  )
}

/** Nine in the morning, as the value of a time field. */
const localTimeAt = (day: Date): string => `${localTime(day.toISOString()).slice(0, 10)}T09:00`

/** What is scheduled, which replaces what is published before. */
const plansToCancel = ({ versions, cancel }: Pick<Edited, 'versions' | 'cancel'>) => {
  const plans = h('div.warning', { role: 'status' })
  const show = (versions: readonly Version[]): void =>
    refill(
      plans,
      plansOf(versions, 'what you publish before', async (version) => show(await cancel(version))),
    )
  show(versions)
  return plans
}

/** Publishes a version. Asks first if something is scheduled that would replace it. */
export const publishNow = async (
  version: Version,
  edited: Pick<Edited, 'versions' | 'cancel'>,
  publish: () => Promise<void>,
): Promise<void> => {
  const { versionId, versionNumber } = version
  const others = edited.versions.filter((other) => other.versionId !== versionId)
  if (!others.some(({ status }) => status === 'scheduled')) return publish()
  openForm({
    title: `Publish version ${versionNumber}`,
    action: 'Publish',
    body: [
      plansToCancel({
        versions: others,
        cancel: async (other) =>
          (await edited.cancel(other)).filter((other) => other.versionId !== versionId),
      }),
    ],
    run: publish,
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
      timeField('Publish at', 'publishAt', { required: true, value: localTimeAt(startOfDay(1)) }),
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
    body: [field('Name', 'customName', { value: customName }, 'Leave empty to have one generated.')],
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
