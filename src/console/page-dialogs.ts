import { membersOf } from '../json/raw-json.ts'
import type { PageWithVersion, Version, VersionWithContent } from '../shapes/page.ts'
import { call, path } from './api.ts'
import { area, askToDelete, choice, field, isoOf, openForm, tick, timeField } from './dialog.ts'
import { bdi, goTo, h } from './dom.ts'
import { segments } from './lists.ts'
import { pretty } from './notices.ts'
import { memberOf, withExact } from './raw.ts'

/** Changes the page as it was seen when its dialog was opened. */
type Change = (method: string, where: string, body?: object) => Promise<void>

const SAMPLE = '{"title":"","text":""}'
const WHENS = { now: 'Publish now', later: 'Publish later', draft: 'Keep as a draft' }
/** Asks for a page: published now, later, or not yet. */
export const createPage = (groupId: string): void => {
  const at = timeField('Publish at', 'publishAt')
  at.hidden = true
  const vary = (event: Event) => {
    at.hidden = (event.target as HTMLSelectElement).value !== 'later'
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
      choice('When', 'when', WHENS, { onchange: vary }),
      at,
    ],
    run: async ({ supplementaryContext, customName, content, when, publishAt }) => {
      const members = {
        supplementaryContext: supplementaryContext || undefined,
        customName: customName || undefined,
        publish: when === 'draft' ? false : undefined,
        publishAt: when === 'later' ? isoOf(publishAt) : undefined,
      }
      const isNone = content === SAMPLE || !content?.trim()
      const body = isNone ? members : withExact(members, 'content', typedContent(content))
      const { value } = await call<{ pageId: string }>('POST', path`/page_groups/${groupId}/pages`, { body })
      goTo(['pages', groupId, value.pageId])
    },
  })
}
/** Asks for a version, beginning with the fields of the newest one. */
export const createVersion = async (url: string, newestId: string | undefined, done: () => Promise<void>) => {
  const newest = newestId && (await call<VersionWithContent>('GET', `${url}${path`/versions/${newestId}`}`))
  const exact = newest ? memberOf(newest.text, 'content') : 'null'
  const before = exact === 'null' ? '' : pretty(exact)
  const context = newest ? newest.value.supplementaryContext : null
  openForm({
    title: 'New version',
    action: 'Create',
    body: [
      area('What is it about?', 'supplementaryContext', { value: context }),
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

/** A longer text has a field of several lines. */
const LINE_MAX = 80
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/**
 * A field for a JSON object: as a form, a field for each member, or as JSON, with its faults while it is typed. What is not
 * touched stays as it is: the order of the members, and numbers to their last digit.
 */
const contentField = (value: string) => {
  const verdict = h('small', { role: 'status' })
  const check = (): void => {
    const wrong = wrongJson(input.value)
    verdict.textContent = wrong ?? 'A JSON object, or empty for none.'
    verdict.className = wrong ? 'bad' : ''
  }
  const text = area('Content as JSON', 'content', { value, oninput: check, rows: 10 }, verdict)
  const input = text.querySelector('textarea') as HTMLTextAreaElement
  const form = h('div.fields')
  let members: [name: string, raw: string][] = []
  const write = (name: string, raw: string): void => {
    members = members.map((one) => (one[0] === name ? [name, raw] : one))
    input.value = pretty(`{${members.map(([name, raw]) => `${JSON.stringify(name)}:${raw}`).join(',')}}`)
  }
  const read = (): void => {
    const parts = membersOf(input.value.trim() || '{}').members
    members = [...parts].map(([name, { rawJson }]) => [name, rawJson])
    form.replaceChildren(...members.map(([name, raw]) => memberField(name, raw, write)))
  }
  const show = (tab: string): void => {
    const isForm = tab === 'form' && wrongJson(input.value) === null
    if (isForm) read()
    form.hidden = !isForm
    text.hidden = isForm
    check()
  }
  const tabs = segments('How the content is edited', { form: 'Fields', json: 'JSON' }, 'form', show)
  show('form')
  return h('div.fields', h('div', h('b', 'Content '), tabs), form, text)
}
/** A member by its kind: yes or no, a number, a text of one line or of several. Other kinds are edited as JSON. */
const memberField = (name: string, raw: string, write: (name: string, raw: string) => void): HTMLElement => {
  const label = bdi(name)
  if (/^(true|false)$/.test(raw)) {
    const onchange = (event: Event) => write(name, String((event.target as HTMLInputElement).checked))
    return h('label.check', h('input', { type: 'checkbox', checked: raw === 'true', onchange }), label)
  }
  const isText = raw.startsWith('"')
  const value = isText ? JSON.parse(raw) : raw
  const oninput = (event: Event): void => {
    const field = event.target as HTMLInputElement
    const isGood = isText || NUMBER.test(field.value)
    field.setCustomValidity(isGood ? '' : 'This is not a number.')
    if (isGood) write(name, isText ? JSON.stringify(field.value) : field.value)
  }
  const disabled = !isText && !NUMBER.test(raw)
  const isLong = disabled || name === 'text' || value.length > LINE_MAX || value.includes('\n')
  return h(
    'label',
    label,
    h(isLong ? 'textarea' : 'input', { value, oninput, disabled, autocomplete: 'off' }),
  )
}
const wrongJson = (text: string): string | null => {
  if (text.trim() === '') return null
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? null
      : 'The content must be a JSON object: { … }.'
  } catch (error) {
    return `Not JSON yet: ${(error as Error).message}.`
  }
}
/** The content exactly as typed. */
const typedContent = (text = ''): string => {
  if (wrongJson(text) !== null) throw new Error('Correct the content first.')
  return text.trim() || 'null'
}
