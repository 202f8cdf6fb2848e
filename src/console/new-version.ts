import { membersOf } from '../json/raw-json.ts'
import { writeJson } from '../json/write-json.ts'
import type { VersionWithContent } from '../shapes/page.ts'
import { call, memberOf, path } from './api.ts'
import { ask } from './dialog.ts'
import { h, segments } from './dom.ts'
import { area } from './fields.ts'
import { pretty } from './json-view.ts'

/** A longer text has a field of several lines. */
const LINE_MAX = 80
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/**
 * A field for a JSON object: as a form, a field for each member, or as JSON, with its faults while it is typed. What is not
 * touched stays as it is: the order of the members, and numbers to their last digit.
 */
export const contentField = (value: string) => {
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
  return h('div.fields', {}, h('div', {}, h('b', {}, 'Content '), tabs), form, text)
}
/** A member by its kind: yes or no, a number, a text of one line or of several. Other kinds are edited as JSON. */
const memberField = (name: string, raw: string, write: (name: string, raw: string) => void): HTMLElement => {
  const label = h('bdi', {}, name)
  if (/^(true|false)$/.test(raw)) {
    const onchange = (event: Event) => write(name, String((event.target as HTMLInputElement).checked))
    return h('label.check', {}, h('input', { type: 'checkbox', checked: raw === 'true', onchange }), label)
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
  const isLong = disabled || value.length > LINE_MAX || value.includes('\n')
  return h(
    'label',
    {},
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
/** The content exactly as typed; null for none. */
export const typedContent = (text = ''): { readonly rawJson: string } | null => {
  if (wrongJson(text) !== null) throw new Error('Correct the content first.')
  return text.trim() === '' ? null : { rawJson: text }
}

/** Asks for a version, beginning with the fields of the newest one. */
export const createVersion = async (url: string, newestId: string | undefined, done: () => Promise<void>) => {
  const newest = newestId && (await call<VersionWithContent>('GET', `${url}${path`/versions/${newestId}`}`))
  const exact = newest ? memberOf(newest.text, 'content') : 'null'
  const before = exact === 'null' ? '' : pretty(exact)
  const context = newest ? newest.value.supplementaryContext : null
  ask({
    title: 'New version',
    action: 'Create',
    body: [
      area('What is it about?', 'supplementaryContext', { value: context }),
      contentField(before),
      h(
        'label.check',
        {},
        h('input', { type: 'checkbox', name: 'publish', checked: true }),
        'Publish when ready',
      ),
    ],
    run: async ({ supplementaryContext, content, publish }) => {
      // Untouched content stays unchanged, byte for byte.
      const changed = content === before ? {} : { content: typedContent(content) }
      const body = writeJson({
        supplementaryContext: supplementaryContext || null,
        publish: publish === 'on',
        ...changed,
      })
      await call('POST', `${url}/versions`, { body })
      await done()
    },
  })
}
