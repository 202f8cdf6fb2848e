import { type Attributes, type Child, h } from './dom.ts'

/** A labeled field with a hint. */
export const field = (label: string, name: string, options: Attributes = {}, hint?: Child) =>
  h('label', {}, label, h('input', { name, autocomplete: 'off', ...options }), hint && h('small', {}, hint))
export const area = (label: string, name: string, options: Attributes = {}, hint?: Child) =>
  h(
    'label',
    {},
    label,
    h('textarea', { name, rows: 4, spellcheck: 'false', ...options }),
    hint && h('small', {}, hint),
  )
export const choice = (
  label: string,
  name: string,
  options: Readonly<Record<string, string>>,
  more: Attributes = {},
) =>
  h(
    'label',
    {},
    label,
    h(
      'select',
      { name, ...more },
      Object.entries(options).map(([value, text]) => h('option', { value }, text)),
    ),
  )
/** The reader's time zone, as in `CET`. */
export const zone = (): string =>
  new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' })
    .formatToParts()
    .find(({ type }) => type === 'timeZoneName')?.value ?? ''
